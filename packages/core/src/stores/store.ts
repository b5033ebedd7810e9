import type { Awaitable } from '../support/awaitable.ts';
import { ServiceUnavailable } from '../errors/errors.ts';

/** The state of a counter after a `hit` or `peek`. */
export interface HitResult {
  /** True: the hit was recorded (`hit`), or would be (`peek`). */
  readonly allowed: boolean;
  /** The number of hits that are still allowed; 0 if the hit was refused. */
  readonly remaining: number;
  /** Milliseconds until a hit is allowed again; 0 if one is allowed now. After that time a hit succeeds, unless others come first. */
  readonly retryAfterMs: number;
  /**
   * Milliseconds until the next unit of the quota comes back; 0 if none is used. Equal to `retryAfterMs` if the hit was refused. In a
   * sliding window, units come back one by one, so the whole quota takes longer.
   */
  readonly resetMs: number;
  /** Identifies the recorded hit, for `undo`. */
  readonly stamp: number;
}

/** The options of `put`. */
export interface PutOptions {
  /** True: do nothing if the key already has a value. Default: false, replace it. */
  readonly onlyIfAbsent?: boolean;
  /** The number of wrong tries that the value has already had. Default: 0. */
  readonly tries?: number;
}

/** The result of an attempt to take a value. */
export type TakeResult =
  /** The value was right and is removed. It would have expired after `ttlMs`, and had `tries` wrong tries. */
  | { readonly outcome: 'matched'; readonly ttlMs: number; readonly tries: number }
  /** The value was wrong. The try is counted, and the last one removes the value. */
  | { readonly outcome: 'mismatched' }
  /** There is no value: it was never stored, has expired, was taken or removed, or had too many wrong tries. */
  | { readonly outcome: 'missing' };

/**
 * Keeps counters and values that expire, for all processes that share the store. Every operation is atomic: concurrent calls, in one
 * process or many, have the same result as calls one at a time, in some order. Counters and values have separate name spaces.
 *
 * If a store cannot answer, it throws (or rejects with) `StoreUnavailable` within a bounded time.
 *
 * @example
 * const { allowed } = await store.hit(`sms:${number}`, 5, 600_000);   // five in any ten minutes
 * await store.put(`code:${number}`, digest, 600_000);
 * const { outcome } = await store.take(`code:${number}`, digest, 5);   // 'matched' for exactly one caller
 */
export interface Store {
  /**
   * Counts one hit, unless `limit` hits were counted in the last `windowMs` milliseconds. So no span of `windowMs` has more than `limit`
   * allowed hits. A refused hit is not recorded and does not prolong the wait.
   */
  hit(key: string, limit: number, windowMs: number): Awaitable<HitResult>;
  /** Returns the result that `hit` would have, without counting. */
  peek(key: string, limit: number, windowMs: number): Awaitable<HitResult>;
  /** Removes one recorded hit, as if it had never happened. */
  undo(key: string, stamp: number): Awaitable<void>;

  /** Stores a value for `ttlMs` milliseconds, with `tries` wrong tries. Returns false if `onlyIfAbsent` prevented it. */
  put(key: string, value: string, ttlMs: number, options?: PutOptions): Awaitable<boolean>;
  /** Returns a value without removing it; undefined if there is none. It does not count as a try. */
  read(key: string): Awaitable<string | undefined>;
  /** Compares a value, and removes it if it is equal. Of several concurrent calls, exactly one is `matched`. */
  take(key: string, value: string, maxTries: number): Awaitable<TakeResult>;
  /** Removes a value; with `value`, only if it is equal. Returns true if something was removed. */
  remove(key: string, value?: string): Awaitable<boolean>;
}

/** 503: a store is down, rejects commands or does not answer in time. `cause` is the driver's error. */
export class StoreUnavailable extends ServiceUnavailable {
  constructor(cause: unknown) {
    super(undefined, { cause });
  }
}
