import type { EntityManager, FilterQuery } from '@mikro-orm/core';
import type { HistoryView } from '@viewset/core';
import { createHash } from 'node:crypto';
import { AS_STORED, HistoryEntry } from './history-entry.ts';

const MAX_LENGTH = 255;

/** The name of the entity of a view's records. Entities in one table have their keys in common. */
export function entityName({ meta }: HistoryView): string {
  return meta.root.className;
}

/** The columns that name a record. */
export function recordKey(view: HistoryView, key: unknown): { readonly entity: string; readonly record: string } {
  return { entity: entityName(view), record: bounded(key) };
}

/**
 * Finds the condition of the entries of a record, as long as it exists: a key may have belonged to another record, which was deleted, and whose
 * values are not for those who see the new one.
 */
export async function entriesOf(
  em: EntityManager,
  view: HistoryView,
  key: unknown,
): Promise<FilterQuery<HistoryEntry> & object> {
  const record = recordKey(view, key);
  const beginnings = view.keepsDeleted ? (['created'] as const) : (['created', 'deleted'] as const);
  const where = { ...record, kind: { $in: [...beginnings] } };
  const options = { fields: ['kind'], orderBy: { id: 'desc' }, ...AS_STORED } as const;
  const beginning = await em.findOne(HistoryEntry, where, options);
  if (beginning === null) return record;
  const { id, kind } = beginning;
  return { $and: [record, { id: kind === 'created' ? { $gte: id } : { $gt: id } }] };
}

/**
 * A value as a text that the column can hold: a long one as its beginning and its hash. These fill the column and no short text does, so nobody
 * can choose a key that is that of another record.
 */
export function bounded(value: unknown): string {
  const text = String(value).toWellFormed();
  if (text.length < MAX_LENGTH) return text;
  const hash = createHash('sha256').update(text).digest('hex');
  return text.slice(0, MAX_LENGTH - hash.length).toWellFormed() + hash;
}
