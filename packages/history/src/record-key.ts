import type { EntityManager, FilterQuery } from '@mikro-orm/core';
import type { HistoryView } from '@viewset/core';
import { createHash } from 'node:crypto';
import { AS_STORED, HistoryEntry } from './history-entry.ts';

const MAX_LENGTH = 255;

/**
 * Returns the entity name for a view's records. Entities that share a table also share their keys, so all use the
 * root's name.
 */
export function entityName({ meta }: HistoryView): string {
  return meta.root.className;
}

/** The columns that identify a record. */
export function recordKey(view: HistoryView, key: unknown): { readonly entity: string; readonly record: string } {
  return { entity: entityName(view), record: bounded(key) };
}

/**
 * Returns the condition for the entries of the record that exists now. A deleted record may have had the same key, and
 * its values must stay hidden from users of the new record.
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
 * Fits a value into the column. A long one becomes its beginning and its hash. That text fills the column, which a
 * short text never does, so nobody can choose a key that equals another record's.
 */
export function bounded(value: unknown): string {
  const text = String(value).toWellFormed();
  if (text.length < MAX_LENGTH) return text;
  const hash = createHash('sha256').update(text).digest('hex');
  return text.slice(0, MAX_LENGTH - hash.length).toWellFormed() + hash;
}
