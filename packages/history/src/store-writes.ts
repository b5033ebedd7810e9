import { getCurrentUser, type HistoryView, type HistoryWrite, type KeptValues } from '@viewset/core';
import type { EntityManager } from '@mikro-orm/core';
import { isDeepStrictEqual } from 'node:util';
import { leastEntryId, newEntryId, timeOf } from './entry-id.ts';
import { AS_STORED, HistoryEntry } from './history-entry.ts';
import { bounded, entityName, recordKey } from './record-key.ts';

/** The most entries that one statement inserts, because databases limit the values of a statement. */
const MAX_ROWS = 500;

/**
 * Stores an entry for each write. Bypasses the unit of work: after a savepoint is rolled back, no entry is left to be
 * flushed later.
 */
export async function storeWrites(view: HistoryView, writes: readonly HistoryWrite[]): Promise<void> {
  const [first] = writes;
  if (first === undefined) return;
  const { request } = first;
  const { em } = request;
  const user = getCurrentUser(request);
  const ahead = await idsAhead(em, view, writes);
  const entries = writes.map(({ kind, action, key, values, valuesBefore }) => {
    const named = recordKey(view, key);
    const id = newEntryId(ahead.get(named.record));
    return {
      id,
      ...named,
      kind,
      action: bounded(action),
      written_at: timeOf(id),
      user: user === null ? null : bounded(user.id),
      request: bounded(request.id),
      values,
      values_before: kind === 'updated' && valuesBefore !== undefined ? changed(valuesBefore, values) : null,
    };
  });
  for (let start = 0; start < entries.length; start += MAX_ROWS) {
    await em.insertMany(HistoryEntry, entries.slice(start, start + MAX_ROWS));
  }
}

/**
 * Finds the last entries of records whose ids are ahead of this process, because another process's clock is ahead. The
 * write has locked the record, so nobody can add entries until this transaction ends.
 */
async function idsAhead(
  em: EntityManager,
  view: HistoryView,
  writes: readonly HistoryWrite[],
): Promise<ReadonlyMap<string, string>> {
  const records = writes.map(({ key }) => recordKey(view, key).record);
  const where = { entity: entityName(view), record: { $in: records }, id: { $gte: leastEntryId() } };
  const found = await em.find(HistoryEntry, where, { fields: ['record'], orderBy: { id: 'asc' }, ...AS_STORED });
  return new Map(found.map(({ record, id }) => [record, id]));
}

/** Returns the earlier values that differ afterwards. */
function changed(before: KeptValues, after: KeptValues): KeptValues {
  return Object.fromEntries(Object.entries(before).filter(([name, value]) => !isDeepStrictEqual(value, after[name])));
}
