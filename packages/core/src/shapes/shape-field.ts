import { ReferenceKind, type EntityMetadata, type EntityProperty } from '@mikro-orm/core';
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
  /** True where it may be NULL in a record that is there. */
  readonly ownNullable: boolean;
  /** The target of a to-one relation. */
  readonly target: EntityMetadata | undefined;
}

/**
 * The column that a path leads to, of an entity whose metadata the ORM has discovered.
 *
 * @throws ImproperlyConfigured for an unknown name, naming the nearest
 */
export function boundField(meta: EntityMetadata, path: string): ShapeField {
  const { key, steps, property, type, nullable } = fieldPath(meta, path, '.');
  // The other side of a one to one has no column here: what the path stands for is the key at the end of it.
  const isForeign = key.split('.').length === steps.length;
  const relation = isForeign ? (steps.at(-1) as EntityProperty) : property;
  return {
    name: path,
    property,
    type,
    list: isArrayProperty(property),
    custom: isCustomType(property),
    nullable,
    ownNullable: isForeign || property.nullable === true,
    target: isToOne(relation) ? relation.targetMeta : undefined,
  };
}

export function isToOne(property: EntityProperty): boolean {
  return property.kind === ReferenceKind.MANY_TO_ONE || property.kind === ReferenceKind.ONE_TO_ONE;
}

/** Finds the embeddable of several columns that a path leads to; undefined if it leads to something else. */
export function inlineEmbeddable(meta: EntityMetadata, path: string): EntityProperty | undefined {
  let properties: Readonly<Record<string, EntityProperty>> = meta.properties;
  let found: EntityProperty | undefined;
  for (const name of path.split('.')) {
    found = Object.hasOwn(properties, name) ? properties[name] : undefined;
    properties = (isInline(found) ? found?.embeddedProps : found?.targetMeta?.properties) ?? {};
  }
  return isInline(found) ? found : undefined;
}

/** The names of an embeddable's columns; `city`, or `geo.latitude` of an embeddable inside it. */
export function embeddedNames({ embeddedProps }: EntityProperty): string[] {
  return Object.entries<EntityProperty>(embeddedProps).flatMap(([name, property]) =>
    isInline(property) ? embeddedNames(property).map((inner) => `${name}.${inner}`) : [name],
  );
}

function isInline(property: EntityProperty | undefined): boolean {
  return property?.kind === ReferenceKind.EMBEDDED && property.object !== true && property.array !== true;
}
