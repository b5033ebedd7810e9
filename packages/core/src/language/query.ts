import type { EntityMetadata, FilterOptions } from '@mikro-orm/core';
import { type Condition, isNever } from './condition.ts';
import type { Order } from './order.ts';

/** The part of the records that is read, in their order. */
export interface Slice {
  readonly offset: number;
  readonly limit: number;
}

/**
 * Who decides the conditions and the order of a query: a view when it is registered, so that the same query comes again and
 * its statement is written once; code, for one request; or a client, so that there may be endlessly many.
 */
export type QueryAuthor = 'view' | 'code' | 'client';

/** The records that a question is about. */
export interface Query {
  readonly meta: EntityMetadata;
  readonly condition: Condition;
  readonly order: Order;
  readonly author: QueryAuthor;
  /** The filters of MikroORM to apply to the entity, as `em.find` takes them; default: those that are on by default. */
  readonly filters?: FilterOptions | undefined;
  /** True: the records are loaded already, and no filter of MikroORM hides one of them. Default: false. */
  readonly isLoaded?: boolean;
}

/** Every `Counting`. */
export const COUNTINGS = ['exact', 'estimated', 'none'] as const;

/**
 * How all records of a list are counted. `exact`: they are counted. `estimated`: the database estimates, if it can. `none`: no number, so a
 * page is one statement however large the table is.
 */
export type Counting = (typeof COUNTINGS)[number];

/** One page of records, and the number of all records. */
export interface Page<Record, Count extends number | null = number> {
  readonly rows: Record[];
  /** Null if they were not counted. */
  readonly count: Count;
  /** True if records follow; always exact. */
  readonly next: boolean;
}

/** The type of `count` for a way of counting. */
export type CountOf<How extends Counting> = How extends 'none' ? null : number;

/** True if there is no record to read, which needs no question to a database. */
export function asksNothing({ condition }: Query, slice?: Slice, key?: Condition): boolean {
  return isNever(condition) || slice?.limit === 0 || (key !== undefined && isNever(key));
}
