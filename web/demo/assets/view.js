// What the phone shows: one thing to do, and what happens to who does nothing.
import { ago, clock, h, line, number, percentAhead, ring, seats, whole } from "./dom.js";

const $ = (id) => document.getElementById(id);
const READ_MS = 1_500; // an item in view this long has been read
const PRECISE_MS = 180_000; // seconds matter in shorter windows
const DRAWN_MOST = 60; // of a line, fan by fan
const NOT_YET = { key: "not yet", head: "One moment", body: [h("p", { class: "note" }, "Looking where you stand.")] };

export class PhoneView {
  #phone;
  #ring = null;
  #shown = new Map(); // what stands in each part, so that nothing is built anew that did not change
  #leaving = null;
  #inView = new Map(); // timers by item
  #watch;

  constructor(phone) {
    this.#phone = phone;
    this.#watch = new IntersectionObserver((seen) => seen.forEach((s) => this.#looked(s)), { threshold: 0.6 });
    $("older").addEventListener("click", () => phone.showOlder().catch((err) => this.say(err.message)));
    $("leave-no").addEventListener("click", () => $("leave").close());
    $("leave-yes").addEventListener("click", () => {
      $("leave").close();
      phone.leave(this.#leaving);
    });
    document.addEventListener("visibilitychange", () => this.#rewatch());
  }

  /** say speaks to who cannot see the page. */
  say(text) {
    $("say").textContent = text;
  }

  link({ state, retry_in_ms, code }) {
    const words = {
      connecting: "connecting",
      live: "live",
      waiting: `connection lost, back in ${Math.ceil((retry_in_ms ?? 0) / 1000)} s`,
      away: code === 4009 ? "open in too many windows" : code === 4002 ? "signed out" : "not connected",
      closed: "",
    };
    $("link").className = `link ${state}`;
    $("link").replaceChildren(words[state]);
    if (state === "away") $("link").append(" ", h("button", { class: "quiet", type: "button", onclick: () => this.#phone.client.connect() }, "Connect again"));
  }

  render() {
    this.#now();
    this.#inbox();
    this.#places();
    const { unread } = this.#phone.client;
    $("unread").textContent = unread > 0 ? `${unread} unread` : "";
    document.title = `${this.#phone.turn ? "● " : unread > 0 ? `(${unread}) ` : ""}${$("headline").textContent} · ${this.#phone.fan}`;
  }

  /** now is the panel. */
  #now() {
    const p = this.#phone;
    const { turn, claim } = p;
    const mine = [...(p.entries ?? [])].sort((a, b) => (a.position ?? Infinity) - (b.position ?? Infinity));
    const entry = mine.find((e) => e.state === "waiting") ?? mine[0];
    const bought = entry ? null : p.bought;
    const show = p.show(turn?.show_id ?? claim?.show_id ?? entry?.show_id ?? bought?.show_id ?? [...p.shows.keys()][0]);
    const parts = turn ? this.#turn(turn) : !p.entries ? NOT_YET : claim ? this.#claim(claim) : entry?.state === "waiting" ? this.#waiting(entry) : this.#outside(entry, bought, show);
    $("place").textContent = when(show);
    $("headline").textContent = parts.head;
    const said = bought && p.news?.tone === "good"; // the panel says it itself
    const news = p.news && !said && h("p", { class: `news ${p.news.tone ?? ""}`, role: "status" }, p.news.text);
    if (!this.#put("now", [parts.key, p.busy, !said && p.news?.text], [news, ...parts.body].filter(Boolean))) return;
    this.#ring = parts.ring ?? null;
    this.tick();
  }

  /** put fills a part of the page, unless the same stands there. The focus stays on the control of the same id. */
  #put(id, key, children) {
    const text = JSON.stringify(key);
    if (this.#shown.get(id) === text) return false;
    this.#shown.set(id, text);
    const focus = $(id).contains(document.activeElement) ? document.activeElement.id : "";
    $(id).replaceChildren(...children);
    if (focus) $(focus)?.focus();
    return true;
  }

  #turn(turn) {
    const p = this.#phone;
    const one = turn.seats === 1;
    const closes = Date.parse(turn.closes_at);
    const dial = ring("turn");
    return {
      key: `turn ${turn.id}`,
      head: "Your turn",
      ring: { dial, closes, of: closes - Date.parse(turn.opens_at) },
      body: [
        dial.el,
        h("p", {}, `${seats(turn.seats)} can be yours until ${this.until(turn.closes_at)}.`),
        h("button", { id: "take", class: "btn p", type: "button", disabled: p.busy, onclick: () => p.take(turn) }, one ? "Take it" : "Take them"),
        h("button", { id: "pass", class: "btn", type: "button", disabled: p.busy, onclick: () => p.pass(turn) }, "Pass on to the next fan"),
        h("p", { class: "note" }, `If you do nothing, ${one ? "it goes" : "they go"} on to the next fan then. You keep your place in line either way.`),
      ],
    };
  }

  #claim(claim) {
    const p = this.#phone;
    const closes = Date.parse(claim.expires_at);
    const dial = ring("held");
    const what = claim.labels.length > 0 ? `${seats(claim.seats)}, ${claim.labels.join(", ")},` : seats(claim.seats);
    return {
      key: `claim ${claim.id} ${claim.expires_at}`,
      head: "Held for you",
      ring: { dial, closes, of: closes - Date.parse(claim.claimed_at) },
      body: [
        dial.el,
        h("p", {}, `${what} ${claim.seats === 1 ? "is" : "are"} held for you until ${this.until(claim.expires_at)}.`),
        h("button", { id: "pay", class: "btn p", type: "button", disabled: p.busy, onclick: () => p.pay(claim) }, "Pay (simulated)"),
        h("p", { class: "note" }, "If you do not pay by then, the next fan gets the chance, and you keep your place in line."),
      ],
    };
  }

  #waiting(entry) {
    const at = entry.position;
    const { waiting } = this.#phone.show(entry.show_id);
    const long = at > DRAWN_MOST && waiting >= at;
    return {
      key: ["waiting", entry.show_id, at, long && percentAhead(at, waiting)],
      head: at === 1 ? "You are first in line" : "You are in line",
      body: [
        at && h("p", { class: "figure", id: "position" }, number(at)),
        at && h("p", { class: "sub" }, at === 1 ? "Nobody is ahead of you" : `in line: ${number(at - 1)} ${at === 2 ? "fan is" : "fans are"} ahead of you`),
        at > 1 && at <= DRAWN_MOST && line(at),
        long && whole(at, waiting),
        h("p", { class: "note" }, "There is nothing to do. The moment a seat is yours it says so here. Close this page, and you keep your place and find it in the inbox; a turn that nobody answers goes on to the next fan."),
      ],
    };
  }

  #outside(entry, bought, show) {
    const p = this.#phone;
    const holding = entry?.state === "holding";
    return {
      key: ["outside", show.id, holding, bought?.id],
      head: bought ? "It is yours" : holding ? "Held for you" : "You are in no line",
      body: [
        bought && h("p", { class: "tick", "aria-hidden": "true" }, "✓"),
        h("p", {}, bought ? `You have your seats for ${show.name}, and have left its line.` : holding ? "Looking for what you hold." : "Join a line to be told when a seat comes free."),
        !holding && h("button", { id: "join", class: bought ? "btn" : "btn p", type: "button", disabled: p.busy, onclick: () => p.join(show.id) }, bought ? "Join the line for another seat" : `Join the line for ${show.name}`),
        !holding && h("p", { class: "note" }, "You start at the end of the line. Whoever joined before you is told before you."),
      ],
    };
  }

  /** tick moves what counts down, by the server's time. */
  tick() {
    if (!this.#ring) return;
    const ms = this.#ring.closes - this.#phone.client.serverNow();
    this.#ring.dial.turn(ms, this.#ring.of);
    if (ms > 0) return;
    this.#ring = null;
    this.#phone.look(); // what follows comes from the server
  }

  until(time) {
    const at = Date.parse(time);
    return clock(at, at - this.#phone.client.serverNow() < PRECISE_MS);
  }

  #inbox() {
    const p = this.#phone;
    const list = [...p.items.values()].sort((a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : a.id < b.id ? 1 : -1));
    $("inbox-empty").hidden = !p.known || list.length > 0;
    $("older").hidden = !p.older;
    const texts = list.map((i) => this.#words(i));
    if (this.#put("inbox", [list.map((i) => [i.id, !i.read_at]), texts], list.map((i, n) => this.#item(i, texts[n])))) this.#rewatch();
  }

  #words(item) {
    const state = item.kind === "turn" ? { open: "open now", claimed: "you took it", over: "over" }[item.state] : "";
    return [ago(this.#phone.client.serverNow() - Date.parse(item.created_at)), state].filter(Boolean).join(" · ");
  }

  #item(item, words) {
    return h(
      "li",
      { class: item.read_at ? "" : "unread", "data-id": item.id },
      h("b", {}, item.title),
      item.read_at ? null : h("span", { class: "unseen" }, " (unread)"),
      item.body ? h("p", {}, item.body) : null,
      h("p", { class: "note" }, words),
    );
  }

  #rewatch() {
    this.#watch.disconnect();
    if (document.visibilityState === "hidden") {
      for (const timer of this.#inView.values()) clearTimeout(timer);
      this.#inView.clear();
      return;
    }
    for (const el of $("inbox").querySelectorAll(".unread")) this.#watch.observe(el);
  }

  /** looked: on a screen is an ack; in view for a while is read. */
  #looked({ target, isIntersecting }) {
    const { id } = target.dataset;
    if (!isIntersecting) {
      clearTimeout(this.#inView.get(id));
      this.#inView.delete(id);
      return;
    }
    if (this.#inView.has(id)) return;
    this.#phone.client.ack([id]);
    const read = () => {
      this.#inView.delete(id);
      this.#phone.read([id]);
    };
    this.#inView.set(id, setTimeout(read, READ_MS));
  }

  #places() {
    const p = this.#phone;
    const entries = p.entries ?? [];
    this.#put("places", entries.map((e) => [e.show_id, e.state, e.position]), entries.map((e) => this.#placeOf(e)));
    $("places-empty").hidden = !p.entries || entries.length > 0;
  }

  #placeOf(e) {
    const show = this.#phone.show(e.show_id);
    const words = e.state === "holding" ? "held for you" : e.position ? null : "resting";
    const where = words ? h("span", { class: "state" }, words) : h("span", {}, h("b", {}, number(e.position)), show.waiting >= e.position ? h("span", { class: "note" }, ` of ${number(show.waiting)}`) : null);
    const leave = () => {
      this.#leaving = e.show_id;
      $("leave-h").textContent = `Leave the line for ${show.name}?`;
      $("leave").showModal();
    };
    return h(
      "li",
      {},
      h("div", { class: "row" }, h("span", {}, show.name), where),
      h("button", { id: `leave-${e.show_id}`, class: "quiet", type: "button", "aria-label": `Leave the line for ${show.name}`, onclick: leave }, "Leave"),
    );
  }
}

function when(show) {
  if (!show.starts_at) return show.name;
  const day = new Date(show.starts_at).toLocaleString("en-GB", { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  return `${show.name} · ${day}`;
}
