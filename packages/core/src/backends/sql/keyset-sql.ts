import type { Condition } from '../../query/language/condition.ts';
import { type KeysetTerms, keysetTerm, type Place, placesOf } from '../keyset.ts';
import { VALUE } from './dialects/comparison.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { SqlScope } from './scope.ts';
import { SqlText } from './sql-text.ts';

type After = Extract<Condition, { kind: 'after' }>;

/**
 * Writes the condition for the records after a position in an order: `(a, b) > (?, ?)` if possible, which an index
 * supports; else `a > ? or (a = ? and …)`.
 */
export function keysetSql(scope: SqlScope, condition: After): SqlText {
  const { dialect } = scope.context.plan;
  const places = placesOf(
    condition,
    ({ path }) => scope.value(path),
    ({ path }, value) => dialect.rawParameter(path, value),
  );
  return keyset(places, TERMS, rowComparison) ?? new SqlText().add('1 = 0');
}

/**
 * Returns the values that `keysetSql` binds, in order.
 *
 * @param bound the values that the SQL of each key itself binds
 */
export function keysetValues(
  dialect: Dialect,
  condition: After,
  bound: readonly (readonly unknown[])[],
): readonly unknown[] {
  const places = placesOf(
    condition,
    (key) => bound[condition.keys.indexOf(key)] ?? [],
    ({ path }, value) => dialect.rawParameter(path, value),
  );
  const ofRow = (): readonly unknown[] => [
    ...places.flatMap(({ column }) => column),
    ...places.map(({ value }) => value),
  ];
  return keyset(places, VALUES, ofRow) ?? [];
}

/** @param ofRow compares the keys as one row. This works if all have the same direction and none is ever NULL */
function keyset<Term, Column>(
  places: readonly [Place<Column>, ...Place<Column>[]],
  terms: KeysetTerms<Term, Column>,
  ofRow: (places: readonly [Place<Column>, ...Place<Column>[]]) => Term,
): Term | undefined {
  const [{ key: first }] = places;
  const isUniform = places.every(({ key }) => !key.path.nullable && key.descending === first.descending);
  return isUniform ? ofRow(places) : keysetTerm(places, terms);
}

type SqlPlace = Place<SqlText>;

function rowComparison(places: readonly [SqlPlace, ...SqlPlace[]]): SqlText {
  const [first, ...others] = places;
  const operator = first.key.descending ? '<' : '>';
  if (others.length === 0) return comparison(first, operator);
  const columns = new SqlText().append(first.column);
  for (const { column } of others) columns.add(', ').append(column);
  const marks = places.map(() => VALUE).join(', ');
  const values = places.map(({ value }) => value);
  return new SqlText().add('(').append(columns).add(`) ${operator} (${marks})`, values);
}

function comparison({ column, value }: SqlPlace, operator: string): SqlText {
  return new SqlText().append(column).add(` ${operator} ${VALUE}`, [value]);
}

const TERMS: KeysetTerms<SqlText, SqlText> = {
  beyond: (place) => comparison(place, place.key.descending ? '<' : '>'),
  from: (place) => comparison(place, place.key.descending ? '<=' : '>='),
  same: (place) => (place.value === null ? isNull(place, true) : comparison(place, '=')),
  isNull,
  both: (first, second) => first.add(' and (').append(second).add(')'),
  either: (first, second) => first.add(' or (').append(second).add(')'),
};

/** The values that `TERMS` binds. */
const VALUES: KeysetTerms<readonly unknown[], readonly unknown[]> = {
  beyond: ({ column, value }) => [...column, value],
  from: ({ column, value }) => [...column, value],
  same: ({ column, value }) => (value === null ? column : [...column, value]),
  isNull: ({ column }) => column,
  both: (first, second) => [...first, ...second],
  either: (first, second) => [...first, ...second],
};

function isNull({ column }: SqlPlace, isWanted: boolean): SqlText {
  return new SqlText().append(column).add(` is ${isWanted ? '' : 'not '}null`);
}
