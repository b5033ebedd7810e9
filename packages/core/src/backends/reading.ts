import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../support/awaitable.ts';
import type { FieldPath } from '../fields/field-path.ts';
import { valueReader } from '../fields/value-reader.ts';
import { keyText, primaryKey } from '../fields/primary-key.ts';
import { cacheRelated } from '../query/language/cached-related.ts';
import type { Children, Projection, RelatedProjection } from '../query/language/projection.ts';
import type { Query } from '../query/language/query.ts';
import type { RelatedPath } from '../query/language/related-path.ts';
import { dispatchOnLoad } from '../mikro/entities.ts';
import { entityReader, keyOf } from '../mikro/entity-reader.ts';
import { managedSource, type Source } from './source.ts';
import { hydrationOf } from './hydration.ts';

/** The children of several records, by the key of their owner. */
export type ChildrenByOwner = ReadonlyMap<unknown, readonly unknown[]>;

/** Reads the children of a to-many relation. `keys` are the distinct keys of the records. */
export type ReadChildren = (related: RelatedProjection, keys: readonly unknown[]) => Awaitable<ChildrenByOwner>;

/**
 * Reads values from related records for several records: rows with the record's key after the values. `keys` are the
 * keys of the records.
 */
export type ReadAggregates = (
  aggregates: readonly RelatedPath[],
  keys: readonly unknown[],
) => Awaitable<readonly unknown[][]>;

/** The functions that read values from related records for rows. */
export interface RelatedReaders {
  readonly em: EntityManager;
  readonly readChildren: ReadChildren;
  readonly readAggregates: ReadAggregates;
}

/** Makes records from rows for a projection: from their columns, or from entities. */
export interface Reading<Record> {
  readonly columns: readonly FieldPath[];
  /** The number of leading columns from which entities are made. MikroORM expects the driver's values in them. */
  readonly entityColumns: number;
  /** Returns the source to read with. Entities need the source's own entity manager, not the global one. */
  sourceOf(this: void, source: Source): Source;
  /** @param readers makes the readers, only for records with related ones */
  recordsOf(this: void, rows: readonly unknown[][], readers: () => RelatedReaders): Awaitable<Record[]>;
}

const readings = new WeakMap<Projection<unknown>, Reading<unknown>>();

export function readingOf<Record>({ meta }: Pick<Query, 'meta'>, projection: Projection<Record>): Reading<Record> {
  let reading = readings.get(projection);
  if (reading === undefined) {
    reading = projection.ofEntities === true ? entityReading(meta, projection) : rowReading(projection);
    readings.set(projection, reading);
  }
  return reading as Reading<Record>;
}

function rowReading<Record>(projection: Projection<Record>): Reading<Record> {
  const { paths, related } = projection;
  const columns = paths;
  if (related === undefined) {
    return {
      columns,
      entityColumns: 0,
      sourceOf: asItIs,
      recordsOf: (rows) => rows.map((row) => projection.readRow(row)),
    };
  }
  const keysOf = related.map((one) => keyReader(one, paths.indexOf(one.owner)));
  return {
    columns,
    entityColumns: 0,
    sourceOf: asItIs,
    recordsOf(rows, readers) {
      const owners = keysOf.map((readKey) => rows.map(readKey));
      return whenReady(readAllChildren(readers().readChildren, related, owners), (children) =>
        rows.map((row, index) => projection.readRow(row, ofRecord(children, index))),
      );
    },
  };
}

function asItIs(source: Source): Source {
  return source;
}

/** The columns of the entity come before the columns of the projection. */
function entityReading<Record>(meta: EntityMetadata, projection: Projection<Record>): Reading<Record> {
  const { paths, map } = hydrationOf(meta, projection.populate);
  return {
    columns: [...paths, ...projection.paths],
    entityColumns: paths.length,
    sourceOf: managedSource,
    async recordsOf(rows, readers) {
      const read = readers();
      const { em } = read;
      const entities = rows.map((row) => map(em, row));
      await dispatchOnLoad(em);
      await loadRelated(read, projection, entities);
      return entities.map((entity, index) => projection.readEntity(entity, rows[index]?.slice(paths.length)));
    },
  };
}

/**
 * Reads the children and values from related records that a projection shows of entities. Stores them for `readEntity`.
 */
export async function loadRelated(
  read: RelatedReaders,
  { related = [], aggregates = [] }: Projection<unknown>,
  entities: readonly object[],
): Promise<void> {
  await loadChildren(read.readChildren, related, entities);
  if (aggregates.length > 0 && entities.length > 0) await loadAggregates(read, aggregates, entities);
}

async function loadAggregates(
  { em, readAggregates }: RelatedReaders,
  aggregates: readonly RelatedPath[],
  entities: readonly object[],
): Promise<void> {
  const { property } = primaryKey(aggregates[0]!.related.root);
  const keys = entities.map((entity) => keyOf(entity[property.name as never]));
  const rows = new Map((await readAggregates(aggregates, keys)).map((row) => [keyText(row.at(-1)), row]));
  const readers = aggregates.map((path) => valueReader(path, em.getPlatform()));
  for (const [index, entity] of entities.entries()) {
    const row = rows.get(keyText(keys[index]));
    if (row === undefined) continue;
    for (const [place, path] of aggregates.entries()) {
      cacheRelated(path, entity, readers[place]?.(row[place]) ?? row[place]);
    }
  }
}

async function loadChildren(
  readChildren: ReadChildren,
  related: readonly RelatedProjection[],
  entities: readonly object[],
): Promise<void> {
  const owners = related.map(({ owner }) => entities.map(ownerReader(owner)));
  const children = await readAllChildren(readChildren, related, owners);
  for (const [place, one] of related.entries()) {
    for (const [index, entity] of entities.entries()) cacheRelated(one, entity, children[place]?.[index] ?? []);
  }
}

/**
 * Makes the function that reads the owner's key from an entity. It returns a text if different objects can be the same
 * key.
 */
function ownerReader(owner: FieldPath): (entity: object) => unknown {
  const read = entityReader(owner);
  if (owner.type.kind !== 'objectId') return read;
  return (entity) => {
    const key = read(entity);
    return key === null ? null : keyText(key);
  };
}

/** Reads the owner's key from a column of a row, in the entity's form. */
function keyReader({ readKey }: RelatedProjection, index: number): (row: readonly unknown[]) => unknown {
  return (row) => {
    const raw = row[index];
    return readKey === undefined || raw === null ? raw : readKey(raw);
  };
}

/** Groups children by owner. The owner's key is after the children's `width` columns. */
export function childrenByOwner(
  related: RelatedProjection,
  width: number,
  rows: readonly unknown[][],
  children: readonly unknown[],
): ChildrenByOwner {
  const readKey = keyReader(related, width);
  const found = new Map<unknown, unknown[]>();
  for (let index = 0; index < rows.length; index++) {
    const key = readKey(rows[index] as unknown[]);
    const known = found.get(key);
    if (known === undefined) found.set(key, [children[index]]);
    else known.push(children[index]);
  }
  return found;
}

/**
 * Reads the children of several records, a list for each relation and record. It reads the relations one after the
 * other, because a transaction has one connection. Outside a transaction, a request takes only one connection at a
 * time.
 *
 * @param owners the keys of the records, for each relation. Null: no record
 */
function readAllChildren(
  readChildren: ReadChildren,
  related: readonly RelatedProjection[],
  owners: readonly (readonly unknown[])[],
): Awaitable<readonly Children[]> {
  const found: Children[] = [];
  const readNext = (): Awaitable<readonly Children[]> => {
    const relation = related[found.length];
    if (relation === undefined) return found;
    const keys = owners[found.length] as readonly unknown[];
    const wanted = distinct(relation, keys);
    return whenReady(wanted.length === 0 ? NO_CHILDREN : readChildren(relation, wanted), (byOwner) => {
      found.push(keys.map((key) => byOwner.get(key) ?? []));
      return readNext();
    });
  };
  return readNext();
}

const NO_CHILDREN: ChildrenByOwner = new Map();

/** Lists the keys without null and duplicates. */
function distinct({ relation }: RelatedProjection, keys: readonly unknown[]): unknown[] {
  const wanted = new Set(keys);
  wanted.delete(null);
  for (const key of wanted) {
    if (typeof key !== 'object') continue;
    throw new TypeError(
      `"${relation.name}" cannot be read: the keys of its owners are objects, which no two records share`,
    );
  }
  return [...wanted];
}

/** Returns the children of one record, a list for each relation. */
function ofRecord(children: readonly Children[], index: number): Children {
  return children.map((ofRelation) => ofRelation[index] as readonly unknown[]);
}
