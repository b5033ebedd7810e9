import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { onlyPrimaryKey, referredKey } from '../../fields/property.ts';
import { isRecord } from '../../support/json.ts';
import type { BoundChildren, BoundField } from '../../shapes/write/bound-input.ts';
import { nestedObjects } from '../../shapes/write/stored-children.ts';

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
  /** The property that refers to the parent in the body. Undefined for the record itself. */
  readonly owner?: string | undefined;
}

/** Lists the record that a body writes, and its nested records at every level. */
export function writtenRecords(record: WrittenRecord): WrittenRecord[] {
  const { fields, values, input, path, stored } = record;
  // A new parent has no key yet. A symbol equals only itself.
  const parent = stored === undefined ? Symbol(`new ${record.meta.className}`) : undefined;
  const children = fields.flatMap((field) => {
    const { name, children: each } = field;
    if (each === undefined) return [];
    const resolved = [input[name]].flat();
    const { owner, target } = each;
    const tie = owner === undefined ? {} : { [owner]: parent ?? ownerOf(target, owner, stored) };
    return nestedObjects(field, values, undefined).flatMap(({ item, path: place }, index) => {
      const data = isRecord(resolved[index]) ? resolved[index] : item;
      const known = { ...data, ...tie };
      return writtenRecords({
        meta: target,
        path: path + place,
        values: item,
        input: known,
        fields: each.shape.fields,
        stored: stored === undefined ? undefined : storedChild(each, known),
        owner,
      });
    });
  });
  return [record, ...children];
}

/** Returns the key of the stored record that a nested object changes. Undefined if the object is a new record. */
function storedChild({ target, key, owner }: BoundChildren, input: Values): WrittenRecord['stored'] {
  // A record whose key is the relation to its parent has the key of the parent.
  const field = key ?? (onlyPrimaryKey(target)?.name === owner ? owner : undefined);
  const value = field === undefined ? undefined : input[field];
  return value === undefined ? undefined : { field: field!, value };
}

/** Returns the value by which children refer to a stored parent. Undefined if it is not known. */
function ownerOf({ properties }: EntityMetadata, owner: string, stored: WrittenRecord['stored']): unknown {
  const relation = properties[owner as never] as EntityProperty;
  return stored !== undefined && referredKey(relation).name === stored.field ? stored.value : undefined;
}
