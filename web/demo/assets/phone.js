// A fan's phone: what the fan knows, by web/client alone, and what they may do.
import { Fanline } from "/client/fanline.js";
import * as app from "./app.js";
import { PhoneView } from "./view.js";
import { offerPush } from "./push.js";

const RETRY_MS = 1_500;
const SETTLE_MS = 150; // several frames that come together are one look
const WARNINGS_S = [60, 30, 10];

export class Phone {
  items = new Map();
  known = false; // the inbox was read
  entries = null; // not read yet
  claims = new Map(); // held, by show
  older = null; // cursor of the inbox's next page
  news = null; // what happened last: { text, tone }
  busy = false;

  #looking = 0;
  #acts = 0; // how many began or ended
  #offered = false; // what comes last on the page
  #passing = null; // the turn that is being declined
  #warned = new Set();

  constructor(fan, shows) {
    this.fan = fan;
    this.shows = shows;
    this.client = new Fanline({ url: location.origin, token: () => app.token(fan), storage: localStorage });
    this.view = new PhoneView(this);
  }

  start() {
    const on = (type, f) => this.client.addEventListener(type, (e) => f(e.detail));
    on("state", (s) => {
      this.view.link(s);
      if (s.state === "live") this.look();
    });
    on("inbox", (page) => {
      this.items = new Map(page.items.map((i) => [i.id, i]));
      this.older = page.next_cursor;
      this.known = true;
      this.look();
    });
    on("item", (item) => this.#heard(item));
    on("update", ({ id, state }) => this.#changed(id, state));
    on("line", ({ show_id, position }) => {
      const entry = this.entries?.find((e) => e.show_id === show_id);
      if (!entry || position === null) return this.look();
      entry.position = position;
      return this.view.render();
    });
    on("unread", () => this.view.render());
    this.view.render();
    this.client.connect();
    setInterval(() => this.#tick(), 250);
  }

  /** turn is the open turn that closes first. */
  get turn() {
    return this.client.turns[0] ?? null;
  }

  get claim() {
    return [...this.claims.values()].find((c) => Date.parse(c.expires_at) > this.client.serverNow()) ?? null;
  }

  /** bought is the newest result, if it is a purchase. */
  get bought() {
    const results = [...this.items.values()].filter((i) => i.kind === "result").sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
    return results[0]?.state === "confirmed" ? results[0] : null;
  }

  show(id) {
    return this.shows.get(id) ?? { id, name: id, venue: "" };
  }

  #heard(item) {
    this.items.set(item.id, item);
    if (item.kind === "turn" && item.state === "open") {
      this.news = null;
      this.view.say(`${item.title}. You have until ${this.view.until(item.closes_at)}.`);
    }
    if (item.kind === "result") this.news = { text: `${item.title}. ${item.body}`, tone: item.state === "confirmed" ? "good" : "" };
    this.look();
  }

  #changed(id, state) {
    const item = this.items.get(id);
    const was = item?.state;
    if (item) item.state = state;
    if (was === "open" && state === "over" && !this.news && id !== this.#passing) {
      this.news = { text: `Your turn for ${this.show(item.show_id).name} is over; the seat goes on to the next fan. You keep your place in line.` };
      this.view.say("Your turn is over.");
    }
    this.look();
  }

  /** look reads where the fan stands, once for all that comes together. */
  look() {
    this.view.render();
    clearTimeout(this.#looking);
    this.#looking = setTimeout(() => this.#read().catch(() => this.#later()), SETTLE_MS);
  }

  #later() {
    this.#looking = setTimeout(() => this.look(), RETRY_MS);
  }

  async #read() {
    const acts = this.#acts;
    const entries = await this.client.entries();
    if (acts !== this.#acts) return this.look(); // of before what the fan did since
    this.entries = entries;
    for (const e of this.entries) {
      if (e.state !== "holding") this.claims.delete(e.show_id);
      else if (!this.claims.has(e.show_id)) await this.#findClaim(e.show_id);
    }
    this.view.render();
    this.#offer();
  }

  /** offer waits until what stands above it is drawn: its button would move away under a thumb. */
  #offer() {
    if (this.#offered || !this.known) return;
    this.#offered = true;
    offerPush(this.client);
  }

  /** findClaim is for a page that was loaded while seats are held: claiming again answers with the same claim. */
  async #findClaim(show) {
    const page = await this.client.inbox({ kind: "turn" });
    const turn = page.items.find((i) => i.show_id === show && i.state === "claimed");
    if (turn) this.#hold(await this.client.claim(show, turn.opening_id));
  }

  #hold(claim) {
    if (claim.state === "held") this.claims.set(claim.show_id, claim);
  }

  #tick() {
    this.view.tick();
    const turn = this.turn;
    if (!turn) return;
    const s = Math.ceil((Date.parse(turn.closes_at) - this.client.serverNow()) / 1000);
    const of = (Date.parse(turn.closes_at) - Date.parse(turn.opens_at)) / 1000;
    for (const w of WARNINGS_S) {
      const key = `${turn.id} ${w}`;
      if (s > w || w > of / 2 || this.#warned.has(key)) continue;
      for (const more of WARNINGS_S) if (more >= w) this.#warned.add(`${turn.id} ${more}`);
      this.view.say(`${s} seconds left for your turn.`);
    }
  }

  // What the fan does.

  async #act(f) {
    if (this.busy) return;
    this.busy = true;
    this.#acts++;
    this.view.render();
    try {
      await f();
    } catch (err) {
      this.news = { text: err.message, tone: "bad" };
      this.view.say(err.message);
    }
    this.busy = false;
    this.#acts++;
    this.look();
  }

  take(turn) {
    return this.#act(async () => {
      this.#hold(await this.client.claim(turn.show_id, turn.opening_id));
      this.#changed(turn.id, "claimed");
      this.news = null;
      this.view.say("Held for you. Pay to make it yours.");
    });
  }

  pass(turn) {
    return this.#act(async () => {
      this.#passing = turn.id; // its end is what the fan wants
      try {
        await this.client.decline(turn.show_id, turn.opening_id);
        this.#changed(turn.id, "over");
      } finally {
        this.#passing = null;
      }
      this.news = { text: "Passed on to the next fan. You keep your place in line for the next seat." };
      this.view.say(this.news.text);
    });
  }

  pay(claim) {
    return this.#act(async () => {
      await app.pay(claim.id);
      this.claims.delete(claim.show_id);
      this.news = { text: "Paid. It is yours.", tone: "good" };
      this.view.say(this.news.text);
    });
  }

  join(show) {
    return this.#act(async () => {
      await app.join(show, this.fan);
      this.news = null;
    });
  }

  leave(show) {
    return this.#act(async () => {
      await this.client.leave(show);
      this.news = { text: `You left the line for ${this.show(show).name}.` };
    });
  }

  async read(ids) {
    const now = new Date(this.client.serverNow()).toISOString();
    for (const id of ids) this.items.get(id).read_at ??= now;
    await this.client.read(ids).catch(() => {}); // the next view of it tries again
    this.view.render();
  }

  async showOlder() {
    const page = await this.client.inbox({ cursor: this.older });
    for (const i of page.items) if (!this.items.has(i.id)) this.items.set(i.id, i);
    this.older = page.next_cursor;
    this.view.render();
  }
}
