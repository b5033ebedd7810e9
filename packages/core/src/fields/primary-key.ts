import type { EntityMetadata } from '@mikro-orm/core';
import { fieldPath, type FieldPath } from './field-path.ts';

const keys = new WeakMap<EntityMetadata, FieldPath>();

/** The column of the primary key. */
export function primaryKey(meta: EntityMetadata): FieldPath {
  let key = keys.get(meta);
  if (key === undefined) keys.set(meta, (key = fieldPath(meta, meta.primaryKeys[0] as string, '.')));
  return key;
}

/** Writes a value of a key, so that the same value is the same text, however it came. */
export function keyText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}
