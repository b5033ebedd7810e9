import { timingSafeEqual } from 'node:crypto';
import { checkOptions, FUNCTION, type OptionRule } from '../errors/options.ts';
import { ExpiringMap } from './expiring-map.ts';
import { HitLog } from './hit-log.ts';
import type { HitResult, PutOptions, Store, TakeResult } from './store.ts';

/** The options of a memory store: its size and its clock. */
export interface MemoryStoreOptions {
  /** The approximate memory for counters, in bytes. Default: 64 MiB, for some 200,000 clients. */
  readonly maxCounterBytes?: number;
  /** The approximate memory for values, in bytes. Default: 16 MiB. */
  readonly maxValueBytes?: number;
  /** A monotonic clock in milliseconds. Default: `performance.now`. */
  readonly clock?: () => number;
}

interface Guarded {
  readonly value: string;
  tries: number;
}

const BYTES: OptionRule = [
  'a positive integer (bytes)',
  (bytes) => Number.isSafeInteger(bytes) && (bytes as number) > 0,
];
const RULES = { maxCounterBytes: BYTES, maxValueBytes: BYTES, clock: FUNCTION };
const MEBIBYTE = 2 ** 20;
/** The time between two sweeps of expired entries, in milliseconds. They matter if no new entries come. */
const SWEEP_MS = 10_000;
/** The number of entries that one sweep removes before it yields. */
const SWEEP_BATCH = 5_000;

/**
 * A store in the memory of this process. It is exact for one process, and synchronous.
 *
 * Its memory is bounded. If counters (or values) exceed their share, those that expire soonest are dropped first. The
 * client of a dropped counter starts again from zero; a dropped value counts as expired. Expired entries are removed
 * when new ones come, and by a timer that does not keep the process alive.
 *
 * Throws ImproperlyConfigured for an unknown or wrong option.
 *
 * @example
 * const store = new MemoryStore({ maxCounterBytes: 256 * 2 ** 20 });
 */
export class MemoryStore implements Store {
  readonly #counters: ExpiringMap<HitLog>;
  readonly #values: ExpiringMap<Guarded>;
  readonly #clock: () => number;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MemoryStoreOptions = {}) {
    checkOptions('MemoryStore', options, RULES);
    const { maxCounterBytes = 64 * MEBIBYTE, maxValueBytes = 16 * MEBIBYTE, clock = () => performance.now() } = options;
    this.#counters = new ExpiringMap(maxCounterBytes);
    this.#values = new ExpiringMap(maxValueBytes);
    this.#clock = clock;
  }

  /** The current number of counters and values. */
  get size(): number {
    return this.#counters.size + this.#values.size;
  }

  hit(key: string, limit: number, windowMs: number): HitResult {
    return this.#count(key, limit, windowMs, true);
  }

  peek(key: string, limit: number, windowMs: number): HitResult {
    return this.#count(key, limit, windowMs, false);
  }

  undo(key: string, stamp: number): void {
    const entry = this.#counters.get(key, this.#clock());
    if (entry === undefined) return;
    entry.value.remove(stamp);
    if (entry.value.size === 0) this.#counters.delete(entry);
  }

  put(key: string, value: string, ttlMs: number, options: PutOptions = {}): boolean {
    const now = this.#clock();
    if (options.onlyIfAbsent === true && this.#values.get(key, now) !== undefined) return false;
    this.#values.set(key, { value, tries: options.tries ?? 0 }, value.length, ttlMs, now);
    this.#keepSweeping();
    return true;
  }

  read(key: string): string | undefined {
    return this.#values.get(key, this.#clock())?.value.value;
  }

  take(key: string, value: string, maxTries: number): TakeResult {
    const now = this.#clock();
    const entry = this.#values.get(key, now);
    if (entry === undefined) return { outcome: 'missing' };
    const { tries } = entry.value;
    const matched = tries < maxTries && sameText(entry.value.value, value);
    if (!matched) entry.value.tries++;
    if (matched || entry.value.tries >= maxTries) this.#values.delete(entry);
    if (tries >= maxTries) return { outcome: 'missing' };
    return matched ? { outcome: 'matched', ttlMs: entry.expiresAt - now, tries } : { outcome: 'mismatched' };
  }

  remove(key: string, value?: string): boolean {
    const entry = this.#values.get(key, this.#clock());
    if (entry === undefined || (value !== undefined && !sameText(entry.value.value, value))) return false;
    this.#values.delete(entry);
    return true;
  }

  /** Drops everything and stops the timer. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#counters.clear();
    this.#values.clear();
  }

  #count(key: string, limit: number, windowMs: number, record: boolean): HitResult {
    const now = this.#clock();
    const log = this.#counters.get(key, now)?.value ?? new HitLog();
    log.forget(now, windowMs);
    const allowed = log.size < limit;
    if (allowed && record) {
      log.record(now);
      this.#counters.set(key, log, log.bytes, windowMs, now);
      this.#keepSweeping();
    }
    // If more hits are recorded than the limit allows (it was higher before), the excess must expire first.
    const leaver = Math.max(0, log.size - limit);
    const resetMs = log.size === 0 ? 0 : windowMs - (now - log.at(leaver));
    const remaining = Math.max(0, limit - log.size);
    return { allowed, remaining, retryAfterMs: allowed ? 0 : resetMs, resetMs, stamp: now };
  }

  #keepSweeping(delayMs = SWEEP_MS): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const now = this.#clock();
      const countersLeft = this.#counters.sweep(now, SWEEP_BATCH);
      const valuesLeft = this.#values.sweep(now, SWEEP_BATCH);
      if (this.size > 0) this.#keepSweeping(countersLeft || valuesLeft ? 1 : SWEEP_MS);
    }, delayMs);
    this.#timer.unref();
  }
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
