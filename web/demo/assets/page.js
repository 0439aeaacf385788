// The page: a fan to choose, or a fan's phone.
import { h, place } from "./dom.js";
import * as app from "./app.js";
import { Phone } from "./phone.js";

const $ = (id) => document.getElementById(id);
const fan = new URLSearchParams(location.search).get("fan");
const LOOK_AGAIN_MS = 2_000; // while the demo fills its lines

/** lists are the fans by show, each with a link that open makes. */
function lists(fans, shows, open) {
  return shows.flatMap((show) => {
    const its = fans.filter((f) => f.show_id === show.id);
    if (its.length === 0) return [];
    return [h("h3", {}, show.name), h("ul", { class: "fans" }, ...its.map((f) => h("li", {}, open(f), h("span", { class: "note" }, place(f)))))];
  });
}

const pageOf = (f) => `/demo?fan=${encodeURIComponent(f.id)}`;

async function choose() {
  $("choose").hidden = false;
  const { shows, fans } = await app.scene();
  $("fans").replaceChildren(...lists(fans ?? [], shows ?? [], (f) => h("a", { href: pageOf(f) }, f.id)));
  $("fans-empty").hidden = fans?.length > 0;
  if (!fans?.length) setTimeout(() => choose().catch(fault), LOOK_AGAIN_MS);
}

async function hold() {
  await app.token(fan); // without one, as of a demo begun afresh, there is no phone to show
  $("who").textContent = fan;
  $("phone").hidden = false;
  const scene = await app.scene();
  const shows = scene.shows ?? [];
  new Phone(fan, new Map(shows.map((s) => [s.id, s]))).start();
  beside(scene.fans ?? [], shows);
}

/** beside is what the ticketing app and other fans do. */
function beside(fans, shows) {
  const others = fans.filter((f) => f.id !== fan);
  $("beside").replaceChildren(...lists(others, shows, (f) => h("a", { href: pageOf(f), target: "_blank", rel: "noopener" }, f.id)));
  const [show] = shows;
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
  $("fault").textContent = err.refused
    ? `Nobody to play: ${err.message}.`
    : `The demo does not answer: ${err.message}. Is it still running? Reload this page to try again.`;
  $("fault").hidden = false;
}

(fan ? hold() : choose()).catch(fault);
