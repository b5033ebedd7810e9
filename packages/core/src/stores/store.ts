import type { Awaitable } from '../awaitable.ts';
import { ServiceUnavailable } from '../errors.ts';

/** The state of a counter after a hit, or after a look at it. */
export interface HitResult {
  /** True: the hit was recorded (`hit`), or would be (`peek`). */
  readonly allowed: boolean;
  /** The number of hits that still fit in; 0 if the hit was refused. */
  readonly remaining: number;
  /** Milliseconds until a hit is allowed again; 0 if one is allowed now. Waiting this long succeeds, unless others come first. */
  readonly retryAfterMs: number;
  /**
   * Milliseconds until the next unit of the quota comes back; 0 if none is used. Equal to `retryAfterMs` if the
   * hit was refused. It is not when the whole quota is back: with a sliding window units return one by one.
   */
  readonly resetMs: number;
  /** Names the recorded hit, for `undo`. */
  readonly stamp: number;
}

/** The options of putting a value into a store. */
export interface PutOptions {
  /** True: store nothing if the key has a value already. Default: false, replace it. */
  readonly onlyIfAbsent?: boolean;
  /** Wrong tries that the value has seen already. Default: 0. */
  readonly tries?: number;
}

/** The outcome of an attempt to take a value. */
export type TakeResult =
  /** The value was right: it is gone now, and was due to expire after `ttlMs`, with `tries` wrong tries behind it. */
  | { readonly outcome: 'matched'; readonly ttlMs: number; readonly tries: number }
  /** The value was wrong: the try is counted, and at the last one the value is gone. */
  | { readonly outcome: 'mismatched' }
  /** There is no value: never stored, expired, taken, removed or voided by wrong tries. */
  | { readonly outcome: 'missing' };

/**
 * Keeps things that count and things that expire, shared by every process that shares the store. Every operation is atomic:
 * of any number of calls at once, on one process or many, the outcome is that of some order of them, one at a time.
 * Counters and values live in separate name spaces.
 *
 * A store that cannot answer throws (or rejects with) `StoreUnavailable`, and does so within a bounded time.
 *
 * @example
 * const { allowed } = await store.hit(`sms:${number}`, 5, 600_000);   // five in any ten minutes
 * await store.put(`code:${number}`, digest, 600_000);
 * const { outcome } = await store.take(`code:${number}`, digest, 5);   // 'matched' for exactly one caller
 */
export interface Store {
  /**
   * Counts one hit, unless `limit` hits were counted in the last `windowMs` milliseconds. No span of `windowMs`, wherever
   * it begins, ever holds more than `limit` allowed hits; a refused hit is not recorded and so never prolongs the wait.
   */
  hit(key: string, limit: number, windowMs: number): Awaitable<HitResult>;
  /** Returns what `hit` would answer, without counting. */
  peek(key: string, limit: number, windowMs: number): Awaitable<HitResult>;
  /** Takes back one recorded hit, as if it had never been. */
  undo(key: string, stamp: number): Awaitable<void>;

  /** Keeps a value for `ttlMs` milliseconds, with its tries at `tries`. Returns false if `onlyIfAbsent` kept it out. */
  put(key: string, value: string, ttlMs: number, options?: PutOptions): Awaitable<boolean>;
  /** Returns a value and leaves it there; undefined if there is none. It counts no try. */
  read(key: string): Awaitable<string | undefined>;
  /** Compares, and takes the value out if it is equal. Of many equal calls at once exactly one is `matched`. */
  take(key: string, value: string, maxTries: number): Awaitable<TakeResult>;
  /** Removes a value (if `value` is given: only that one). Returns true if something was removed. */
  remove(key: string, value?: string): Awaitable<boolean>;
}

/** 503: a store is down, refuses to work or does not answer in time. `cause` has the driver's error. */
export class StoreUnavailable extends ServiceUnavailable {
  constructor(cause: unknown) {
    super(undefined, { cause });
  }
}
