// The page: a fan to choose, or a fan's phone.
import { h, place } from "./dom.js";
import * as app from "./app.js";
import { Phone } from "./phone.js";

const $ = (id) => document.getElementById(id);
const fan = new URLSearchParams(location.search).get("fan");
const LOOK_AGAIN_MS = 2_000; // while the demo fills its lines

function fanLink(f, shows, ...inside) {
  return h("a", { href: `/demo?fan=${encodeURIComponent(f.id)}` }, ...inside, place(f, shows.get(f.show_id)));
}

async function choose() {
  $("choose").hidden = false;
  const { shows, fans } = await app.scene();
  const byID = new Map(shows.map((s) => [s.id, s]));
  $("fans").replaceChildren(...fans.map((f) => h("li", {}, fanLink(f, byID, h("b", {}, f.id)))));
  $("fans-empty").hidden = fans.length > 0;
  if (fans.length === 0) setTimeout(() => choose().catch(fault), LOOK_AGAIN_MS);
}

async function hold() {
  $("who").textContent = fan;
  $("phone").hidden = false;
  const scene = await app.scene();
  const shows = new Map(scene.shows.map((s) => [s.id, s]));
  new Phone(fan, shows).start();
  beside(scene.fans, shows);
}

/** beside is what the ticketing app and other fans do. */
function beside(fans, shows) {
  const others = fans.filter((f) => f.id !== fan).slice(0, 6);
  $("beside").replaceChildren(
    ...others.map((f) =>
      h(
        "li",
        {},
        h("a", { href: `/demo?fan=${encodeURIComponent(f.id)}`, target: "_blank", rel: "noopener" }, f.id),
        h("span", { class: "note" }, place(f, shows.get(f.show_id))),
      ),
    ),
  );
  const [show] = shows.values();
  $("free").hidden = !show;
  $("free").addEventListener("click", async () => {
    $("free").disabled = true;
    try {
      await app.free(show.id);
      $("free-note").textContent = `A seat of ${show.name} is free: it goes to whoever is first in line and can take it.`;
    } catch (err) {
      $("free-note").textContent = err.message;
    }
    $("free").disabled = false;
  });
}

function fault(err) {
  $("fault").textContent = `The demo does not answer: ${err.message}. Is it still running? Reload this page to try again.`;
  $("fault").hidden = false;
}

(fan ? hold() : choose()).catch(fault);
