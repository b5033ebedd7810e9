import type { Condition } from '../language/condition.ts';
import type { OrderKey } from '../language/order.ts';

/** A key with the column that it stands for, as a database writes it, and the value of the record to go on from. */
export interface Place<Column = string> {
  readonly key: OrderKey;
  readonly column: Column;
  readonly value: unknown;
}

/** The terms that keysets are made of, as a database writes them; undefined: true of no record. */
export interface KeysetTerms<Term, Column = string> {
  /** Values beyond that of the place, which is not NULL; without NULL. */
  beyond(this: void, place: Place<Column>): Term | undefined;
  /** The same, with the value itself. Undefined if the database cannot say so by one comparison, which an index serves. */
  from(this: void, place: Place<Column>): Term | undefined;
  /** The value of the place, which may be NULL. */
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
 * Makes the condition of the records after a place in an order: `a > 1 or (a = 1 and …)`, with the first key's bound in front, which an
 * index serves. NULLs come last in ascending and first in descending order. Undefined if it is true of no record.
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
