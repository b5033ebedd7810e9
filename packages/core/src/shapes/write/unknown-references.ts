import type { EntityManager } from '@mikro-orm/core';
import { fieldPath } from '../../fields/field-path.ts';
import { keyText } from '../../fields/primary-key.ts';
import { compare } from '../../query/language/compare.ts';
import { orderValues } from '../../query/language/projection.ts';
import { backendOf } from '../../query/backend-of.ts';
import { violationOf } from '../../query/known-errors.ts';
import { QuerySet } from '../../query/queryset.ts';
import type { Reference } from './bound-input.ts';

/**
 * Creates records from one unique field each, in the transaction of an entity manager. Existing records stay unchanged,
 * including records that filters hide. If another transaction is creating the same record, this waits for it, and then
 * uses that record. On a database without savepoints the transaction fails instead, and `inTransaction` repeats it.
 */
export async function createUnknown(
  em: EntityManager,
  reference: Reference,
  values: readonly unknown[],
): Promise<void> {
  const unknown = await unstored(em, reference, values);
  if (unknown.length === 0) return;
  if (!backendOf(em).hasSavepoints) return create(em.fork({ keepTransactionContext: true }), reference, unknown);
  if (await createOrIgnore(em, reference, unknown)) return;
  for (const value of unknown) await createOrIgnore(em, reference, [value]);
}

/** Lists each value that no record has. The order is the same in every request, so that requests cannot deadlock. */
async function unstored(em: EntityManager, { target, key }: Reference, values: readonly unknown[]): Promise<unknown[]> {
  const path = fieldPath(target, key, '.');
  const rows = await QuerySet.of(em, target.class)
    .unfiltered()
    .where(compare(path, 'in', values))
    .rows(orderValues([{ path, descending: false }]));
  const unknown = new Map(values.map((value) => [keyText(value), value]));
  for (const [stored] of rows) unknown.delete(keyText(stored));
  return [...unknown].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, value]) => value);
}

/** Creates all records. If one of them exists by now, creates none and returns false. */
async function createOrIgnore(em: EntityManager, reference: Reference, values: readonly unknown[]): Promise<boolean> {
  try {
    await em.fork({ keepTransactionContext: true }).transactional((part) => create(part, reference, values));
    return true;
  } catch (error) {
    if (violationOf(error)?.kind !== 'unique') throw error;
    return false;
  }
}

async function create(em: EntityManager, { target, key }: Reference, values: readonly unknown[]): Promise<void> {
  for (const value of values) em.create(target.class, { [key]: value } as never, { persist: true });
  await em.flush();
}
