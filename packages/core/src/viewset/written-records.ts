import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { fieldPath } from '../fields/field-path.ts';
import { FieldValueError } from '../fields/field-value.ts';
import { isRecord } from '../json.ts';
import { compare } from '../language/compare.ts';
import { primaryKey } from '../language/order.ts';
import { orderValues } from '../language/projection.ts';
import { QuerySet } from '../query/queryset.ts';
import type { BoundField } from '../shapes/bound-input.ts';
import { keyText } from '../shapes/references.ts';

/** A record that a body writes. */
export interface WrittenRecord {
  readonly meta: EntityMetadata;
  /** The JSON pointer to the record in the body. */
  readonly path: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Lists the record that a body writes, and its children of every level. */
export function writtenRecords(
  meta: EntityMetadata,
  fields: readonly BoundField[],
  body: unknown,
  path = '',
): WrittenRecord[] {
  if (!isRecord(body)) return [];
  const children = fields.flatMap(({ name, children: each }) => {
    const items = each === undefined ? undefined : body[name];
    if (each === undefined || !Array.isArray(items)) return [];
    return items.flatMap((item, index) =>
      writtenRecords(each.target, each.shape.fields, item, `${path}/${name}/${index}`),
    );
  });
  return [{ meta, path, values: body }, ...children];
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
  const paths = names.map((name) => fieldPath(meta, name, '.'));
  const pk = primaryKey(meta);
  const [first] = names as readonly [string];
  const stored = new Map<string, string>();
  try {
    const rows = await QuerySet.of(em, meta.class)
      .where(
        compare(
          paths[0]!,
          'in',
          records.map(({ values }) => values[first]),
        ),
      )
      .rows(orderValues([pk, ...paths].map((path) => ({ path, descending: false }))));
    for (const [key, ...values] of rows) stored.set(textOf(values), keyText(key));
  } catch (error) {
    // A reference by another field than the key has a value of another type here.
    if (error instanceof FieldValueError) return [];
    throw error;
  }
  const seen = new Set<string>();
  return records.filter(({ values }) => {
    const text = textOf(names.map((name) => values[name]));
    const holder = stored.get(text);
    // A record that is changed keeps its key, so a key that is taken is that of a new one.
    const isOwn = !names.includes(pk.property.name) && holder === keyText(values[pk.property.name]);
    const isTaken = seen.has(text) || (holder !== undefined && !isOwn);
    seen.add(text);
    return isTaken;
  });
}

/** Writes values that are unique together as one text. */
function textOf(values: readonly unknown[]): string {
  return JSON.stringify(values.map(keyText));
}
