/** An entry with its expiry, and its neighbours in the queue of expiry. */
export interface Expiring<Value> {
  readonly key: string;
  readonly value: Value;
  readonly expiresAt: number;
  readonly bytes: number;
  readonly lane: Lane<Value>;
  before: Expiring<Value> | undefined;
  after: Expiring<Value> | undefined;
}

/** A queue of entries with (nearly) the same lifetime. New entries are appended, so they are in order of expiry. */
interface Lane<Value> {
  readonly seconds: number;
  first: Expiring<Value> | undefined;
  last: Expiring<Value> | undefined;
}

/**
 * The bytes of an entry, besides its key's characters and its value: the entry, its slot in the map, the key's header.
 */
const ENTRY_BYTES = 150;
/** The number of expired entries that each new entry removes: more than one, so that the map shrinks under any load. */
const SWEPT_BY_EACH = 2;

/**
 * A map whose entries expire, bounded in bytes. If it would exceed the limit, the entries that expire soonest are
 * dropped. Every operation takes constant time: there is one queue for each lifetime in use (rounded up to whole
 * seconds; within a queue the order is off by less than a second), and only the heads of queues are checked.
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

  /** Sets the entry of a key, and replaces an existing one. */
  set(sharedKey: string, value: Value, valueBytes: number, ttlMs: number, now: number): void {
    this.sweep(now, SWEPT_BY_EACH);
    const replaced = this.#entries.get(sharedKey);
    if (replaced !== undefined) this.delete(replaced);
    const key = replaced?.key ?? flatCopy(sharedKey);
    const lane = this.#laneOf(ttlMs);
    const { last } = lane;
    const bytes = ENTRY_BYTES + key.length + valueBytes;
    const entry = { key, value, expiresAt: now + ttlMs, bytes, lane, before: last, after: undefined };
    if (last === undefined) lane.first = entry;
    else last.after = entry;
    lane.last = entry;
    this.#entries.set(key, entry);
    this.#bytes += bytes;
    this.#makeRoom(entry);
  }

  delete({ key, bytes, lane, before, after }: Expiring<Value>): void {
    this.#entries.delete(key);
    this.#bytes -= bytes;
    if (before === undefined) lane.first = after;
    else before.after = after;
    if (after === undefined) lane.last = before;
    else after.before = before;
    if (lane.first === undefined) this.#lanes.delete(lane.seconds);
  }

  /** Deletes expired entries, at most `most`. Returns true if it stopped at that number. */
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

  /**
   * Deletes the entries that expire soonest until the rest fits, but never the newest entry, which is the last of its
   * queue.
   */
  #makeRoom(newest: Expiring<Value>): void {
    while (this.#bytes > this.#maxBytes) {
      let soonest: Expiring<Value> | undefined;
      for (const { first } of this.#lanes.values()) {
        if (first === undefined || first === newest) continue;
        if (soonest === undefined || first.expiresAt < soonest.expiresAt) soonest = first;
      }
      if (soonest === undefined) return;
      this.delete(soonest);
    }
  }

  #laneOf(ttlMs: number): Lane<Value> {
    const seconds = Math.ceil(ttlMs / 1000);
    let lane = this.#lanes.get(seconds);
    if (lane === undefined) this.#lanes.set(seconds, (lane = { seconds, first: undefined, last: undefined }));
    return lane;
  }
}

/**
 * A string that was cut out of a header, or concatenated, keeps its parents in memory. A copy keeps only its own
 * characters.
 */
function flatCopy(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
