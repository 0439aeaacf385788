// Keeps a page's parts new while it is looked at: [data-live] names the stream, whose events carry a part's
// name and its HTML, made by the same templates as the page. Without script, or without the stream, reloading does
// the same. A tab that is hidden lets its stream go: browsers have few connections to a host.
const main = document.querySelector('[data-live]');
const word = document.getElementById('live-word');
let source, retry, tries = 0, over = false;

function say(text, state) {
  if (word && word.textContent !== text) {
    word.textContent = text;
    word.dataset.state = state;
  }
}

function put(name, version, html) {
  const part = document.getElementById('part-' + name);
  if (!part || part.dataset.version === version) return;
  const held = part.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
  part.innerHTML = html;
  part.dataset.version = version;
  if (held) part.querySelector('[href="' + CSS.escape(held) + '"]')?.focus();
}

function stop() {
  clearTimeout(retry);
  source?.close();
  source = undefined;
}

function start() {
  if (source || over || document.hidden) return;
  source = new EventSource(main.dataset.live);
  source.onopen = () => { tries = 0; say('live', 'on'); };
  source.addEventListener('part', (e) => {
    const at = e.data.indexOf('\n');
    put(...e.data.slice(0, at).split(' '), e.data.slice(at + 1));
  });
  source.addEventListener('over', (e) => {
    over = true;
    stop();
    say(e.data + ' Reload to log in again.', 'over');
  });
  source.onerror = () => {
    stop();
    say('not live, trying again', 'off');
    tries = Math.min(tries + 1, 6);
    retry = setTimeout(start, Math.random() * 500 * 2 ** tries);
  };
}

if (main) {
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) { stop(); say('paused', 'off'); } else start();
  });
  addEventListener('pagehide', stop);
  addEventListener('pageshow', start);
  start();
}
