import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { FieldPath } from '../fields/field-path.ts';
import { populateFor } from '../mikro/entity-reader.ts';
import { type Condition, unchanged } from './condition.ts';
import { readerOfEntity } from './kept-values.ts';
import type { OrderKey } from './order.ts';
import type { Query } from './query.ts';
import type { RelatedPath } from './related-path.ts';

/** The columns that a query reads for each record, and how a record is made from them. */
export interface Projection<Record> {
  /** The columns of a row, in its order. */
  readonly paths: readonly FieldPath[];
  /** The to-many relations that each record shows; left out if there are none. */
  readonly related?: readonly RelatedProjection[];
  /** The `paths` whose values related records decide, so that no entity has them; left out if there are none. */
  readonly told?: readonly RelatedPath[];
  /** Makes a record from a row, which has the driver's value for each path (see `valueReader`). `children` has a list for each of `related`. */
  readRow(row: readonly unknown[], children?: Children): Record;
  /**
   * Makes the same record from an entity whose `populate` is loaded; `keepShown` has the values of related records. `row`: see
   * `ofEntities`.
   */
  readEntity(entity: object, row?: readonly unknown[]): Record;
  /** The relations that readEntity needs loaded. */
  readonly populate: readonly string[];
  /**
   * True: readEntity makes all records, from entities that the query set's `em` manages and the same statement reads. It also gets the
   * columns of `paths`. Default: false, readRow makes them.
   */
  readonly ofEntities?: boolean;
}

/** A projection whose records may tell of the request that they are read for. */
export interface ShapeProjection<Record> extends Projection<Record> {
  /** Makes the same projection for one request; left out if the records tell of none. */
  forRequest?(request: object): Projection<Record>;
}

/** The children of one record, by the place of their relation in `Projection.related`. */
export type Children = readonly (readonly unknown[])[];

/** The children that each record of a projection shows of one relation to many. They are read by a statement of their own. */
export interface RelatedProjection {
  /** A property of the record's entity, or of one that it refers to. */
  readonly relation: EntityProperty;
  /** The entity that has the property. */
  readonly ownerMeta: EntityMetadata;
  /** The way from the record to the key that ties its children to it: `id`, or `author.id`. One of the projection's `paths`. */
  readonly owner: FieldPath;
  /** Makes of what the driver gives for that key, never null, what the entity holds; undefined if both are the same. */
  readonly readKey: ((raw: unknown) => unknown) | undefined;
  /** All records that may be children, in their order. */
  readonly query: Query;
  /** The greatest number of children of one record, the first in their order; undefined: all. */
  readonly limit: number | undefined;
  /** Makes a child of its row. */
  readonly projection: ShapeProjection<unknown>;
  /** True if `find` reads them by the statement that finds the record. Default: false. */
  readonly joined?: boolean;
}

/**
 * A projection whose children of one relation `find` reads by the statement of the record itself: of the first one that has no limit. A
 * database sends the record's columns with each child, so that it fits few children. Those of further relations have a statement each.
 */
export function withJoinedChildren<Record>(base: Projection<Record>): Projection<Record> {
  const { related = [] } = base;
  const first = related.find(({ limit, projection }) => limit === undefined && projection.ofEntities !== true);
  if (first === undefined || base.ofEntities === true) return base;
  return { ...base, related: related.map((one) => (one === first ? { ...one, joined: true } : one)) };
}

/** A projection whose records are made of entities, loaded as the given one needs them. */
export function ofEntities<Record>(
  base: Projection<Record>,
  represent: (entity: object) => Record,
): Projection<Record> {
  return { ...base, paths: [], readEntity: represent, ofEntities: true };
}

/** A record, and the value that names it as the database has it. */
export interface Keyed<Record> {
  readonly key: unknown;
  readonly record: Record;
}

/** A projection that reads a column as well, as the key of the record. */
export function withKey<Record>(base: Projection<Record>, key: FieldPath): Projection<Keyed<Record>> {
  const shown = base.paths.indexOf(key);
  const paths = shown === -1 ? [...base.paths, key] : base.paths;
  const index = shown === -1 ? base.paths.length : shown;
  return {
    ...base,
    paths,
    readRow: (row, children) => ({ key: row[index], record: base.readRow(row, children) }),
    readEntity: (entity, row) => ({ key: row?.[index], record: base.readEntity(entity, row) }),
  };
}

/** A value of an order's key, fit for JSON. */
export type OrderValue = string | number | boolean | null;

/** A record, and the condition that is true of it as long as nobody changes what was read of it. */
export interface Seen<Record> {
  readonly record: Record;
  /** Undefined if what was read of it is not known. */
  readonly unchanged: Condition | undefined;
}

/** A projection that tells of each record by what it is the same record still. Those made of entities do not tell. */
export function withUnchanged<Record>(base: Projection<Record>): Projection<Seen<Record>> {
  const { paths } = base;
  return {
    ...base,
    readRow: (row, children) => ({ record: base.readRow(row, children), unchanged: unchanged(paths, row) }),
    readEntity: (entity, row) => ({ record: base.readEntity(entity, row), unchanged: undefined }),
  };
}

/**
 * Reads the values of an order's keys exactly, as strings, numbers, booleans and nulls, fit for JSON and for `after()`.
 * Those of rows are exact to the microsecond and to the last digit; those of entities are what the entities hold.
 */
export function orderValues(keys: readonly OrderKey[]): Projection<readonly OrderValue[]> {
  const paths = keys.map(({ path }) => path);
  const readers = paths.map(readerOfEntity);
  return {
    paths,
    readRow: (row) => row.map(orderValue),
    readEntity: (entity) => readers.map((read) => orderValue(read(entity))),
    populate: [...new Set(paths.flatMap(populateFor))],
  };
}

/** A record, and its place in the order. */
export interface Positioned<Record> {
  readonly record: Record;
  readonly position: readonly OrderValue[];
}

/**
 * Makes a projection that reads with each record the values of the order's keys, whether or not the record shows them.
 * They come from the row if there is one: an entity may hold less than the column, such as no microseconds.
 */
export function withPosition<Record>(
  projection: Projection<Record>,
  keys: readonly OrderKey[],
): Projection<Positioned<Record>> {
  const positions = orderValues(keys);
  const width = projection.paths.length;
  return {
    ...projection,
    paths: [...projection.paths, ...positions.paths],
    readRow: (row, children) => ({
      record: projection.readRow(row, children),
      position: positions.readRow(row.slice(width)),
    }),
    readEntity: (entity, row) => ({
      record: projection.readEntity(entity, row),
      position: row === undefined ? positions.readEntity(entity) : positions.readRow(row.slice(width)),
    }),
    populate: projection.ofEntities === true ? projection.populate : [...projection.populate, ...positions.populate],
  };
}

function orderValue(value: unknown): OrderValue {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
      return value;
    case 'bigint':
      return String(value);
    default:
      return value instanceof Date ? value.toISOString() : null;
  }
}
