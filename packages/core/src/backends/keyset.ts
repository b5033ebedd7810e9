import type { Condition } from '../query/language/condition.ts';
import type { OrderKey } from '../query/language/order.ts';

/** An order key, its column in the database's form, and the value of the record to continue from. */
export interface Place<Column = string> {
  readonly key: OrderKey;
  readonly column: Column;
  readonly value: unknown;
}

/** The terms of a keyset, in the database's form. Undefined: a term that matches no record. */
export interface KeysetTerms<Term, Column = string> {
  /** Matches values after the given value, which is not NULL. Does not match NULL. */
  beyond(this: void, place: Place<Column>): Term | undefined;
  /**
   * The same, including the given value. Undefined if the database has no single comparison for it that an index
   * supports.
   */
  from(this: void, place: Place<Column>): Term | undefined;
  /** Matches the given value, which may be NULL. */
  same(this: void, place: Place<Column>): Term;
  isNull(this: void, place: Place<Column>, isWanted: boolean): Term;
  both(this: void, first: Term, second: Term): Term;
  either(this: void, first: Term, second: Term): Term;
}

/** Makes the places of a keyset. */
export function placesOf<Column>(
  { keys, values }: Extract<Condition, { kind: 'after' }>,
  columnOf: (key: OrderKey) => Column,
  valueOf: (key: OrderKey, value: unknown) => unknown,
): readonly [Place<Column>, ...Place<Column>[]] {
  const places = keys.map((key, index): Place<Column> => {
    return { key, column: columnOf(key), value: valueOf(key, values[index] ?? null) };
  });
  return places as [Place<Column>, ...Place<Column>[]];
}

/**
 * Makes the condition for the records after a position in an order: `a > 1 or (a = 1 and …)`. The bound of the first
 * key comes first, because an index supports it. NULLs come last in ascending and first in descending order. Undefined
 * if no record matches.
 */
export function keysetTerm<Term, Column>(
  places: readonly [Place<Column>, ...Place<Column>[]],
  terms: KeysetTerms<Term, Column>,
): Term | undefined {
  const [first, ...others] = places;
  const after = afterPlaces(places, terms);
  const isBound = first.value !== null && (first.key.descending || !first.key.path.nullable) && others.length > 0;
  const from = isBound ? terms.from(first) : undefined;
  return from === undefined || after === undefined ? after : terms.both(from, after);
}

function afterPlaces<Term, Column>(
  [place, ...rest]: readonly Place<Column>[],
  terms: KeysetTerms<Term, Column>,
): Term | undefined {
  if (place === undefined) return undefined;
  const beyond = beyondPlace(place, terms);
  const next = afterPlaces(rest, terms);
  if (next === undefined) return beyond;
  const same = terms.both(terms.same(place), next);
  return beyond === undefined ? same : terms.either(beyond, same);
}

function beyondPlace<Term, Column>(place: Place<Column>, terms: KeysetTerms<Term, Column>): Term | undefined {
  const { key, value } = place;
  if (value === null) return key.descending ? terms.isNull(place, false) : undefined;
  const beyond = terms.beyond(place);
  if (key.descending || !key.path.nullable) return beyond;
  const isNull = terms.isNull(place, true);
  return beyond === undefined ? isNull : terms.either(beyond, isNull);
}
