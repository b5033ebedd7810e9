import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { fieldPath } from '../fields/field-path.ts';
import type { FieldType } from '../fields/field-type.ts';
import { isArrayProperty, isCustomType } from './declared-type.ts';

/** One column as a shape sees it: what its value may be, and what is known of it. */
export interface ShapeField {
  /** The path to it, `role.name`. */
  readonly name: string;
  readonly property: EntityProperty;
  /** Of a to-one relation, the type of its target's primary key. */
  readonly type: FieldType;
  /** Holds a list of values. */
  readonly list: boolean;
  /** Of a type that the application wrote: nothing is known of its values. */
  readonly custom: boolean;
  /** True where the column, or any relation on the way, may be NULL. */
  readonly nullable: boolean;
  /** The target of a to-one relation. */
  readonly target: EntityMetadata | undefined;
}

/**
 * The column that a path leads to, of an entity whose metadata the ORM has discovered.
 *
 * @throws ImproperlyConfigured for an unknown name, naming the nearest
 */
export function boundField(meta: EntityMetadata, path: string): ShapeField {
  const { property, type, nullable } = fieldPath(meta, path, '.');
  const list = isArrayProperty(property);
  return { name: path, property, type, list, custom: isCustomType(property), nullable, target: property.targetMeta };
}
