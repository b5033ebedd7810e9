import { getCurrentUser, type HistoryView, type KeptValues, type RecordWrite } from '@viewset/core';
import type { EntityManager } from '@mikro-orm/core';
import { isDeepStrictEqual } from 'node:util';
import { leastEntryId, newEntryId, timeOf } from './entry-id.ts';
import { AS_STORED, HistoryEntry } from './history-entry.ts';
import { bounded, entityName, recordKey } from './record-key.ts';

/** So many entries are inserted by one statement, whose values a database counts. */
const MAX_ROWS = 500;

/** Stores an entry of each write. It passes the unit of work by: a savepoint that is rolled back leaves none to be written later. */
export async function storeWrites(view: HistoryView, writes: readonly RecordWrite[]): Promise<void> {
  const [first] = writes;
  if (first === undefined) return;
  const { request } = first;
  const { em } = request;
  const user = getCurrentUser(request);
  const ahead = await idsAhead(em, view, writes);
  const entries = writes.map(({ kind, key, record, recordBefore }) => {
    const named = recordKey(view, key);
    const id = newEntryId(ahead.get(named.record));
    const values = valuesOf(view, record);
    const before = kind === 'updated' && recordBefore !== undefined ? valuesOf(view, recordBefore) : undefined;
    return {
      id,
      ...named,
      kind,
      written_at: timeOf(id),
      user: user === null ? null : bounded(user.id),
      request: bounded(request.id),
      values,
      values_before: before === undefined ? null : changed(before, values),
    };
  });
  for (let start = 0; start < entries.length; start += MAX_ROWS) {
    await em.insertMany(HistoryEntry, entries.slice(start, start + MAX_ROWS));
  }
}

/**
 * Finds the last entries of records that are not before those that this process makes next: the clock of another process is ahead. A record is
 * locked by its write, so nobody adds to its entries until this transaction ends.
 */
async function idsAhead(
  em: EntityManager,
  view: HistoryView,
  writes: readonly RecordWrite[],
): Promise<ReadonlyMap<string, string>> {
  const records = writes.map(({ key }) => recordKey(view, key).record);
  const where = { entity: entityName(view), record: { $in: records }, id: { $gte: leastEntryId() } };
  const found = await em.find(HistoryEntry, where, { fields: ['record'], orderBy: { id: 'asc' }, ...AS_STORED });
  return new Map(found.map(({ record, id }) => [record, id]));
}

/** The values that are kept of a record, by properties and in JSON. */
function valuesOf({ kept }: HistoryView, record: object): KeptValues {
  const values = kept.map(({ name, property }) => [property, record[name as never] ?? null] as const);
  const text = JSON.stringify(Object.fromEntries(values), (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  return JSON.parse(text) as KeptValues;
}

/** Returns those of the values before that are not the same after. */
function changed(before: KeptValues, after: KeptValues): KeptValues {
  return Object.fromEntries(Object.entries(before).filter(([name, value]) => !isDeepStrictEqual(value, after[name])));
}
