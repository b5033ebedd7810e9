import {
  type EntityMetadata,
  type EntityName,
  type EntityProperty,
  EntitySchema,
  ReferenceKind,
} from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import { fieldPath, isToMany } from '../fields/field-path.ts';
import type { FieldType } from '../fields/field-type.ts';
import { nearest } from '../nearest.ts';
import { declaredType, isArrayProperty, isCustomType } from './declared-type.ts';

/** One column as a shape sees it: what its value may be, and what is known of it. */
export interface ShapeField {
  /** The path to it, `role.name`. */
  readonly name: string;
  readonly property: EntityProperty;
  /** The type of the column; for a to-one relation, that of the target's primary key. */
  readonly type: FieldType;
  /** Holds a list of values. */
  readonly list: boolean;
  /** True if the application wrote the type: nothing is known of its values. */
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

/**
 * Finds what `defineEntity` was given, without an initialised ORM: builders carry type, length, precision, scale, nullable
 * and default.
 *
 * @throws ImproperlyConfigured for an entity that was not made by `defineEntity` or an `EntitySchema`
 */
export function declaredMetadata(entity: EntityName): EntityMetadata {
  const schema = EntitySchema.is(entity) ? entity : EntitySchema.REGISTRY.get(entity as never);
  if (schema === undefined) {
    const came = typeof entity === 'function' ? entity.name : typeof entity;
    throw new ImproperlyConfigured(
      `A shape needs an entity made by defineEntity() or new EntitySchema(), but ${came} came`,
    );
  }
  return (schema as EntitySchema).meta;
}

/**
 * Finds the column that a path such as `role.name` or `address.city` leads to.
 *
 * @throws ImproperlyConfigured for an unknown name, naming the nearest, and for what is no column
 */
export function declaredField(meta: EntityMetadata, path: string): ShapeField {
  const { owner, name, property, nullable } = declaredPlace(meta, path);
  const field = shapeField(owner, name, property);
  return { ...field, name: path, nullable: nullable || field.nullable };
}

/** An embeddable that a path leads to: its own metadata, and if it may be missing. */
export interface DeclaredEmbeddable {
  readonly meta: EntityMetadata;
  readonly nullable: boolean;
}

/**
 * Finds the embeddable that a path such as `address` leads to; undefined if the path leads to something else.
 *
 * @throws ImproperlyConfigured for an unknown name, naming the nearest
 */
export function declaredEmbeddable(meta: EntityMetadata, path: string): DeclaredEmbeddable | undefined {
  const { property, nullable } = declaredPlace(meta, path);
  if (property.kind !== ReferenceKind.EMBEDDED || property.array === true) return undefined;
  return { meta: embeddableOf(property), nullable: nullable || property.nullable === true };
}

interface DeclaredPlace {
  readonly owner: EntityMetadata;
  readonly name: string;
  readonly property: EntityProperty;
  /** True if anything on the way to the property may be missing. */
  readonly nullable: boolean;
}

function declaredPlace(meta: EntityMetadata, path: string): DeclaredPlace {
  const steps = path.split('.');
  const name = steps.pop() as string;
  let owner = meta;
  let nullable = false;
  for (const step of steps) {
    const property = declaredProperty(owner, step);
    nullable ||= property.nullable === true;
    const what = `"${path}": ${owner.className}.${step}`;
    owner = property.kind === ReferenceKind.EMBEDDED ? inlineOf(what, property) : recordOf(what, property);
  }
  return { owner, name, property: declaredProperty(owner, name), nullable };
}

function recordOf(what: string, relation: EntityProperty): EntityMetadata {
  const target = targetOf(relation);
  if (target === undefined) throw new ImproperlyConfigured(`${what} is not a relation`);
  if (!isToOne(relation)) throw new ImproperlyConfigured(`${what} leads to many records`);
  return target;
}

function inlineOf(what: string, property: EntityProperty): EntityMetadata {
  if (property.object !== true && property.array !== true) return embeddableOf(property);
  throw new ImproperlyConfigured(`${what} is kept in one column, so a shape names it as a whole`);
}

function embeddableOf(property: EntityProperty): EntityMetadata {
  if (property.targetMeta !== undefined) return property.targetMeta;
  const target: unknown = property.entity();
  if (!Array.isArray(target)) return declaredMetadata(target as EntityName);
  throw new ImproperlyConfigured(`"${property.name}" may be one of several embeddables: name it in no shape`);
}

/** @throws ImproperlyConfigured where the entity has no such property, naming the nearest and all there are */
export function declaredProperty(meta: EntityMetadata, name: string): EntityProperty {
  const names = Object.keys(meta.properties);
  if (names.includes(name)) return meta.properties[name as never] as EntityProperty;
  const meant = nearest(name, names);
  const hint = meant === undefined ? '.' : `; did you mean "${meant}"?`;
  throw new ImproperlyConfigured(`${meta.className} has no property "${name}"${hint} It has: ${names.join(', ')}`);
}

function shapeField(meta: EntityMetadata, name: string, property: EntityProperty): ShapeField {
  const target = targetOf(property);
  if (target !== undefined && !isToOne(property)) {
    throw new ImproperlyConfigured(`${meta.className}.${name} leads to many records, which a shape cannot hold`);
  }
  if (property.kind === ReferenceKind.EMBEDDED) {
    throw new ImproperlyConfigured(
      `${meta.className}.${name} is an embeddable, or a list of them, and no single column`,
    );
  }
  return {
    name,
    property,
    type: target === undefined ? declaredType(property) : primaryKeyType(target),
    list: isArrayProperty(property),
    custom: isCustomType(property),
    nullable: property.nullable === true || property.mappedBy !== undefined,
    ownNullable: property.nullable === true || property.mappedBy !== undefined,
    target,
  };
}

/** The single primary key of an entity. */
export function primaryKeyOf(meta: EntityMetadata): string {
  const names = Object.entries<EntityProperty>(meta.properties)
    .filter(([, property]) => property.primary === true)
    .map(([name]) => name);
  const [name] = names;
  if (name === undefined || names.length > 1) {
    throw new ImproperlyConfigured(
      `${meta.className} has a primary key of ${names.length} properties: a shape needs one`,
    );
  }
  return name;
}

function primaryKeyType(meta: EntityMetadata): FieldType {
  return declaredField(meta, primaryKeyOf(meta)).type;
}

function targetOf(property: EntityProperty): EntityMetadata | undefined {
  if (!isToOne(property) && !isToMany(property)) return undefined;
  if (property.targetMeta !== undefined) return property.targetMeta;
  const target: unknown = property.entity();
  if (Array.isArray(target)) {
    throw new ImproperlyConfigured(`"${property.name}" refers to several entities: name it in no shape`);
  }
  return declaredMetadata(target as EntityName);
}
