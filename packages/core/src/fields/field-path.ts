import { ReferenceKind, type EntityMetadata, type EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import { nearest } from '../nearest.ts';
import { fieldType, isReference, type FieldType } from './field-type.ts';

/** A way from an entity through its relations to one column, resolved once and then shared. */
export interface FieldPath {
  /** The names joined with a dot, `role.name`: the same for both separators. */
  readonly key: string;
  /** The relations walked, in order. */
  readonly steps: readonly EntityProperty[];
  /** The column at the end; a to-one relation stands for its foreign key. */
  readonly property: EntityProperty;
  readonly type: FieldType;
  /** True if the column, or any relation on the way, may be NULL. */
  readonly nullable: boolean;
  /** True if a relation on the way leads to many records. */
  readonly toMany: boolean;
}

const known = {
  '.': new WeakMap<EntityMetadata, Map<string, FieldPath>>(),
  __: new WeakMap<EntityMetadata, Map<string, FieldPath>>(),
};

/**
 * Resolves a path, the same object for the same path. A relation at its end stands for the key of the related record:
 * the foreign key if the entity has it, else the primary key at the other end.
 * @throws ImproperlyConfigured for an unknown name, naming what is there and the nearest
 * @example
 * fieldPath(accountMeta, 'role.name', '.').type.kind;   // 'string'
 */
export function fieldPath(meta: EntityMetadata, path: string, separator: '.' | '__'): FieldPath {
  const found = findFieldPath(meta, path, separator);
  if (typeof found === 'function') throw found();
  return found;
}

/** Makes the error that says why a path cannot be resolved. */
export type WhyNot = () => ImproperlyConfigured;

/** Resolves like `fieldPath`, for those who try several paths: throws nothing, and makes the error only if it is asked for. */
export function findFieldPath(meta: EntityMetadata, path: string, separator: '.' | '__'): FieldPath | WhyNot {
  // Kept by its separator, so that whether a path is right does not depend on what was resolved before.
  const paths = pathsOf(meta, separator);
  const found = paths.get(path);
  if (found !== undefined) return found;
  const resolved = resolve(meta, path, separator);
  if (typeof resolved === 'function') return resolved;
  const dotted = pathsOf(meta, '.');
  const shared = dotted.get(resolved.key) ?? resolved;
  dotted.set(resolved.key, shared);
  paths.set(path, shared);
  return shared;
}

function pathsOf(meta: EntityMetadata, separator: keyof typeof known): Map<string, FieldPath> {
  let paths = known[separator].get(meta);
  if (paths === undefined) known[separator].set(meta, (paths = new Map<string, FieldPath>()));
  return paths;
}

/** The names of an entity's fields and relations, without what MikroORM adds for itself. */
export function fieldNames(meta: EntityMetadata): string[] {
  return Object.values<EntityProperty>(meta.properties)
    .filter(isNamed)
    .map(({ name }) => name);
}

function isNamed(property: EntityProperty): boolean {
  const isOwn = property.embedded === undefined && !property.name.endsWith('__inverse');
  return isOwn && (property.persist !== false || isComputed(property));
}

/** The place to look for a name on a path: an entity, or an embeddable in one. */
interface Place {
  readonly name: string;
  readonly properties: Record<string, EntityProperty>;
  readonly all: () => readonly string[];
}

function resolve(root: EntityMetadata, path: string, separator: '.' | '__'): FieldPath | WhyNot {
  const names: string[] = [];
  const steps: EntityProperty[] = [];
  let place: Place = { name: root.className, properties: root.properties, all: () => fieldNames(root) };
  let rest = path.split(separator);
  for (;;) {
    const { property, name, left } = take(place.properties, rest, separator);
    if (property === undefined) return unknownName(root, path, rest[0] ?? '', place);
    names.push(name);
    const target = property.targetMeta;
    if (left.length === 0) return finish(root, path, names, steps, property);
    if (target === undefined || property.polymorphic) return notARelation(root, path, property, left[0] ?? '');
    if (property.kind === ReferenceKind.EMBEDDED) {
      if (property.object) return notARelation(root, path, property, left[0] ?? '');
      const properties = property.embeddedProps;
      place = { name: target.className, properties, all: () => Object.keys(properties) };
    } else {
      steps.push(property);
      place = { name: target.className, properties: target.properties, all: () => fieldNames(target) };
    }
    rest = left;
  }
}

/** Takes one name off a path. A name may contain the separator itself, so the longest that exists wins. */
function take(
  properties: Record<string, EntityProperty>,
  rest: readonly string[],
  separator: string,
): { property: EntityProperty | undefined; name: string; left: string[] } {
  for (let length = rest.length; length > 0; length--) {
    const name = rest.slice(0, length).join(separator);
    if (Object.hasOwn(properties, name)) return { property: properties[name], name, left: rest.slice(length) };
  }
  return { property: undefined, name: '', left: [] };
}

function finish(
  root: EntityMetadata,
  path: string,
  names: readonly string[],
  walked: readonly EntityProperty[],
  last: EntityProperty,
): FieldPath | WhyNot {
  const isForeign = isReference(last) && !ownsColumn(last);
  const steps = isForeign ? [...walked, last] : walked;
  const target = last.targetMeta as EntityMetadata;
  const property = isForeign ? onlyPrimaryKey(target) : last;
  if (property === undefined) return severalKeys(root, path, target);
  if (property.persist === false && !isComputed(property)) return notStored(root, path);
  return Object.freeze({
    key: names.join('.'),
    steps,
    property,
    type: fieldType(property),
    nullable:
      isForeign || property.nullable === true || steps.some((step) => step.nullable === true || !ownsColumn(step)),
    toMany: steps.some(isToMany),
  });
}

function onlyPrimaryKey({ primaryKeys, properties }: EntityMetadata): EntityProperty | undefined {
  const [name, ...others] = primaryKeys;
  return name === undefined || others.length > 0 ? undefined : (properties[name] as EntityProperty | undefined);
}

/** True of a relation to many records. */
export function isToMany(property: EntityProperty): boolean {
  return property.kind === ReferenceKind.ONE_TO_MANY || property.kind === ReferenceKind.MANY_TO_MANY;
}

/** True of a to-one relation whose foreign key is on this side. */
export function ownsColumn(property: EntityProperty): boolean {
  return property.kind === ReferenceKind.MANY_TO_ONE || (property.kind === ReferenceKind.ONE_TO_ONE && property.owner);
}

function isComputed(property: EntityProperty): boolean {
  return property.formula !== undefined || (property.persist === false && property.kind !== ReferenceKind.SCALAR);
}

function unknownName(root: EntityMetadata, path: string, name: string, place: Place): WhyNot {
  return () => {
    const all = place.all();
    const near = nearest(name, all);
    return new ImproperlyConfigured(
      `${root.className}: "${path}" names no field; ${place.name} has no "${name}"` +
        `${near === undefined ? '' : ` (did you mean "${near}"?)`}; it has: ${all.join(', ')}`,
    );
  };
}

function notARelation(root: EntityMetadata, path: string, property: EntityProperty, name: string): WhyNot {
  const what = property.targetMeta === undefined ? 'is not a relation' : 'is kept in one column';
  return () =>
    new ImproperlyConfigured(
      `${root.className}: "${path}" cannot be resolved: "${property.name}" ${what}, so it has no "${name}"`,
    );
}

function notStored(root: EntityMetadata, path: string): WhyNot {
  return () => new ImproperlyConfigured(`${root.className}: "${path}" is not stored in the database (persist: false)`);
}

function severalKeys(root: EntityMetadata, path: string, target: EntityMetadata): WhyNot {
  return () =>
    new ImproperlyConfigured(
      `${root.className}: "${path}" leads to ${target.className}, whose primary key is not one column; name a field`,
    );
}
