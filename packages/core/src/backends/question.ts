import type { FieldPath } from '../fields/field-path.ts';
import type { Condition } from '../query/language/condition.ts';
import type { Query, Slice } from '../query/language/query.ts';
import type { Visible } from './entity-filters.ts';

/** The visible records of a query, for one command. */
export interface Question extends Visible {
  readonly query: Query;
}

/** True if a question is the same each time: a view's own query without effective filters. */
export function isSettled({ query, condition, related }: Question): boolean {
  return query.author === 'view' && condition === query.condition && related === undefined;
}

/** The columns of a question about the existence of records. */
export const NO_COLUMNS: readonly FieldPath[] = Object.freeze([]);

/** The parts of a read that are not in its query. */
export interface Select {
  readonly columns: readonly FieldPath[];
  /** The number of leading columns from which entities are made; see `Reading`. */
  readonly entityColumns: number;
  /** A further condition on the primary key, which selects one record and changes from call to call. */
  readonly key?: Condition | undefined;
  readonly slice?: Slice | undefined;
  readonly ordered?: boolean;
  /** Locks the records against other writers until the transaction ends. */
  readonly locked?: boolean;
  /** True if at most one row is read. */
  readonly one?: boolean;
}
