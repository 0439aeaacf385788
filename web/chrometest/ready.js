// Looks whether an element can be pressed, where, and why not yet. It looks over two
// frames, so that what moves comes to rest first. Asked to listen, it notes in
// window.chrometest whether the element hears a click then; what would go to
// something else, because the page moved after all, goes nowhere. Where scripts do
// not run, there are no frames and no listeners, but nothing moves either.
(async (css, scripted, listens) => {
  const find = () => document.querySelector(css);
  const belongs = (el, to) => to.contains(el) || el?.closest("label")?.control === to;

  const look = () => {
    const el = find();
    if (!el) return { notYet: "it is not there" };
    if (el.matches(":disabled")) return { notYet: "it is disabled" };
    const box = [...el.getClientRects()].find((r) => r.width > 0 && r.height > 0);
    if (!box || !el.checkVisibility({ visibilityProperty: true })) return { notYet: "it is not visible" };
    const x = box.x + box.width / 2;
    const y = box.y + box.height / 2;
    if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) {
      el.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      return { notYet: "it was out of view" };
    }
    const top = document.elementFromPoint(x, y);
    if (!belongs(top, el)) return { notYet: `it is covered by ${top?.outerHTML.slice(0, 120)}` };
    return { notYet: "", x, y, of: [el, box.x, box.y, box.width, box.height] };
  };

  const frame = () => new Promise(requestAnimationFrame);
  const atRest = async () => {
    const first = look();
    if (first.notYet || !scripted) return first;
    for (let frames = 0; frames < 2; frames++) {
      await frame();
      const again = look();
      if (again.notYet) return again;
      if (again.of.some((v, i) => v !== first.of[i])) return { notYet: "it moves" };
    }
    return first;
  };

  const listen = () => {
    const pressed = { heard: !scripted, listening: new AbortController() };
    const hear = (e) => {
      const el = find();
      if (!el || !belongs(e.target, el)) {
        e.preventDefault();
        e.stopImmediatePropagation();
      } else if (e.type === "click") {
        pressed.heard = true;
      }
    };
    window.chrometest?.listening.abort();
    window.chrometest = pressed;
    for (const type of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"])
      addEventListener(type, hear, { capture: true, signal: pressed.listening.signal });
  };

  const { notYet, x, y } = await atRest();
  if (!notYet && listens) listen();
  return { notYet, x, y };
})
