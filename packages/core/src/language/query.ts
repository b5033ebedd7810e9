import type { EntityMetadata } from '@mikro-orm/core';
import type { Condition } from './condition.ts';
import type { Order } from './order.ts';

/** The part of the records that is read, in their order. */
export interface Slice {
  readonly offset: number;
  readonly limit: number;
}

/** The records that a question is about. */
export interface Query {
  readonly meta: EntityMetadata;
  readonly condition: Condition;
  readonly order: Order;
  readonly slice: Slice | undefined;
  /** True if a client chose which conditions and orders there are: there may be endlessly many such questions. */
  readonly isShapedByClient: boolean;
}

/** The ways to say how many records there are beside a page of them. */
export const COUNTINGS = ['exact', 'estimated', 'none'] as const;

/**
 * How many records there are in all: counted, `exact`; where the database can tell without counting, what it expects,
 * `estimated`; or not said, `none`, for one statement a page however large the table.
 */
export type Counting = (typeof COUNTINGS)[number];

/** One page of records, and how many there are in all. */
export interface Page<Record, Count extends number | null = number> {
  readonly rows: Record[];
  /** Null if they were not counted. */
  readonly count: Count;
  /** True if records follow; always exact. */
  readonly next: boolean;
}

/** The type of `count` for a way of counting. */
export type CountOf<How extends Counting> = How extends 'none' ? null : number;
