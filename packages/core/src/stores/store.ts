import type { Awaitable } from '../awaitable.ts';

/** How a counter stands after a hit, or after a look at it. */
export interface HitResult {
  /** True: the hit was recorded (`hit`), or would be (`peek`). */
  readonly allowed: boolean;
  /** How many more hits fit in now; 0 where the hit was refused. */
  readonly remaining: number;
  /** Milliseconds until a hit is allowed again; 0 where one is allowed now. Waiting this long succeeds, unless others come first. */
  readonly retryAfterMs: number;
  /**
   * Milliseconds until the next unit of the quota comes back; 0 where none is used. Equal to `retryAfterMs` where the
   * hit was refused. It is not when the whole quota is back: with a sliding window units return one by one.
   */
  readonly resetMs: number;
  /** Names the recorded hit, for `undo`. */
  readonly stamp: number;
}

/** How a value is put into a store. */
export interface PutOptions {
  /** Store nothing where the key has a value already. Default: false, replace it. */
  readonly onlyIfAbsent?: boolean;
  /** Wrong tries that the value has seen already. Default: 0. */
  readonly tries?: number;
}

/** What became of an attempt to take a value. */
export type TakeResult =
  /** It was the value: it is gone now, and was due to expire after `ttlMs`, with `tries` wrong tries behind it. */
  | { readonly outcome: 'matched'; readonly ttlMs: number; readonly tries: number }
  /** It was not the value: the try is counted, and at the last one the value is gone. */
  | { readonly outcome: 'mismatched' }
  /** There is no value: never stored, expired, taken, removed or voided by wrong tries. */
  | { readonly outcome: 'missing' };

/**
 * Things that count and things that expire, shared by every process that shares the store. Every operation is atomic:
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
  /** What `hit` would answer, without counting. */
  peek(key: string, limit: number, windowMs: number): Awaitable<HitResult>;
  /** Takes back one recorded hit, as if it had never been. */
  undo(key: string, stamp: number): Awaitable<void>;

  /** Keeps a value for `ttlMs` milliseconds, with its tries at `tries`. False where `onlyIfAbsent` kept it out. */
  put(key: string, value: string, ttlMs: number, options?: PutOptions): Awaitable<boolean>;
  /** Compares, and takes the value out where it is equal. Of many equal calls at once exactly one is `matched`. */
  take(key: string, value: string, maxTries: number): Awaitable<TakeResult>;
  /** Removes a value (where `value` is given: only if it is that one). True where something was removed. */
  remove(key: string, value?: string): Awaitable<boolean>;
}
