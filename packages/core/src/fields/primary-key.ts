import { type EntityMetadata, type EntityProperty, Reference, Utils } from '@mikro-orm/core';
import { fieldPath, type FieldPath } from './field-path.ts';
import { referredKey } from './property.ts';

const keys = new WeakMap<EntityMetadata, FieldPath>();

/** The column of the primary key. */
export function primaryKey(meta: EntityMetadata): FieldPath {
  let key = keys.get(meta);
  if (key === undefined) keys.set(meta, (key = fieldPath(meta, meta.primaryKeys[0] as string, '.')));
  return key;
}

/** Returns the primary key's value of an entity. If the key is a relation, the key of the related record. */
export function keyOfEntity(entity: object, { property }: FieldPath): unknown {
  let [key, column]: [unknown, EntityProperty] = [entity[property.name as never], property];
  for (;;) {
    if (key instanceof Reference) key = key.unwrap() as unknown;
    if (!Utils.isEntity(key)) return key;
    column = referredKey(column);
    key = key[column.name as never];
  }
}

/** Writes a key's value as text. Equal values give equal texts, whatever their source. */
export function keyText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}
