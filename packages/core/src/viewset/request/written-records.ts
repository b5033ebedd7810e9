import type { EntityMetadata } from '@mikro-orm/core';
import { isRecord } from '../../json.ts';
import type { BoundField } from '../../shapes/write/bound-input.ts';

/** A record that a body writes. */
export interface WrittenRecord {
  readonly meta: EntityMetadata;
  /** The JSON pointer to the record in the body. */
  readonly path: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** The fields of the body. */
  readonly fields: readonly BoundField[];
  /** The field and the value that identify the changed record; undefined for a new one. */
  readonly stored: { readonly field: string; readonly value: unknown } | undefined;
}

/** Lists the record that a body writes, and its children at every level. */
export function writtenRecords(
  meta: EntityMetadata,
  fields: readonly BoundField[],
  body: unknown,
  path: string,
  stored: WrittenRecord['stored'],
): WrittenRecord[] {
  if (!isRecord(body)) return [];
  const children = fields.flatMap(({ name, path: place, children: each }) => {
    const items: unknown = each === undefined ? undefined : body[name];
    if (each === undefined || !Array.isArray(items)) return [];
    return (items as unknown[]).flatMap((item, index) => {
      const value = stored !== undefined && isRecord(item) ? item[each.key] : undefined;
      const child = value === undefined ? undefined : { field: each.key, value };
      return writtenRecords(each.target, each.shape.fields, item, `${path}${place}/${index}`, child);
    });
  });
  return [{ meta, path, values: body, fields, stored }, ...children];
}
