/** One thing that expires, and its place in the queue of those that expire before and after it. */
export interface Expiring<Value> {
  readonly key: string;
  value: Value;
  expiresAt: number;
  bytes: number;
  lane: Lane<Value>;
  before: Expiring<Value> | undefined;
  after: Expiring<Value> | undefined;
}

/** Entries of (nearly) one lifetime: appended as they are made or renewed, so that they stand in order of expiry. */
interface Lane<Value> {
  readonly seconds: number;
  first: Expiring<Value> | undefined;
  last: Expiring<Value> | undefined;
}

/** The bytes that an entry takes beside its key's characters and its value: the entry, its slot in the map, the key's header. */
const ENTRY_BYTES = 150;
/** The number of expired entries that a new one clears away: more than one, so that the map shrinks under any load. */
const SWEPT_BY_EACH = 2;

/**
 * A map whose entries expire, bounded in bytes. If it would outgrow them, the entries that expire soonest go first.
 * Every operation takes constant time: there is a queue for each lifetime in use (rounded up to whole seconds; within a
 * queue the order is off by less than a second), and only the heads of queues are looked at.
 */
export class ExpiringMap<Value> {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Expiring<Value>>();
  readonly #lanes = new Map<number, Lane<Value>>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string, now: number): Expiring<Value> | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.expiresAt > now) return entry;
    this.delete(entry);
    return undefined;
  }

  /** Adds an entry under a key that has none. */
  add(sharedKey: string, value: Value, valueBytes: number, ttlMs: number, now: number): void {
    this.sweep(now, SWEPT_BY_EACH);
    const key = ownCopy(sharedKey);
    const lane = this.#laneOf(ttlMs);
    const bytes = ENTRY_BYTES + key.length + valueBytes;
    const entry: Expiring<Value> = {
      key,
      value,
      expiresAt: now + ttlMs,
      bytes,
      lane,
      before: undefined,
      after: undefined,
    };
    this.#entries.set(key, entry);
    this.#bytes += bytes;
    append(entry);
    this.#makeRoom(entry);
  }

  /** Starts an entry's lifetime anew. */
  renew(entry: Expiring<Value>, valueBytes: number, ttlMs: number, now: number): void {
    const lane = this.#laneOf(ttlMs);
    unlink(entry);
    if (lane !== entry.lane) this.#close(entry.lane);
    entry.expiresAt = now + ttlMs;
    entry.lane = lane;
    append(entry);
    const bytes = ENTRY_BYTES + entry.key.length + valueBytes;
    this.#bytes += bytes - entry.bytes;
    entry.bytes = bytes;
    this.#makeRoom(entry);
  }

  delete(entry: Expiring<Value>): void {
    this.#entries.delete(entry.key);
    this.#bytes -= entry.bytes;
    unlink(entry);
    this.#close(entry.lane);
  }

  /** Deletes expired entries, at most so many. Returns true if it stopped at that number. */
  sweep(now: number, most: number): boolean {
    let swept = 0;
    for (const lane of this.#lanes.values()) {
      while (lane.first !== undefined && lane.first.expiresAt <= now) {
        if (swept++ === most) return true;
        this.delete(lane.first);
      }
    }
    return false;
  }

  clear(): void {
    this.#entries.clear();
    this.#lanes.clear();
    this.#bytes = 0;
  }

  #makeRoom(keep: Expiring<Value>): void {
    while (this.#bytes > this.#maxBytes) {
      const soonest = this.#soonest(keep);
      if (soonest === undefined) return;
      this.delete(soonest);
    }
  }

  #soonest(except: Expiring<Value>): Expiring<Value> | undefined {
    let soonest: Expiring<Value> | undefined;
    for (const { first } of this.#lanes.values()) {
      const candidate = first === except ? first.after : first;
      if (candidate === undefined) continue;
      if (soonest === undefined || candidate.expiresAt < soonest.expiresAt) soonest = candidate;
    }
    return soonest;
  }

  #laneOf(ttlMs: number): Lane<Value> {
    const seconds = Math.ceil(ttlMs / 1000);
    let lane = this.#lanes.get(seconds);
    if (lane === undefined) this.#lanes.set(seconds, (lane = { seconds, first: undefined, last: undefined }));
    return lane;
  }

  #close(lane: Lane<Value>): void {
    if (lane.first === undefined) this.#lanes.delete(lane.seconds);
  }
}

/**
 * A string that is cut out of a header, or concatenated, keeps its parents in memory for as long as it lives: a copy
 * keeps nothing but its own characters.
 */
function ownCopy(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}

function unlink<Value>(entry: Expiring<Value>): void {
  const { lane, before, after } = entry;
  if (before === undefined) lane.first = after;
  else before.after = after;
  if (after === undefined) lane.last = before;
  else after.before = before;
  entry.before = entry.after = undefined;
}

function append<Value>(entry: Expiring<Value>): void {
  const { lane } = entry;
  entry.before = lane.last;
  if (lane.last === undefined) lane.first = entry;
  else lane.last.after = entry;
  lane.last = entry;
}
