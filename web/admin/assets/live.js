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

// attributes makes an element's attributes those of another. What a reader opened stays open.
function attributes(now, next) {
  for (const { name } of [...now.attributes]) {
    if (!next.hasAttribute(name) && name !== 'open') now.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (now.getAttribute(name) !== value) now.setAttribute(name, value);
  }
}

// patch makes an element's content that of another, and keeps each element that stays: with it the focus, a
// selection, how far a table is scrolled, and a press that is not over. A plot draws itself (plot.js).
function patch(now, next) {
  const old = [...now.childNodes], made = [...next.childNodes];
  made.forEach((to, i) => {
    const from = old[i];
    if (!from) now.append(to);
    else if (from.nodeName !== to.nodeName) from.replaceWith(to);
    else if (to.nodeType !== Node.ELEMENT_NODE) {
      if (from.data !== to.data) from.data = to.data;
    } else {
      attributes(from, to);
      if (!to.dataset.plot) patch(from, to);
    }
  });
  old.slice(made.length).forEach((node) => node.remove());
}

// inUse says that somebody is about to act in a part: it is not to change under their hands.
function inUse(part) {
  return part.querySelector('details[open], input:focus, select:focus, textarea:focus') !== null ||
    [...part.querySelectorAll('input, textarea')].some((field) => field.type !== 'hidden' && field.value);
}

// held are the newest parts that wait until those on the page are not in use.
const held = new Map();

function put(name, html) {
  const part = document.getElementById('part-' + name);
  if (!part) return;
  held.delete(name);
  if (inUse(part)) {
    held.set(name, html);
    return;
  }
  const focus = part.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
  const next = document.createElement('template');
  next.innerHTML = html;
  patch(part, next.content);
  if (focus && document.activeElement.getAttribute('href') !== focus) {
    part.querySelector('[href="' + CSS.escape(focus) + '"]')?.focus({ preventScroll: true });
  }
}

function putHeld() {
  for (const [name, html] of [...held]) put(name, html);
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
    put(e.data.slice(0, at), e.data.slice(at + 1));
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
  main.addEventListener('toggle', putHeld, true);
  main.addEventListener('focusout', () => setTimeout(putHeld)); // once the focus is where it goes
  addEventListener('pagehide', stop);
  addEventListener('pageshow', start);
  start();
}
