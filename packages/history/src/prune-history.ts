import type { EntityManager } from '@mikro-orm/core';
import { HistoryEntry } from './history-entry.ts';

/**
 * Deletes history entries that are older than a point in time. Call it from a job. Afterwards `GET …?at=` does not know
 * earlier times, nor records that were not written since. Throws a TypeError if `before` is not a valid `Date`.
 *
 * @returns the number of deleted entries
 * @example
 * const YEAR_MS = 365 * 86_400_000;
 * await pruneHistory(em, new Date(Date.now() - YEAR_MS));
 */
export async function pruneHistory(em: EntityManager, before: Date): Promise<number> {
  // Databases compare strings and numbers with times in unexpected ways, which could delete too much.
  if (!(before instanceof Date) || Number.isNaN(before.getTime())) {
    throw new TypeError(`pruneHistory(): "before" must be a valid Date, got ${String(before)}`);
  }
  return em.nativeDelete(HistoryEntry, { written_at: { $lt: before } }, { filters: false });
}
