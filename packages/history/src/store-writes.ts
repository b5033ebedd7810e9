import { getCurrentUser, type HistoryView, type KeptValues, type RecordWrite } from '@viewset/core';
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { newEntryId } from './entry-id.ts';
import { HistoryEntry } from './history-entry.ts';

const MAX_LENGTH = 255;

/** Stores an entry of each write by one statement, which passes the unit of work by: a savepoint that is rolled back leaves none. */
export async function storeWrites(view: HistoryView, writes: readonly RecordWrite[]): Promise<void> {
  const [first] = writes;
  if (first === undefined) return;
  const { request } = first;
  const user = getCurrentUser(request);
  const written_at = new Date();
  const entries = writes.map(({ kind, key, record, recordBefore }) => {
    const values = valuesOf(view, record);
    return {
      id: newEntryId(),
      ...recordKey(view, key),
      kind,
      written_at,
      user: user === null ? null : bounded(String(user.id)),
      request: bounded(request.id),
      values,
      values_before:
        kind === 'updated' && recordBefore !== undefined ? changed(valuesOf(view, recordBefore), values) : null,
    };
  });
  await request.em.insertMany(HistoryEntry, entries);
}

/** The columns that name a record. Entities in one table have their keys in common. */
export function recordKey({ meta }: HistoryView, key: unknown): { readonly entity: string; readonly record: string } {
  return { entity: meta.root.className, record: bounded(String(key)) };
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

/** A text that the column can hold: a long one as its hash, which is as good to tell it from others. */
function bounded(text: string): string {
  return text.length <= MAX_LENGTH ? text : createHash('sha256').update(text).digest('hex');
}
