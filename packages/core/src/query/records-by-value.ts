import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import type { FieldPath } from '../fields/field-path.ts';
import { keyText } from '../fields/primary-key.ts';
import { QuerySet } from './queryset.ts';

/**
 * Makes a function that maps a value to its record, after records were looked up by values of a unique column. If no
 * record has exactly this value, the database decides which value it equals.
 */
export async function recordsByValue<Entity extends object>(
  em: EntityManager,
  meta: EntityMetadata,
  column: FieldPath,
  values: readonly unknown[],
  records: readonly Entity[],
): Promise<(value: unknown) => Entity | undefined> {
  const name = column.property.name as keyof Entity;
  const byText = new Map(records.map((record) => [keyText(record[name]), record]));
  const others = values.filter((value) => !byText.has(keyText(value)));
  const stored =
    records.length === 0 || others.length === 0
      ? new Map<unknown, unknown>()
      : await QuerySet.of(em, meta.class).unfiltered().storedValues(column, others);
  return (value) => byText.get(keyText(stored.get(value) ?? value));
}
