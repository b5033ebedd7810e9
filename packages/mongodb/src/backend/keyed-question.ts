import type { Condition, FieldPath } from '@viewset/core';
import type { Question } from '@viewset/core/backend';
import type { Document } from '../mikro/mongo-driver.ts';

/** The ranks that an order gives to related records. */
export interface Ranking {
  /** The field that refers to them. */
  readonly field: string;
  readonly keys: readonly unknown[];
  /** The rank of each key. Records that are equal in the order have the same rank. */
  readonly ranks: readonly number[];
}

/** The keys of related records, by the condition or order that needs them. */
export interface RelatedKeys {
  /** Filters on own fields that replace conditions on other records. */
  readonly filters: ReadonlyMap<Condition, Document>;
  readonly rankings: ReadonlyMap<FieldPath, Ranking>;
}

/** A question whose related keys may already be known. */
export interface KeyedQuestion extends Question {
  readonly keys?: RelatedKeys;
}
