import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { referredKey } from '../../fields/property.ts';
import { isRecord } from '../../json.ts';
import type { BoundField } from '../../shapes/write/bound-input.ts';

type Values = Readonly<Record<string, unknown>>;

/** A record that a body writes. */
export interface WrittenRecord {
  readonly meta: EntityMetadata;
  /** The JSON pointer to the record in the body. */
  readonly path: string;
  /** The values of the body. */
  readonly values: Values;
  /** The values of the body, together with those that the path, the view and the parent set. */
  readonly input: Values;
  /** The fields of the body. */
  readonly fields: readonly BoundField[];
  /** The field and the value that identify the changed record; undefined for a new one. */
  readonly stored: { readonly field: string; readonly value: unknown } | undefined;
}

/** Lists the record that a body writes, and its children at every level. */
export function writtenRecords(record: WrittenRecord): WrittenRecord[] {
  const { fields, values, input, path, stored } = record;
  // A new parent has no key yet. A symbol equals only itself.
  const parent = stored === undefined ? Symbol(`new ${record.meta.className}`) : undefined;
  const children = fields.flatMap(({ name, path: place, children: each }) => {
    const items = values[name];
    if (each === undefined || !Array.isArray(items)) return [];
    const resolved = Array.isArray(input[name]) ? (input[name] as unknown[]) : [];
    const owner = ownerOf(each.target, each.owner, stored);
    return (items as unknown[]).flatMap((item, index) => {
      if (!isRecord(item)) return [];
      const value = stored === undefined ? undefined : item[each.key];
      const data = isRecord(resolved[index]) ? resolved[index] : item;
      return writtenRecords({
        meta: each.target,
        path: `${path}${place}/${index}`,
        values: item,
        input: { ...data, [each.owner]: parent ?? owner },
        fields: each.shape.fields,
        stored: value === undefined ? undefined : { field: each.key, value },
      });
    });
  });
  return [record, ...children];
}

/** Returns the value by which children refer to a stored parent. Undefined if it is not known. */
function ownerOf({ properties }: EntityMetadata, owner: string, stored: WrittenRecord['stored']): unknown {
  const relation = properties[owner as never] as EntityProperty;
  return stored !== undefined && referredKey(relation).name === stored.field ? stored.value : undefined;
}
