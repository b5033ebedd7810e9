import type { OrderKey } from '../language/order.ts';
import { orderValues, type Projection } from '../language/projection.ts';
import type { PositionValue } from './cursor-codec.ts';

/** A record, and its place in the order. */
export interface Positioned<Record> {
  readonly record: Record;
  readonly position: readonly PositionValue[];
}

/**
 * Reads with each record the values of the order's keys, whether or not the record shows them. They come from the row
 * wherever there is one: an entity may hold less than the column, such as no microseconds.
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
    readRow: (row) => ({ record: projection.readRow(row), position: positions.readRow(row.slice(width)) }),
    readEntity: (entity, row) => ({
      record: projection.readEntity(entity, row),
      position: row === undefined ? positions.readEntity(entity) : positions.readRow(row.slice(width)),
    }),
    populate: projection.ofEntities === true ? projection.populate : [...projection.populate, ...positions.populate],
  };
}
