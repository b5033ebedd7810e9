import { ReferenceKind, type EntityManager, type EntityMetadata, type EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { dateBeyond } from '../fields/calendar.ts';
import { fieldPath, type FieldPath, findPlace } from '../fields/field-path.ts';
import { isOtherNumber, isOtherText } from '../fields/value-reader.ts';
import { holdsKeys, isReference, isToMany } from '../fields/property.ts';
import { getOrMake } from '../support/get-or-make.ts';
import { showLoaded } from '../mikro/entities.ts';
import { nearest } from '../errors/nearest.ts';

/** The columns of one entity within a row. */
interface Part {
  readonly meta: EntityMetadata;
  readonly start: number;
  readonly names: readonly string[];
  /** Convert values that MikroORM would misread. Undefined for columns without them. */
  readonly readers: readonly (((raw: unknown) => unknown) | undefined)[];
  /** The index of the primary key. NULL there means that the record does not exist. */
  readonly keyIndex: number;
}

/** Makes entities from rows. It makes the related entities first, starting with the deepest. */
export interface Hydration {
  /** The columns to read. */
  readonly paths: readonly FieldPath[];
  /** Makes the managed entity of a row, with the requested relations loaded. */
  readonly map: (em: EntityManager, row: readonly unknown[]) => object;
}

const hydrations = new WeakMap<EntityMetadata, Map<string, Hydration>>();

/** @throws ImproperlyConfigured for a name in populate that is neither a to-one relation nor a lazy field */
export function hydrationOf(meta: EntityMetadata, populate: readonly string[]): Hydration {
  const known = getOrMake(hydrations, meta, () => new Map<string, Hydration>());
  return getOrMake(known, populate.toSorted().join(), () => makeHydration(meta, populate));
}

function makeHydration(meta: EntityMetadata, populate: readonly string[]): Hydration {
  const lazy = new Set<string>();
  const relations = new Map<string, EntityMetadata>([['', meta]]);
  for (const name of populate) addPopulated(meta, name, relations, lazy);
  const paths: FieldPath[] = [];
  const parts: Part[] = [];
  for (const [prefix, entity] of relations) {
    const start = paths.length;
    const properties = storedProperties(entity, (name) => lazy.has(join(prefix, name)));
    for (const property of properties) paths.push(storedPath(meta, prefix, property));
    const names = properties.map(({ formula, fieldNames, name }) =>
      formula === undefined ? (fieldNames[0] as string) : name,
    );
    const keyIndex = start + properties.findIndex(({ primary }) => primary === true);
    parts.push({ meta: entity, start, names, readers: properties.map(readerOf), keyIndex });
  }
  // So the reference of an owner finds the entity that is already loaded.
  parts.reverse();
  const loaded = populate.filter((name) => !lazy.has(name));
  return {
    paths,
    map: (em, row) => {
      const entity = mapRow(em, parts, row);
      if (loaded.length > 0) showLoaded(entity, loaded);
      return entity;
    },
  };
}

/** PostgreSQL returns `count(*)` as a text, and some dates that MikroORM cannot read. */
function readerOf(property: EntityProperty): ((raw: unknown) => unknown) | undefined {
  if (isOtherNumber(property)) return Number;
  if (isOtherText(property)) return String;
  if (property.runtimeType !== 'Date' || property.customType !== undefined) return undefined;
  return (raw) => dateBeyond(raw) ?? raw;
}

function addPopulated(
  meta: EntityMetadata,
  path: string,
  relations: Map<string, EntityMetadata>,
  lazy: Set<string>,
): void {
  let entity = meta;
  let prefix = '';
  for (const name of path.split('.')) {
    const property = (entity.properties as Partial<Record<string, EntityProperty>>)[name];
    if (property === undefined || isToMany(property) || (!isReference(property) && property.lazy !== true)) {
      throw cannotPopulate(meta, path, entity, name);
    }
    prefix = join(prefix, name);
    if (!isReference(property)) {
      lazy.add(prefix);
      return;
    }
    entity = property.targetMeta as EntityMetadata;
    relations.set(prefix, entity);
  }
}

function cannotPopulate(
  meta: EntityMetadata,
  path: string,
  entity: EntityMetadata,
  name: string,
): ImproperlyConfigured {
  const allowed = Object.values<EntityProperty>(entity.properties)
    .filter((property) => (isReference(property) && !isToMany(property)) || property.lazy === true)
    .map((property) => property.name);
  const near = nearest(name, allowed);
  return new ImproperlyConfigured(
    `${meta.className}: populate takes to-one relations and lazy fields, not "${path}"` +
      `${near === undefined ? '' : ` (did you mean "${near}"?)`}; ${entity.className} has: ${allowed.join(', ') || 'none'}`,
  );
}

/** The columns that `em.find` reads: all columns of the entity, except for lazy ones that are not requested. */
function storedProperties(meta: EntityMetadata, isWanted: (name: string) => boolean): EntityProperty[] {
  return meta.props.filter((property) => {
    const { kind, owner, persist, formula, lazy, name } = property;
    if (kind === ReferenceKind.EMBEDDED && !property.object) return false;
    if (holdsKeys(property)) return true;
    if (isToMany(property) || (kind === ReferenceKind.ONE_TO_ONE && !owner)) return false;
    if (persist === false && formula === undefined) return false;
    return lazy !== true || isWanted(name);
  });
}

/** Returns the path of a column. A list of keys is read as the list, not as its records. */
function storedPath(meta: EntityMetadata, prefix: string, property: EntityProperty): FieldPath {
  const key = join(prefix, property.name);
  if (!holdsKeys(property)) return fieldPath(meta, key, '.');
  const place = findPlace(meta, key, '.');
  if (typeof place === 'string') throw new ImproperlyConfigured(place);
  return { key, steps: place.steps, property, type: { kind: 'json' }, nullable: true, toMany: false };
}

function mapRow(em: EntityManager, parts: readonly Part[], row: readonly unknown[]): object {
  let entity: object = row;
  for (const part of parts) {
    if (row[part.keyIndex] === null) continue;
    const data: Record<string, unknown> = {};
    for (const [index, name] of part.names.entries()) {
      const value = row[part.start + index];
      const read = part.readers[index];
      data[name] = read === undefined || value === null ? value : read(value);
    }
    entity = em.map<object>(part.meta.class, data);
  }
  return entity;
}

function join(prefix: string, name: string): string {
  return prefix === '' ? name : `${prefix}.${name}`;
}
