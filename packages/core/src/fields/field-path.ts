import { ReferenceKind, type EntityMetadata, type EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { nearest } from '../errors/nearest.ts';
import type { FieldType } from './field-kind.ts';
import { fieldType } from './field-type.ts';
import {
  isAddedInverse,
  isInlineEmbeddable,
  isPolymorphic,
  isReference,
  isTablePerType,
  isToMany,
  onlyPrimaryKey,
  ownsColumn,
  targetOf,
} from './property.ts';

/** A path from an entity through its relations to a column. It is resolved once and then shared. */
export interface FieldPath {
  /** The names joined with a dot, `role.name`, for both separators. */
  readonly key: string;
  /** The relations on the path, in order. */
  readonly steps: readonly EntityProperty[];
  /** The column at the end. A to-one relation means its foreign key. */
  readonly property: EntityProperty;
  readonly type: FieldType;
  /** True if the column, or any relation on the path, may be NULL. */
  readonly nullable: boolean;
  /**
   * True if nothing declares that it is nullable, but the database does not guarantee a value: for a formula, and for a
   * column of a view. Default: false.
   */
  readonly isNullAssumed?: boolean;
  /** True if a relation on the path is to-many. */
  readonly toMany: boolean;
  /**
   * True if a foreign key at the end is read as it is stored. Otherwise it reads as NULL if a MikroORM filter hides the
   * related record.
   */
  readonly isStored?: boolean;
}

/** A path, split after its first to-many relation. */
export interface SplitPath {
  /** The relations up to the split. The last is to-many. */
  readonly steps: readonly EntityProperty[];
  /** The rest of the path, from the related record. */
  readonly rest: FieldPath;
}

type Separator = '.' | '__';

/** One cache per separator, so that the validity of a path does not depend on earlier calls. */
const known = new WeakMap<EntityMetadata, Readonly<Record<Separator, Map<string, FieldPath>>>>();

/**
 * Resolves a path. The same path gives the same object. A relation at its end means the key of the related record: the
 * foreign key if the entity has it, else the primary key at the other end.
 * @throws ImproperlyConfigured for an unknown name, with the known names and the nearest one
 * @example
 * fieldPath(accountMeta, 'role.name', '.').type.kind;   // 'string'
 */
export function fieldPath(meta: EntityMetadata, path: string, separator: Separator): FieldPath {
  const found = findFieldPath(meta, path, separator);
  if (typeof found === 'string') throw new ImproperlyConfigured(found);
  return found;
}

const stored = new WeakMap<FieldPath, FieldPath>();

/**
 * Returns the path that reads a foreign key as it is stored, always the same object. Returns any other path unchanged.
 */
export function storedPath(path: FieldPath): FieldPath {
  if (!isReference(path.property)) return path;
  let found = stored.get(path);
  if (found === undefined) stored.set(path, (found = Object.freeze({ ...path, isStored: true })));
  return found;
}

/**
 * Resolves like `fieldPath`, for callers that try several paths. Returns a description of the problem instead of
 * throwing it.
 */
export function findFieldPath(meta: EntityMetadata, path: string, separator: Separator): FieldPath | string {
  const found = resolvePath(meta, path, separator);
  if (typeof found === 'string' || isInDatabase(found.property)) return found;
  return `${meta.className}: "${path}" is not stored in the database (persist: false)`;
}

/** Resolves a path of an entity that may not be discovered yet, also to a property that is not stored. */
export function resolvePath(meta: EntityMetadata, path: string, separator: Separator): FieldPath | string {
  let paths = known.get(meta);
  if (paths === undefined) known.set(meta, (paths = { '.': new Map(), __: new Map() }));
  const found = paths[separator].get(path);
  if (found !== undefined) return found;
  const resolved = walkPath(meta, path, separator);
  if (typeof resolved === 'string') return resolved;
  const shared = paths['.'].get(resolved.key) ?? resolved;
  paths['.'].set(resolved.key, shared);
  paths[separator].set(path, shared);
  return shared;
}

function walkPath(meta: EntityMetadata, path: string, separator: Separator): FieldPath | string {
  const place = findPlace(meta, path, separator);
  if (typeof place === 'string') return place;
  const last = place.property;
  const isForeign = isReference(last) && !ownsColumn(last);
  const target = isForeign ? (targetOf(last) as EntityMetadata) : undefined;
  const property = target === undefined ? last : onlyPrimaryKey(target);
  if (property === undefined) {
    const name = target?.className ?? '';
    return `${meta.className}: "${path}" leads to ${name}, whose primary key is not one column; name a field`;
  }
  const steps = isForeign ? [...place.steps, last] : place.steps;
  const isDeclaredNull = place.nullable || isForeign || property.nullable === true;
  const isNullAssumed = !isDeclaredNull && place.isNullAssumed;
  return Object.freeze({
    key: place.names.join('.'),
    steps,
    property,
    type: fieldType(property),
    nullable: isDeclaredNull || isNullAssumed,
    ...(isNullAssumed && { isNullAssumed }),
    toMany: steps.some(isToMany),
  });
}

const splits = new WeakMap<FieldPath, SplitPath>();

/**
 * Splits a path after its first to-many relation. The same path gives the same objects. Returns undefined if it has no
 * to-many relation.
 */
export function splitAtMany(path: FieldPath): SplitPath | undefined {
  if (!path.toMany) return undefined;
  let found = splits.get(path);
  if (found === undefined) splits.set(path, (found = cut(path, path.steps.findIndex(isToMany) + 1)));
  return found;
}

function cut(path: FieldPath, length: number): SplitPath {
  const steps = path.steps.slice(length);
  const rest = Object.freeze({ ...path, steps, toMany: steps.some(isToMany) });
  return { steps: path.steps.slice(0, length), rest };
}

/** The property at the end of a path, and the relations on the way. */
export interface FieldPlace {
  readonly names: readonly string[];
  readonly steps: readonly EntityProperty[];
  readonly property: EntityProperty;
  /** True if a relation or an embeddable on the path may be missing. */
  readonly nullable: boolean;
  /** True if the database guarantees no value of the property, or of a relation on the path. */
  readonly isNullAssumed: boolean;
}

/**
 * Follows a path, through relations and embeddables, to its property. Returns a description of the problem if there is
 * none.
 */
export function findPlace(root: EntityMetadata, path: string, separator: Separator): FieldPlace | string {
  const names: string[] = [];
  const steps: EntityProperty[] = [];
  let owner: Owner = root;
  let nullable = false;
  let isNullAssumed = false;
  let rest = path.split(separator);
  for (;;) {
    const [name, property] = nextOf(owner, rest, separator);
    if (property === undefined) {
      const other = separator === '.' ? '__' : '.';
      const respelt = path.replaceAll(other, separator);
      if (respelt !== path && typeof findPlace(root, respelt, separator) !== 'string') {
        return `${root.className}: "${path}" is not a field: paths are written with "${separator}" here, "${respelt}"`;
      }
      return unknownName(root, path, owner, name);
    }
    names.push(name);
    rest = rest.slice(name.split(separator).length);
    isNullAssumed ||= assumesNull(owner, property);
    if (rest.length === 0) return { names, steps, property, nullable, isNullAssumed };
    const isInline = isInlineEmbeddable(property);
    const isWay = isInline || (isReference(property) && !isPolymorphic(property));
    const target = isWay ? targetOf(property) : undefined;
    if (target === undefined) {
      const what = property.kind === ReferenceKind.EMBEDDED ? 'is kept in one column' : 'is not a relation';
      return `${root.className}: "${path}" cannot be resolved: ${owner.className}.${name} ${what}, so it has no "${rest[0]}"`;
    }
    if (isTablePerType(target)) {
      return `${root.className}: "${path}" cannot be resolved: ${target.className} is spread over several tables (table-per-type inheritance)`;
    }
    if (!isInline) steps.push(property);
    nullable ||= property.nullable === true || (!isInline && !ownsColumn(property));
    const view = isInline ? owner.view : target.view;
    owner = { className: target.className, properties: property.embeddedProps ?? target.properties, view };
  }
}

/** An entity, or an embeddable in an entity. */
interface Owner {
  readonly className: string;
  readonly properties: Readonly<Record<string, EntityProperty>>;
  readonly view?: EntityMetadata['view'];
}

/** Reports whether a property may be NULL although it does not say so. A primary key never is. */
function assumesNull({ view }: Owner, { formula, nullable, primary }: EntityProperty): boolean {
  return nullable === undefined && primary !== true && ((view ?? false) !== false || formula !== undefined);
}

/** Finds the first property of a path. A name may contain the separator, so the longest match wins. */
function nextOf(
  { properties }: Owner,
  rest: readonly string[],
  separator: string,
): [name: string, property: EntityProperty | undefined] {
  for (let length = rest.length; length > 0; length--) {
    const name = rest.slice(0, length).join(separator);
    if (!Object.hasOwn(properties, name)) continue;
    // Before discovery, a property has no `name`.
    const property = properties[name] as EntityProperty;
    return [name, property.name === undefined ? { ...property, name } : property];
  }
  return [rest[0] ?? '', undefined];
}

/** True for a property that a database can read: one with a column, a formula, or a relation. */
function isInDatabase(property: EntityProperty): boolean {
  return property.persist !== false || property.formula !== undefined || property.kind !== ReferenceKind.SCALAR;
}

function unknownName(root: EntityMetadata, path: string, owner: Owner, name: string): string {
  // Leaves out properties that MikroORM adds: the columns of embeddables, and the inverse sides of relations.
  const all = Object.keys(owner.properties).filter((key) => isNamed(key, owner.properties[key] as EntityProperty));
  const near = nearest(name, all);
  const hint = near === undefined ? '.' : `; did you mean "${near}"?`;
  return `${root.className}: "${path}" names no field: ${owner.className} has no property "${name}"${hint} It has: ${all.join(', ')}`;
}

function isNamed(key: string, property: EntityProperty): boolean {
  const isColumnOfEmbeddable = property.embedded !== undefined && property.name === key;
  return !isColumnOfEmbeddable && !isAddedInverse(property) && isInDatabase(property);
}
