import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { fieldPath } from '../fields/field-path.ts';
import { FieldValueError } from '../fields/field-value-error.ts';
import { isRecord } from '../json.ts';
import { compare } from '../language/compare.ts';
import { orderValues } from '../language/projection.ts';
import { QuerySet } from '../query/queryset.ts';
import type { BoundField } from '../shapes/bound-input.ts';
import { keyText } from '../fields/primary-key.ts';

/** A record that a body writes. */
export interface WrittenRecord {
  readonly meta: EntityMetadata;
  /** The JSON pointer to the record in the body. */
  readonly path: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** The field and the value that name the record that is changed; undefined for a new one. */
  readonly stored: { readonly field: string; readonly value: unknown } | undefined;
}

/** Lists the record that a body writes, and its children of every level. */
export function writtenRecords(
  meta: EntityMetadata,
  fields: readonly BoundField[],
  body: unknown,
  path: string,
  stored: WrittenRecord['stored'],
): WrittenRecord[] {
  if (!isRecord(body)) return [];
  const children = fields.flatMap(({ name, children: each }) => {
    const items: unknown = each === undefined ? undefined : body[name];
    if (each === undefined || !Array.isArray(items)) return [];
    return (items as unknown[]).flatMap((item, index) => {
      const value = stored !== undefined && isRecord(item) ? item[each.key] : undefined;
      const child = value === undefined ? undefined : { field: each.key, value };
      return writtenRecords(each.target, each.shape.fields, item, `${path}/${name}/${index}`, child);
    });
  });
  return [{ meta, path, values: body, stored }, ...children];
}

/**
 * Finds out which of several records of one entity have unique values that are taken: by a record that is stored, or by one that
 * stands before them. It asks the database, by one query, so that it is for errors alone.
 *
 * @param names the fields that are unique together
 */
export async function takenRecords(
  em: EntityManager,
  records: readonly WrittenRecord[],
  names: readonly string[],
): Promise<WrittenRecord[]> {
  const { meta } = records[0]!;
  const keys = [...new Set(records.flatMap(({ stored }) => stored?.field ?? []))];
  const paths = [...keys, ...names].map((name) => fieldPath(meta, name, '.'));
  const [first] = names as readonly [string];
  const holders = new Map<string, Map<string, string>>();
  try {
    const values = records.map((record) => record.values[first]);
    // A record that a filter hides has its values all the same.
    const rows = await QuerySet.of(em, meta.class)
      .withFilters(false)
      .where(compare(paths[keys.length]!, 'in', values))
      .rows(orderValues(paths.map((path) => ({ path, descending: false }))));
    for (const row of rows) {
      const named = keys.map((key, index) => [key, keyText(row[index])] as const);
      holders.set(textOf(row.slice(keys.length)), new Map(named));
    }
  } catch (error) {
    // A reference by another field than the key has a value of another type here.
    if (error instanceof FieldValueError) return [];
    throw error;
  }
  const seen = new Set<string>();
  return records.filter(({ values, stored }) => {
    const text = textOf(names.map((name) => values[name]));
    const holder = holders.get(text);
    const isOwn = stored !== undefined && holder?.get(stored.field) === keyText(stored.value);
    const isTaken = seen.has(text) || (holder !== undefined && !isOwn);
    seen.add(text);
    return isTaken;
  });
}

/** Writes values that are unique together as one text. */
function textOf(values: readonly unknown[]): string {
  return JSON.stringify(values.map(keyText));
}
