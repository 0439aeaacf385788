// Types of fanline.js. Times are RFC 3339 in UTC.

export type Kind = "turn" | "result" | "announcement" | "message";

export interface Item {
  /** The same for the live push and the pick-up: "turn:<show>:<opening>", "result:...", "ann:...", "msg:...". */
  id: string;
  kind: Kind;
  /** The ticketing app's word, of a message. */
  type?: string;
  lane: "transactional" | "turns" | "bulk";
  show_id?: string;
  opening_id?: string;
  title: string;
  body: string;
  data?: unknown;
  /** The party size. */
  seats?: number;
  /** Of a turn open, claimed or over; of a result filled, cancelled, confirmed or lapsed. */
  state?: "open" | "claimed" | "over" | "filled" | "cancelled" | "confirmed" | "lapsed";
  opens_at?: string;
  closes_at?: string;
  created_at: string;
  read_at: string | null;
}

export interface InboxPage {
  items: Item[];
  next_cursor: string | null;
  /** How many are unread, in all. */
  unread: number;
}

export interface Entry {
  show_id: string;
  fan_id: string;
  entry: number;
  place: number;
  position?: number | null;
  party_size: number;
  tier: string;
  state: "waiting" | "holding" | "bought" | "left" | "removed";
  dormant: boolean;
  joined_at: string;
}

export interface Verdict {
  show_id: string;
  opening_id: string;
  fan_id: string;
  state: "waiting" | "upcoming" | "open" | "claimed" | "over" | "none";
  reason: string;
  opens_at?: string;
  closes_at?: string;
  ahead?: number;
  claim_id?: string;
}

export interface Claim {
  id: string;
  show_id: string;
  opening_id: string;
  fan_id: string;
  seats: number;
  labels: string[];
  state: "held" | "confirmed" | "released" | "lapsed";
  claimed_at: string;
  expires_at: string;
}

export interface Device {
  platform: "apns" | "fcm" | "webpush";
  /** For webpush the subscription's endpoint. */
  token: string;
  environment?: "production" | "sandbox";
  topic?: string;
  keys?: { p256dh: string; auth: string };
}

/** Why the app is asked for a token. */
export type TokenReason = "start" | "expiring" | "expired" | "signed_out" | "refused";

export interface Options {
  /** The base address, such as https://tickets.example.com. The page's origin must be on FANLINE_ALLOWED_ORIGINS. */
  url: string;
  /**
   * Returns the fan's token. Nothing, or the one that was refused: the fan stays away until connect is called again.
   * What it throws counts as a fault that passes: it is asked again.
   */
  token: (reason: TokenReason) => string | null | undefined | Promise<string | null | undefined>;
  /** Keeps the cursor over reloads, by fan: localStorage or the like. Without one a reload starts with the newest unread. */
  storage?: Pick<Storage, "getItem" | "setItem" | "removeItem"> | null;
  storageKey?: string;
}

export type State = "connecting" | "live" | "waiting" | "away" | "closed";

export interface Events {
  /** The newest page, at the first connection and whenever the cursor was of no use: show this instead of what was there. */
  inbox: CustomEvent<InboxPage>;
  /** Each item once. */
  item: CustomEvent<Item>;
  /** A turn opened, ended, or was claimed elsewhere. */
  update: CustomEvent<{ id: string; state: string }>;
  /** The own position changed; null while holding, dormant or out of the line. */
  line: CustomEvent<{ show_id: string; position: number | null }>;
  unread: CustomEvent<{ unread: number }>;
  state: CustomEvent<{ state: State; reset?: boolean; code?: number; retry_in_ms?: number; error?: unknown }>;
  /** The token callback threw while a token was to be renewed in place; it is asked again. */
  tokenerror: CustomEvent<{ error: unknown }>;
}

export class FanlineError extends Error {
  /** "all_held", "turn_over", "unauthenticated" and so on, as /docs lists them. */
  readonly code: string;
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  readonly retryAfterMs: number;
}

export class Fanline extends EventTarget {
  constructor(options: Options);

  /** "away": the server, or a token that cannot be had, keeps this client away until connect is called again. */
  readonly state: State;
  /** Open turns that were heard of, the one that closes first in front. */
  readonly turns: Item[];
  /** Positions by show, as last heard. */
  readonly lines: Map<string, number | null>;
  readonly unread: number;
  /** The server's time in milliseconds since 1970: count down to closes_at with this, never with the device's clock. */
  serverNow(): number;

  connect(): void;
  close(): void;
  /** Drops the kept cursor. */
  forget(): void;

  inbox(query?: { unread?: boolean; kind?: Kind; cursor?: string; limit?: number }): Promise<InboxPage>;
  /** Returns how many are unread. */
  read(ids: string[]): Promise<number>;
  /** Items are on a screen: no other channel need tell of them. Kept until there is a connection. */
  ack(ids: string[]): void;
  entries(): Promise<Entry[]>;
  leave(show: string): Promise<null>;
  turn(show: string, opening: string): Promise<Verdict>;
  claim(show: string, opening: string): Promise<Claim>;
  decline(show: string, opening: string): Promise<void>;
  /** null: there is no Web Push here. */
  webPushKey(): Promise<string | null>;
  putDevice(device: string, body: Device): Promise<unknown>;
  removeDevice(device: string): Promise<null>;

  addEventListener<K extends keyof Events>(
    type: K,
    listener: (event: Events[K]) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  removeEventListener<K extends keyof Events>(type: K, listener: (event: Events[K]) => void, options?: boolean | EventListenerOptions): void;
}
