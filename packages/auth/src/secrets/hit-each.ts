import type { Store } from '@viewset/core';

/** A hit that was counted under several keys of a store, with everything to undo it. */
export interface EachHit {
  readonly allowed: boolean;
  readonly retryAfterMs: number;
  /** One for each key; empty if the hit was refused. */
  readonly stamps: readonly number[];
}

/**
 * Counts a hit under each of several keys of a store. It is allowed if all of them allow it, and otherwise counted under
 * none. With one key for each secret of a ring, processes that have a secret in common count together, so no count starts
 * again while a secret is replaced.
 */
export async function hitEach(
  store: Store,
  keys: readonly string[],
  limit: number,
  windowMs: number,
): Promise<EachHit> {
  const stamps: number[] = [];
  for (const key of keys) {
    const { allowed, stamp, retryAfterMs } = await store.hit(key, limit, windowMs);
    // Only true allows the request, because a store may be the application's own.
    if ((allowed as unknown) !== true) {
      await undoEach(store, keys, stamps);
      return { allowed: false, retryAfterMs, stamps: [] };
    }
    stamps.push(stamp);
  }
  return { allowed: true, retryAfterMs: 0, stamps };
}

/** Removes a hit from the counts. */
export async function undoEach(store: Store, keys: readonly string[], stamps: readonly number[]): Promise<void> {
  for (const [index, stamp] of stamps.entries()) await store.undo(keys[index]!, stamp);
}
