import type { FieldPath } from '../fields/field-path.ts';
import type { Condition } from '../language/condition.ts';
import type { Query, Slice } from '../language/query.ts';
import type { Visible } from './entity-filters.ts';

/** The records that a command reads: those of a query that may be seen. */
export interface Question extends Visible {
  readonly query: Query;
}

/** True if a question is the same each time that it is asked: a view's own, which no filter changes. */
export function isSettled({ query, condition, related }: Question): boolean {
  return query.author === 'view' && condition === query.condition && related === undefined;
}

/** The columns of a question that asks whether there are records, not what they are. */
export const NO_COLUMNS: readonly FieldPath[] = Object.freeze([]);

/** The parts of a reading that its query does not say. */
export interface Select {
  readonly columns: readonly FieldPath[];
  /** The number of columns in front that entities are made of; see `Reading`. */
  readonly entityColumns: number;
  /** A further condition that changes from call to call: on the primary key, which stands for one record. */
  readonly key?: Condition | undefined;
  readonly slice?: Slice | undefined;
  readonly ordered?: boolean;
  /** Keeps others from writing the records until the transaction ends. */
  readonly locked?: boolean;
  /** True if one row is read at most. */
  readonly one?: boolean;
}
