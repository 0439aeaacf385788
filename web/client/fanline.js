/**
 * Fanline in a fan's browser: the live stream and the fan's calls, with nothing to install.
 *
 *   import { Fanline } from "https://tickets.example.com/client/fanline.js";
 *   const fan = new Fanline({ url: "https://tickets.example.com", token: () => myApp.fanToken(), storage: localStorage });
 *   fan.addEventListener("item", (e) => show(e.detail));
 *   fan.connect();
 *
 * It resumes from the newest cursor, comes back by itself with full jitter where the server allows it, hands out each
 * item once by its id, and renews the token in place. fanline.d.ts says what each call and event carries.
 */

const PROTOCOL = "fanline.v1";
const FIRST_WAIT_MS = 250; // the first wait before another try is below this, each next below twice as much
const LONGEST_WAIT_MS = 30_000;
const STEADY_MS = 10_000; // a connection that lived this long starts the waits anew
const DIAL_MS = 15_000;
const CALL_MS = 15_000;
const NUDGE_MS = 5_000; // how long an answer may take when the page comes back to the front
const SEEN_MOST = 4_000; // ids remembered, more than a replay has
const HELD_MOST = 4_000; // frames that wait while the inbox is read
const IDS_MOST = 500; // ids in one frame or call
const SAMPLES_MOST = 8;
const UNSURE_MS = 1_000; // how far the clocks, and the parts of an answer, may be apart
const RECOUNT_MS = 250;
const PROBE_EVERY = 5; // dials that fail before the token is doubted again

/** FanlineError is a refusal: code is for programs, message for people. */
export class FanlineError extends Error {
  constructor(code, message, status = 0, retryAfterMs = 0) {
    super(message);
    this.name = "FanlineError";
    this.code = code;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** ServerClock tells the server's time by this machine's monotonic clock, whatever its wall clock says. */
class ServerClock {
  #samples = [];

  note(sentAt, serverTime) {
    const now = performance.now();
    const trip = now - sentAt;
    this.#samples.push({ trip, offset: Date.parse(serverTime) + trip / 2 - now });
    if (this.#samples.length > SAMPLES_MOST) this.#samples.shift();
  }

  /** The quickest trip of the last few says most. */
  now() {
    if (this.#samples.length === 0) return Date.now();
    const best = this.#samples.reduce((a, b) => (b.trip <= a.trip ? b : a));
    return performance.now() + best.offset;
  }
}

/** Recent remembers the newest ids. */
class Recent {
  #ids = new Set();

  /** add says whether the id is new. */
  add(id) {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    if (this.#ids.size > SEEN_MOST) this.#ids.delete(this.#ids.values().next().value);
    return true;
  }
}

export class Fanline extends EventTarget {
  #url;
  #ask;
  #storage;
  #storageKey;

  #bearer = null; // the token in use
  #refused = null; // the last one that the server would not have
  #trusted = null; // the last one that the server took
  #renewing = null;

  #life = null; // of connect until close
  #socket = null;
  #wake = null; // ends a wait early
  #state = "closed";
  #cursor = null;
  #cursorOf = null; // the fan whose cursor was loaded
  #met = false; // the inbox was read at least once

  #clock = new ServerClock();
  #seen = new Recent();
  #turns = new Map();
  #lines = new Map();
  #acks = new Set(); // seen while there was no connection
  #unread = 0;
  #countedAt = 0; // when the server was asked for #unread last
  #recounting = false;

  constructor({ url, token, storage = null, storageKey = "fanline.cursor" }) {
    super();
    if (typeof token !== "function") throw new TypeError("token must be a function that returns the fan's token");
    this.#url = new URL(url).href.replace(/\/+$/, "");
    this.#ask = token;
    this.#storage = storage;
    this.#storageKey = storageKey;
  }

  /** "connecting", "live", "waiting", "away" (not again by itself) or "closed". */
  get state() {
    return this.#state;
  }

  /** The fan's open turns, the one that closes first in front. */
  get turns() {
    const now = this.serverNow();
    return [...this.#turns.values()]
      .filter((t) => Date.parse(t.closes_at) > now)
      .sort((a, b) => Date.parse(a.closes_at) - Date.parse(b.closes_at));
  }

  /** Positions by show, as last heard; null: in no line that moves. */
  get lines() {
    return new Map(this.#lines);
  }

  get unread() {
    return this.#unread;
  }

  /** The server's time in milliseconds since 1970. */
  serverNow() {
    return this.#clock.now();
  }

  /** connect opens the stream and keeps it open until close; also again after "away". */
  connect() {
    if (this.#life && this.#state !== "away") return;
    this.#life?.abort();
    const life = new AbortController();
    this.#life = life;
    const nudge = () => globalThis.document?.visibilityState !== "hidden" && this.#nudge();
    globalThis.addEventListener?.("online", nudge, { signal: life.signal });
    globalThis.document?.addEventListener("visibilitychange", nudge, { signal: life.signal });
    this.#run(life.signal);
  }

  /** close ends the stream; the cursor stays, so that connect goes on from there. */
  close() {
    this.#life?.abort();
    this.#life = null;
    this.#socket?.end({ code: 1000 });
    this.#wake?.();
    this.#enter("closed");
  }

  /** forget drops the kept cursor, for a fan who logs out. */
  forget() {
    this.#keep(null);
  }

  // The fan's calls.

  /** inbox is a page of it, newest first. */
  async inbox({ unread = false, kind = "", cursor = "", limit = 50 } = {}) {
    const query = new URLSearchParams({ limit });
    if (unread) query.set("unread", "true");
    if (kind) query.set("kind", kind);
    if (cursor) query.set("cursor", cursor);
    const page = await this.#call("GET", `/v1/me/inbox?${query}`);
    this.#counted(page.unread);
    return page;
  }

  /** read marks items read and returns how many are unread. */
  async read(ids) {
    let unread = this.#unread;
    for (const part of parts(ids)) ({ unread } = await this.#call("POST", "/v1/me/inbox/read", { ids: part }));
    this.#counted(unread);
    return unread;
  }

  /** ack says that items are on a screen, so that no other channel need tell of them. */
  ack(ids) {
    for (const id of ids) this.#acks.add(id);
    while (this.#acks.size > IDS_MOST) this.#acks.delete(this.#acks.values().next().value);
    this.#sendAcks();
  }

  /** entries are the fan's places in line. */
  async entries() {
    const all = [];
    let cursor = "";
    do {
      const page = await this.#call("GET", `/v1/me/entries?limit=500${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
      all.push(...page.items);
      cursor = page.next_cursor;
    } while (cursor);
    for (const e of all) this.#lines.set(e.show_id, e.position || null);
    return all;
  }

  leave(show) {
    return this.#call("DELETE", `/v1/me/entries/${encodeURIComponent(show)}`);
  }

  /** turn is the verdict: where the fan stands with an opening, and why. */
  turn(show, opening) {
    return this.#call("GET", turnPath(show, opening));
  }

  /** claim holds the party's seats. Again: the same claim, while it is held or confirmed. */
  async claim(show, opening) {
    const claim = await this.#call("POST", `${turnPath(show, opening)}/claim`);
    this.#turns.delete(`turn:${show}:${opening}`);
    return claim;
  }

  async decline(show, opening) {
    await this.#call("POST", `${turnPath(show, opening)}/decline`);
    this.#turns.delete(`turn:${show}:${opening}`);
  }

  /** webPushKey is what a browser subscribes with; null: there is no Web Push here. */
  async webPushKey() {
    const res = await fetch(`${this.#url}/v1/webpush-key`, { credentials: "omit", signal: AbortSignal.timeout(CALL_MS) });
    if (!res.ok) return null;
    return (await res.json()).public_key ?? null;
  }

  putDevice(device, body) {
    return this.#call("PUT", `/v1/me/devices/${encodeURIComponent(device)}`, body);
  }

  removeDevice(device) {
    return this.#call("DELETE", `/v1/me/devices/${encodeURIComponent(device)}`);
  }

  // The life of the stream.

  async #run(life) {
    let reason = "start";
    for (let tries = 0; !life.aborted; tries++) {
      this.#enter("connecting");
      let end;
      try {
        await this.#renew(reason);
        reason = "start";
        end = await this.#live(life);
      } catch (error) {
        end = { error };
      }
      if (!life.aborted && !end.error && !this.#opened(end) && this.#doubtful(tries)) end.error = await this.#probe();
      if (life.aborted) return;
      if (end.error?.code === "unauthenticated" || end.code === 4009 || end.code === 4400) {
        this.#enter("away", { code: end.code ?? 4001, error: end.error });
        return;
      }
      if (end.code >= 4001 && end.code <= 4007) {
        this.#refuse(this.#bearer);
        reason = end.code === 4001 ? "expired" : end.code === 4002 ? "signed_out" : "refused";
      }
      if (end.livedMs >= STEADY_MS) tries = 0;
      const jitter = Math.random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 20));
      const wait = (end.retryAfterMs || end.error?.retryAfterMs || 0) + jitter;
      this.#enter("waiting", { retry_in_ms: Math.round(wait), code: end.code, error: end.error });
      const { done, end: wake } = pause(wait, life);
      this.#wake = wake;
      await done;
    }
  }

  #opened(end) {
    return end.livedMs !== undefined;
  }

  /** A browser does not say why a socket was refused; only a token that was never taken is worth a question. */
  #doubtful(tries) {
    return this.#trusted !== this.#bearer || tries % PROBE_EVERY === PROBE_EVERY - 1;
  }

  async #probe() {
    try {
      await this.#call("GET", "/v1/me/entries?limit=1");
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** live resolves when a connection has ended: with its close code, and livedMs where it had opened. */
  #live(life) {
    return new Promise((resolve) => {
      this.#load();
      const after = this.#cursor ? `?after=${encodeURIComponent(this.#cursor)}` : "";
      const ws = new WebSocket(`${this.#url.replace(/^http/, "ws")}/v1/me/stream${after}`, [PROTOCOL, `bearer.${this.#bearer}`]);
      const s = { ws, dialled: performance.now(), helloAt: 0, beat: 0, timer: 0, pinged: 0, retryAfterMs: 0, held: null };
      s.end = (how) => {
        clearTimeout(s.timer);
        clearInterval(s.beat);
        ws.onmessage = ws.onclose = null;
        ws.close();
        if (this.#socket === s) this.#socket = null;
        const livedMs = s.helloAt ? performance.now() - s.helloAt : undefined;
        resolve({ ...how, livedMs, retryAfterMs: s.retryAfterMs || how.retryAfterMs });
      };
      s.timer = setTimeout(() => s.end({ code: 1006 }), DIAL_MS);
      ws.onclose = (e) => s.end({ code: e.code });
      ws.onmessage = (e) => {
        s.pinged = 0;
        this.#frame(s, JSON.parse(e.data));
      };
      this.#socket = s;
      if (life.aborted) s.end({ code: 1000 });
    });
  }

  #frame(s, f) {
    switch (f.type) {
      case "hello":
        return this.#hello(s, f);
      case "pong":
        return this.#clock.note(s.pingAt, f.now);
      case "expiring":
        return void this.#renewInPlace(s);
      case "closing":
        s.retryAfterMs = f.retry_after_ms;
        return undefined;
    }
    if (s.held) {
      s.held.push(f);
      if (s.held.length > HELD_MOST) s.end({ code: 4008 });
      return undefined;
    }
    return this.#take(f);
  }

  #take(f) {
    switch (f.type) {
      case "item":
        return this.#item(f.item);
      case "update":
        return this.#update(f);
      case "line":
        this.#lines.set(f.show_id, f.position);
        return this.#emit("line", { show_id: f.show_id, position: f.position });
      case "cursor":
        return this.#keep(f.cursor);
    }
    return undefined; // a frame of a later server
  }

  #hello(s, f) {
    clearTimeout(s.timer);
    s.helloAt = performance.now();
    this.#trusted = this.#bearer;
    this.#clock.note(s.dialled, f.now);
    s.beat = setInterval(() => this.#ping(s), f.heartbeat_s * 1000);
    this.#ping(s);
    this.#sendAcks();
    if (f.reset) {
      this.#keep(null);
      this.#met = false;
    }
    this.#enter("live", { reset: f.reset });
    if (!this.#met) this.#readAnew(s);
  }

  /** readAnew reads the inbox before anything of the stream is handed out, so that neither overtakes the other. */
  async #readAnew(s) {
    s.held = [];
    try {
      const page = await this.inbox();
      if (this.#socket !== s) return;
      this.#met = true;
      this.#turns.clear();
      for (const item of page.items) {
        this.#seen.add(item.id);
        this.#noteTurn(item);
      }
      this.#emit("inbox", page);
      const held = s.held;
      s.held = null;
      for (const f of held) this.#take(f);
    } catch (err) {
      s.end({ code: 1006, error: err.code === "unauthenticated" ? err : undefined, retryAfterMs: err.retryAfterMs });
    }
  }

  #item(item) {
    if (!this.#seen.add(item.id)) return;
    this.#noteTurn(item);
    if (!item.read_at) this.#countItem(item);
    this.#emit("item", item);
  }

  #noteTurn(item) {
    if (item.kind === "turn" && item.state === "open") this.#turns.set(item.id, item);
  }

  #update({ id, state }) {
    if (state !== "open") this.#turns.delete(id);
    this.#emit("update", { id, state });
  }

  /** A ping that nothing followed until the next one: the connection is dead, and nobody said so. */
  #ping(s) {
    if (s.pinged) return s.end({ code: 1006 });
    s.pinged = s.pingAt = performance.now();
    return this.#send({ type: "ping" });
  }

  /** nudge tries at once when the page comes back, instead of finding out a minute later. */
  #nudge() {
    this.#wake?.();
    const s = this.#socket;
    if (!s?.helloAt) return;
    if (!s.pinged) this.#ping(s);
    const asked = s.pinged;
    setTimeout(() => s.pinged === asked && s.end({ code: 1006 }), NUDGE_MS);
  }

  #send(frame) {
    const s = this.#socket;
    if (!s?.helloAt || s.ws.readyState !== WebSocket.OPEN) return false;
    s.ws.send(JSON.stringify(frame));
    return true;
  }

  #sendAcks() {
    if (this.#acks.size > 0 && this.#send({ type: "ack", ids: [...this.#acks] })) this.#acks.clear();
  }

  // The token.

  /** renew asks the app for a token where none is in use. One that was refused is not tried again. */
  async #renew(reason) {
    if (this.#bearer) return this.#bearer;
    this.#renewing ??= (async () => this.#ask(reason))().finally(() => (this.#renewing = null));
    const token = await this.#renewing;
    if (!token || token === this.#refused) throw new FanlineError("unauthenticated", "there is no token that the server takes", 401);
    return (this.#bearer = token);
  }

  #refuse(token) {
    this.#refused = token;
    if (this.#bearer === token) this.#bearer = null;
  }

  async #renewInPlace(s) {
    for (let tries = 0; this.#socket === s; tries++) {
      try {
        const token = await this.#ask("expiring");
        if (!token || token === this.#bearer || this.#socket !== s) return;
        this.#bearer = this.#trusted = token;
        this.#send({ type: "token", token });
        return;
      } catch (error) {
        this.#emit("tokenerror", { error });
        await pause(Math.random() * Math.min(LONGEST_WAIT_MS, 1000 * 2 ** Math.min(tries, 20))).done;
      }
    }
  }

  // Small things.

  async #call(method, path, body) {
    for (let again = true; ; again = false) {
      const token = await this.#renew(again ? "start" : "refused");
      const headers = { Authorization: `Bearer ${token}` };
      if (body) headers["Content-Type"] = "application/json";
      const res = await fetch(this.#url + path, {
        method, headers, body: body && JSON.stringify(body), credentials: "omit", cache: "no-store", signal: AbortSignal.timeout(CALL_MS),
      });
      if (res.ok) {
        this.#trusted = token;
        return res.status === 204 ? null : res.json();
      }
      if (res.status === 401) this.#refuse(token);
      if (res.status !== 401 || !again) throw await refusal(res);
    }
  }

  #enter(state, detail = {}) {
    this.#state = state;
    this.#emit("state", { state, ...detail });
  }

  /** An item that came up about when the server counted may be in its count, or not: it is asked again, once for all. */
  async #countItem(item) {
    if (Date.parse(item.created_at) > this.#countedAt + UNSURE_MS) return this.#count(this.#unread + 1);
    if (this.#recounting) return undefined;
    this.#recounting = true;
    await pause(RECOUNT_MS).done;
    this.#recounting = false;
    return this.inbox({ limit: 1 }).catch(() => {}); // the next item asks again
  }

  #counted(unread) {
    this.#countedAt = this.serverNow();
    this.#count(unread);
  }

  #count(unread) {
    if (unread === this.#unread) return;
    this.#unread = unread;
    this.#emit("unread", { unread });
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  /** A cursor is one fan's: it is kept under their id. */
  #load() {
    const fan = subject(this.#bearer);
    if (fan === this.#cursorOf) return;
    this.#cursorOf = fan;
    try {
      this.#cursor = this.#storage?.getItem(`${this.#storageKey}:${fan}`) ?? null;
    } catch {
      this.#cursor = null; // a browser may refuse its storage
    }
  }

  #keep(cursor) {
    this.#cursor = cursor;
    const key = `${this.#storageKey}:${this.#cursorOf}`;
    try {
      if (cursor) this.#storage?.setItem(key, cursor);
      else this.#storage?.removeItem(key);
    } catch {
      // full or refused: after a reload the newest unread come again
    }
  }
}

/** pause is over after ms, when the signal aborts, or by its end. */
function pause(ms, signal) {
  let end;
  const done = new Promise((resolve) => {
    const timer = setTimeout(() => end(), ms);
    end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    signal?.addEventListener("abort", end);
  });
  return { done, end };
}

function turnPath(show, opening) {
  return `/v1/me/turns/${encodeURIComponent(show)}/${encodeURIComponent(opening)}`;
}

function* parts(ids) {
  for (let i = 0; i < ids.length; i += IDS_MOST) yield ids.slice(i, i + IDS_MOST);
}

/** subject is the fan's id in a token, which is not checked here. */
function subject(token) {
  try {
    const text = atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (c) => c.charCodeAt(0)))).sub ?? "";
  } catch {
    return "";
  }
}

async function refusal(res) {
  const problem = await res.json().catch(() => ({}));
  const after = Number(res.headers.get("Retry-After")) || 0;
  return new FanlineError(problem.code ?? "internal", problem.detail ?? `the server answered ${res.status}`, res.status, after * 1000);
}
