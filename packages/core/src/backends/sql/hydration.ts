import { ReferenceKind, type EntityManager, type EntityMetadata, type EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors.ts';
import { fieldPath, type FieldPath } from '../../fields/field-path.ts';
import { isReference, isToMany } from '../../fields/property.ts';
import { nearest } from '../../nearest.ts';
import { showLoaded } from '../../mikro/entities.ts';
import type { Selection } from './selection.ts';

/** The columns of one entity within a row. */
interface Part {
  readonly meta: EntityMetadata;
  readonly start: number;
  readonly names: readonly string[];
  /** Where the primary key stands; NULL there means that there is no such record. */
  readonly keyIndex: number;
}

/** How the rows of a selection become entities: those of the relations first, the deepest before the others. */
export interface Hydration {
  readonly selection: Selection;
  /** Makes the managed entity of a row, with the relations that were asked for loaded. */
  readonly map: (em: EntityManager, row: readonly unknown[]) => object;
}

const known = new WeakMap<EntityMetadata, Map<string, Hydration>>();

/** @throws ImproperlyConfigured for a name in populate that is no to-one relation and no lazy field */
export function hydrationOf(meta: EntityMetadata, populate: readonly string[]): Hydration {
  let hydrations = known.get(meta);
  if (hydrations === undefined) known.set(meta, (hydrations = new Map<string, Hydration>()));
  const key = populate.toSorted().join();
  let hydration = hydrations.get(key);
  if (hydration === undefined) hydrations.set(key, (hydration = makeHydration(meta, populate)));
  return hydration;
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
    for (const { name } of properties) paths.push(fieldPath(meta, join(prefix, name), '.'));
    const names = properties.map((property) =>
      property.formula === undefined ? (property.fieldNames[0] as string) : property.name,
    );
    parts.push({
      meta: entity,
      start,
      names,
      keyIndex: start + properties.findIndex(({ primary }) => primary === true),
    });
  }
  // The owner's reference resolves to what is loaded already.
  parts.reverse();
  const selection = { key: `entity ${paths.map((path) => path.key).join()}`, paths };
  const loaded = populate.filter((name) => !lazy.has(name));
  return {
    selection,
    map: (em, row) => {
      const entity = mapRow(em, parts, row);
      if (loaded.length > 0) showLoaded(entity, loaded);
      return entity;
    },
  };
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

/** What `em.find` would read: all columns of the entity but the lazy ones that nobody asks for. */
function storedProperties(meta: EntityMetadata, isWanted: (name: string) => boolean): EntityProperty[] {
  return meta.props.filter((property) => {
    if (property.kind === ReferenceKind.EMBEDDED && !property.object) return false;
    if (
      isReference(property)
        ? isToMany(property) || (!property.owner && property.kind === ReferenceKind.ONE_TO_ONE)
        : false
    ) {
      return false;
    }
    if (property.persist === false && property.formula === undefined) return false;
    return property.lazy !== true || isWanted(property.name);
  });
}

function mapRow(em: EntityManager, parts: readonly Part[], row: readonly unknown[]): object {
  let entity: object = row;
  for (const part of parts) {
    if (row[part.keyIndex] === null) continue;
    const data: Record<string, unknown> = {};
    for (const [index, name] of part.names.entries()) data[name] = row[part.start + index];
    entity = em.map<object>(part.meta.class, data);
  }
  return entity;
}

function join(prefix: string, name: string): string {
  return prefix === '' ? name : `${prefix}.${name}`;
}
