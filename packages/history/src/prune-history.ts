import type { EntityManager } from '@mikro-orm/core';
import { HistoryEntry } from './history-entry.ts';

/**
 * Deletes the entries of the history that are older than a point in time. Call it in a job. `GET …?at=` then knows nothing of earlier times, nor of records
 * that were not written since. Throws a TypeError if `before` is no valid `Date`.
 *
 * @returns the number of entries that were deleted
 * @example
 * const YEAR_MS = 365 * 86_400_000;
 * await pruneHistory(em, new Date(Date.now() - YEAR_MS));
 */
export async function pruneHistory(em: EntityManager, before: Date): Promise<number> {
  // A database compares a text or a number with times in a way of its own, and would delete entries that are to stay.
  if (!(before instanceof Date) || Number.isNaN(before.getTime())) {
    throw new TypeError(`pruneHistory(): "before" must be a valid Date, but ${String(before)} came`);
  }
  return em.nativeDelete(HistoryEntry, { written_at: { $lt: before } }, { filters: false });
}
