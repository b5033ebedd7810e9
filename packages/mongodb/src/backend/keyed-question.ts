import type { Condition, FieldPath } from '@viewset/core';
import type { Question } from '@viewset/core/backend';
import type { Document } from '../mikro/mongo-driver.ts';

/** The places that an order gives to related records. */
export interface Ranking {
  /** The field that refers to them. */
  readonly field: string;
  readonly keys: readonly unknown[];
  /** The place of each key: one for all that are equal in the order. */
  readonly ranks: readonly number[];
}

/** The keys of related records, by what asks for them. */
export interface RelatedKeys {
  /** Filters of own fields, in the place of conditions that ask for other records. */
  readonly filters: ReadonlyMap<Condition, Document>;
  readonly rankings: ReadonlyMap<FieldPath, Ranking>;
}

/** A question whose related records may have been found already. */
export interface KeyedQuestion extends Question {
  readonly keys?: RelatedKeys;
}
