import type { EntityMetadata, FilterOptions } from '@mikro-orm/core';
import { type Condition, isNever } from './condition.ts';
import type { Order } from './order.ts';

/** The part of the ordered records to read. */
export interface Slice {
  readonly offset: number;
  readonly limit: number;
}

/**
 * The source of a query's conditions and order. `view`: fixed at registration, so the query repeats and its statement
 * is written once. `code`: set by code, for one request. `client`: chosen by a client, so there may be endlessly many.
 */
export type QueryAuthor = 'view' | 'code' | 'client';

/** The records to read. */
export interface Query {
  readonly meta: EntityMetadata;
  readonly condition: Condition;
  readonly order: Order;
  readonly author: QueryAuthor;
  /**
   * The MikroORM filters to apply to the entity, in the form for `em.find`. Default: the filters that are on by
   * default.
   */
  readonly filters?: FilterOptions | undefined;
  /** If true, the records are already loaded, and no MikroORM filter hides any of them. Default: false. */
  readonly isLoaded?: boolean;
}

/** Every `Counting`. */
export const COUNTINGS = ['exact', 'estimated', 'none'] as const;

/**
 * How to count the records of a list. `exact`: count them. `estimated`: use the database's estimate, if there is one.
 * `none`: no number, so a page is one statement for tables of any size.
 */
export type Counting = (typeof COUNTINGS)[number];

/** One page of records, and the number of all records. */
export interface Page<Record, Count extends number | null = number> {
  readonly rows: Record[];
  /** Null if they were not counted. */
  readonly count: Count;
  /** True if more records follow. Always exact. */
  readonly next: boolean;
}

/** The type of `count` for a way of counting. */
export type CountOf<How extends Counting> = How extends 'none' ? null : number;

/** True if no record can match, so no query is needed. */
export function matchesNothing({ condition }: Query, slice?: Slice, key?: Condition): boolean {
  return isNever(condition) || slice?.limit === 0 || (key !== undefined && isNever(key));
}
