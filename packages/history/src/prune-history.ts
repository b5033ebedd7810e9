import type { EntityManager } from '@mikro-orm/core';
import { HistoryEntry } from './history-entry.ts';

/**
 * Deletes the entries of the history that are older than a point in time. Call it in a job. `GET …?at=` then knows nothing of earlier times, nor of records
 * that were not written since.
 *
 * @returns the number of entries that were deleted
 * @example
 * const YEAR_MS = 365 * 86_400_000;
 * await pruneHistory(em, new Date(Date.now() - YEAR_MS));
 */
export function pruneHistory(em: EntityManager, before: Date): Promise<number> {
  return em.nativeDelete(HistoryEntry, { written_at: { $lt: before } }, { filters: false });
}
