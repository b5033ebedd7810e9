import type { FieldPath } from '../fields/field-path.ts';
import type { OrderKey } from './condition.ts';

/** What a query reads of each record, and how a record is made of it. */
export interface Projection<Record> {
  /** The columns that a row holds, in its order. */
  readonly paths: readonly FieldPath[];
  /** Makes a record of a row: what the driver gave for each path (see `valueReader`). */
  readRow(row: readonly unknown[]): Record;
  /** Makes the same record of an entity whose `populate` is loaded. */
  readEntity(entity: object): Record;
  /** The relations that readEntity needs loaded. */
  readonly populate: readonly string[];
}

/**
 * Reads the values of an order's keys exactly, as strings, numbers, booleans and nulls, fit for JSON and for `after()`.
 */
export function orderValues(keys: readonly OrderKey[]): Projection<readonly (string | number | boolean | null)[]> {
  throw new Error(`not written yet ${keys.length}`);
}
