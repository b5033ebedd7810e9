import type { EntityMetadata, FilterQuery } from '@mikro-orm/core';
import type { FieldPath } from '../fields/field-path.ts';
import type { Lookup } from './lookup.ts';

/** One key of an order. NULLs come last in ascending and first in descending order, on every database. */
export interface OrderKey {
  readonly path: FieldPath;
  readonly descending: boolean;
}

/**
 * What a record must be like: an immutable tree. Every condition is true or false of a record, never unknown: a
 * comparison with NULL is false, and `not` of it is true.
 */
export type Condition =
  | { readonly kind: 'constant'; readonly value: boolean }
  | { readonly kind: 'compare'; readonly path: FieldPath; readonly lookup: Lookup; readonly value: unknown }
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly Condition[] }
  | { readonly kind: 'not'; readonly condition: Condition }
  | { readonly kind: 'after'; readonly keys: readonly OrderKey[]; readonly values: readonly unknown[] }
  | { readonly kind: 'matching'; readonly meta: EntityMetadata; readonly where: FilterQuery<object> };

/** True of every record. */
export const always: Condition = Object.freeze({ kind: 'constant', value: true });

/** True of no record. */
export const never: Condition = Object.freeze({ kind: 'constant', value: false });

/** A comparison of a field. `in` takes an array, `range` two values (both inclusive), `isnull` a boolean. */
export function compare(path: FieldPath, lookup: Lookup, value: unknown): Condition {
  return { kind: 'compare', path, lookup, value };
}

/** True where all are; `always` of none. */
export function and(...conditions: readonly Condition[]): Condition {
  return { kind: 'and', conditions };
}

/** True where at least one is; `never` of none. */
export function or(...conditions: readonly Condition[]): Condition {
  return { kind: 'or', conditions };
}

/** True where the condition is not. */
export function not(condition: Condition): Condition {
  return { kind: 'not', condition };
}

/**
 * True of the records that come after a given one in an order; the keys must make the order total (`totalOrder()`).
 * @param values what `orderValues(keys)` read from that record, one for each key
 */
export function after(keys: readonly OrderKey[], values: readonly unknown[]): Condition {
  return { kind: 'after', keys, values };
}

/** True of the records that come before a given one in an order. */
export function before(keys: readonly OrderKey[], values: readonly unknown[]): Condition {
  return after(reversed(keys), values);
}

/** The same order from its other end. */
export function reversed(keys: readonly OrderKey[]): readonly OrderKey[] {
  return keys.map((key) => ({ path: key.path, descending: !key.descending }));
}
