import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import { findPlace, resolvePath } from '../fields/field-path.ts';
import type { FieldType } from '../fields/field-kind.ts';
import { customTypeOf, isList } from '../fields/field-type.ts';
import { isInlineEmbeddable, isToMany, isToOne, targetOf } from '../fields/property.ts';

/** One column as a shape sees it: the values that it may hold, and what is known of it. */
export interface ShapeField {
  /** The path to the column, `role.name`. */
  readonly name: string;
  readonly property: EntityProperty;
  /** The type of the column; for a to-one relation, that of the key that it refers to. */
  readonly type: FieldType;
  /** Holds a list of values. */
  readonly list: boolean;
  /** True if the application wrote the type: nothing is known of its values. */
  readonly custom: boolean;
  /** True if the column, or anything on the way to it, may be NULL. */
  readonly nullable: boolean;
  /** The target of a to-one relation. */
  readonly target: EntityMetadata | undefined;
}

/**
 * Finds the column that a path such as `role.name` or `address.city` leads to, whether or not an ORM has discovered the entity.
 *
 * @throws ImproperlyConfigured for an unknown name, naming the nearest, and for what is no column of one record
 */
export function shapeField(meta: EntityMetadata, path: string): ShapeField {
  const resolved = resolvePath(meta, path, '.');
  if (typeof resolved === 'string') throw new ImproperlyConfigured(resolved);
  const { key, steps, property, type, nullable, toMany } = resolved;
  if (toMany) {
    throw new ImproperlyConfigured(
      `${meta.className}.${path} leads to many records, which a field cannot hold; readShape() shows them by many() in its third argument: ${manyBehind(steps)}`,
    );
  }
  // The other side of a one to one has no column here: the path stands for the key at the end of it.
  const isForeign = key.split('.').length === steps.length;
  const relation = isForeign ? (steps.at(-1) as EntityProperty) : property;
  return {
    name: path,
    property,
    type,
    list: isList(property),
    custom: customTypeOf(property) !== undefined,
    nullable,
    target: isToOne(relation) ? targetOf(relation) : undefined,
  };
}

/** An embeddable that a path leads to. */
export interface Embeddable {
  readonly property: EntityProperty;
  readonly meta: EntityMetadata;
  /** True if the embeddable, or anything on the way to it, may be missing. */
  readonly nullable: boolean;
  /** True if its properties are columns of the entity; false if one column holds it as JSON. */
  readonly inline: boolean;
}

/** Writes the shape of what a path leads to: many() stands in that of the record that has the relation. */
function manyBehind([step, ...rest]: readonly EntityProperty[]): string {
  const relation = step as EntityProperty;
  const shown = isToMany(relation) ? 'many(…)' : `readShape(${targetOf(relation)!.className}, [], ${manyBehind(rest)})`;
  return `{ ${relation.name}: ${shown} }`;
}

/**
 * Finds the embeddable that a path such as `address` leads to; undefined if the path leads to something else.
 *
 * @throws ImproperlyConfigured for a list of embeddables, which needs a schema of its own
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

/** A relation to many of an entity, and the entity at its other end. */
export interface ToMany {
  readonly property: EntityProperty;
  readonly target: EntityMetadata;
}

/** @throws ImproperlyConfigured for a name that is no relation to many of the entity, naming those that are */
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
