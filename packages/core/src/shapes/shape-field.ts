import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { findPlace, resolvePath } from '../fields/field-path.ts';
import type { FieldType } from '../fields/field-kind.ts';
import { customTypeOf, elementType, isList } from '../fields/field-type.ts';
import { isInlineEmbeddable, isToMany, isToOne, targetOf } from '../fields/property.ts';

/** One column as a shape sees it: its possible values and its metadata. */
export interface ShapeField {
  /** The path to the column, `role.name`. */
  readonly name: string;
  readonly property: EntityProperty;
  /** The type of the column; for a to-one relation, the type of the key that it refers to. */
  readonly type: FieldType;
  /** True if the column holds a list of values. */
  readonly list: boolean;
  /** The type of the elements of a list. Undefined if the application wrote it, and for a column without a list. */
  readonly element?: FieldType | undefined;
  /** True if the application wrote the type, so its values are unknown. */
  readonly custom: boolean;
  /** True if the column, or anything on the path to it, may be NULL. */
  readonly nullable: boolean;
  /** True if it is nullable only because nothing guarantees a value, see `FieldPath`. A schema may then exclude null. */
  readonly isNullAssumed: boolean;
  /** The target of a to-one relation. */
  readonly target: EntityMetadata | undefined;
}

/**
 * Finds the column at a path such as `role.name` or `address.city`, before or after discovery.
 *
 * @throws ImproperlyConfigured for an unknown name, naming the nearest, and for a path that is not a column of one
 * record
 */
export function shapeField(meta: EntityMetadata, path: string): ShapeField {
  const resolved = resolvePath(meta, path, '.');
  if (typeof resolved === 'string') throw new ImproperlyConfigured(resolved);
  const { key, steps, property, type, nullable, isNullAssumed = false, toMany } = resolved;
  if (toMany) {
    throw new ImproperlyConfigured(
      `${meta.className}.${path} leads to many records, which a field cannot hold; readShape() shows them by many() in its third argument: ${manyBehind(steps)}`,
    );
  }
  // The inverse side of a one-to-one relation has no column: the path means the key at its end.
  const isForeign = key.split('.').length === steps.length;
  const relation = isForeign ? (steps.at(-1) as EntityProperty) : property;
  return {
    name: path,
    property,
    type,
    list: isList(property),
    element: isList(property) ? elementType(property) : undefined,
    custom: customTypeOf(property) !== undefined,
    nullable,
    isNullAssumed,
    target: isToOne(relation) ? targetOf(relation) : undefined,
  };
}

/** An embeddable at the end of a path. */
export interface Embeddable {
  readonly property: EntityProperty;
  readonly meta: EntityMetadata;
  /** True if the embeddable, or anything on the path to it, may be missing. */
  readonly nullable: boolean;
  /** True if its properties are columns of the entity; false if one column holds it as JSON. */
  readonly inline: boolean;
}

/**
 * Suggests a shape for a path through a to-many relation: `many()` belongs in the shape of the record with the
 * relation.
 */
function manyBehind([step, ...rest]: readonly EntityProperty[]): string {
  const relation = step as EntityProperty;
  const shown = isToMany(relation) ? 'many(…)' : `readShape(${targetOf(relation)!.className}, [], ${manyBehind(rest)})`;
  return `{ ${relation.name}: ${shown} }`;
}

/**
 * Finds the embeddable at a path such as `address`; undefined if the path leads to something else.
 *
 * @throws ImproperlyConfigured for a list of embeddables, which needs a declared schema
 */
export function embeddableAt(meta: EntityMetadata, path: string): Embeddable | undefined {
  const place = findPlace(meta, path, '.');
  if (typeof place === 'string') return undefined;
  const { property, nullable } = place;
  if (property.kind !== ReferenceKind.EMBEDDED) return undefined;
  if (property.array === true) {
    throw new ImproperlyConfigured(`${meta.className}.${path} is a list of embeddables: write its schema by hand`);
  }
  return {
    property,
    meta: targetOf(property) as EntityMetadata,
    nullable: nullable || property.nullable === true,
    inline: isInlineEmbeddable(property),
  };
}

/** A to-many relation of an entity, and the entity at its other end. */
export interface ToMany {
  readonly property: EntityProperty;
  readonly target: EntityMetadata;
}

/** @throws ImproperlyConfigured for a name that is not a to-many relation of the entity, listing those that are */
export function toManyAt(meta: EntityMetadata, name: string): ToMany {
  const place = findPlace(meta, name, '.');
  if (typeof place === 'string') throw new ImproperlyConfigured(place);
  const { property } = place;
  if (isToMany(property)) return { property, target: targetOf(property) as EntityMetadata };
  const others = Object.entries<EntityProperty>(meta.properties).filter(([, other]) => isToMany(other));
  const names = others.map(([other]) => other).join(', ') || 'none';
  throw new ImproperlyConfigured(
    `${meta.className}.${name} does not lead to many records; relations of ${meta.className} that do: ${names}`,
  );
}
