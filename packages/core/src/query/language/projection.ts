import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { FieldPath } from '../../fields/field-path.ts';
import { populateFor } from '../../mikro/entity-reader.ts';
import { readerOfEntity } from './cached-related.ts';
import type { OrderKey } from './order.ts';
import type { Query } from './query.ts';
import type { RelatedPath } from './related-path.ts';

/** The columns that a query reads for each record, and how it makes the record. */
export interface Projection<Record> {
  /** The columns of a row, in order. */
  readonly paths: readonly FieldPath[];
  /** The to-many relations that each record shows. Omitted if there are none. */
  readonly related?: readonly RelatedProjection[];
  /** The `paths` with values from related records, which no entity holds. Omitted if there are none. */
  readonly aggregates?: readonly RelatedPath[];
  /**
   * Makes a record from a row with the driver's value for each path (see `valueReader`). `children` has a list for each
   * entry of `related`.
   */
  readRow(row: readonly unknown[], children?: Children): Record;
  /**
   * Makes the same record from an entity with `populate` loaded. `cacheRelated` has stored the values from related
   * records. `row`: see `ofEntities`.
   */
  readEntity(entity: object, row?: readonly unknown[]): Record;
  /** The relations that readEntity needs to be loaded. */
  readonly populate: readonly string[];
  /**
   * If true, readEntity makes all records. The same statement reads their entities, and the query set's `em` manages
   * them. readEntity then also gets the columns of `paths`. Default: false, readRow makes the records.
   */
  readonly ofEntities?: boolean;
}

/** A projection whose records may depend on the request. */
export interface ShapeProjection<Record> extends Projection<Record> {
  /** Makes the same projection for one request. Omitted if the records do not depend on requests. */
  forRequest?(request: object): Projection<Record>;
}

/** The children of one record, a list for each entry of `Projection.related`, in its order. */
export type Children = readonly (readonly unknown[])[];

/** The children of one to-many relation that each record of a projection shows. A separate statement reads them. */
export interface RelatedProjection {
  /** A property of the record's entity, or of an entity that it refers to. */
  readonly relation: EntityProperty;
  /** The entity that has the property. */
  readonly ownerMeta: EntityMetadata;
  /**
   * The path from the record to the key that its children refer to: `id`, or `author.id`. It is one of the projection's
   * `paths`.
   */
  readonly owner: FieldPath;
  /** Converts the driver's value of that key, never null, to the entity's value. Undefined if both are the same. */
  readonly readKey: ((raw: unknown) => unknown) | undefined;
  /** All possible children, in order. */
  readonly query: Query;
  /** If true, the order in which the children were added to the relation comes first. Default: false. */
  readonly asAdded?: boolean;
  /** The most children of one record, the first in their order. Undefined: all. */
  readonly limit: number | undefined;
  /** Makes a child from its row. */
  readonly projection: ShapeProjection<unknown>;
  /** If true, `find` reads them in the same statement as the record. Default: false. */
  readonly joined?: boolean;
}

/**
 * Makes a projection for `find` that reads the first relation without a limit in the statement of the record. The
 * database sends the record's columns with each child, so this suits few children. Each further relation has a separate
 * statement.
 */
export function withJoinedChildren<Record>(base: Projection<Record>): Projection<Record> {
  const { related = [] } = base;
  const first = related.find(
    ({ limit, asAdded, projection }) => limit === undefined && asAdded !== true && projection.ofEntities !== true,
  );
  if (first === undefined || base.ofEntities === true) return base;
  return { ...base, related: related.map((one) => (one === first ? { ...one, joined: true } : one)) };
}

/** Makes a projection with records made from entities. The entities are loaded as for the given projection. */
export function ofEntities<Record>(
  base: Projection<Record>,
  represent: (entity: object) => Record,
): Projection<Record> {
  return { ...base, paths: [], readEntity: represent, ofEntities: true };
}

/** A record, and its key as the database has it. */
export interface Keyed<Record> {
  readonly key: unknown;
  readonly record: Record;
}

/** Makes a projection that also reads a column as the key of the record. */
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

/** A value of an order key, in a JSON type. */
export type OrderValue = string | number | boolean | null;

/**
 * Reads the values of order keys exactly, as strings, numbers, booleans and nulls, for JSON and for `after()`. Values
 * from rows are exact to the microsecond and the last digit. Values from entities are as exact as the entities.
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

/** A record, and its position in the order. */
export interface Positioned<Record> {
  readonly record: Record;
  readonly position: readonly OrderValue[];
}

/**
 * Makes a projection that also reads the values of the order keys, even if the record does not show them. They come
 * from the row if there is one, because an entity may be less exact than the column. For example, it has no
 * microseconds.
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
