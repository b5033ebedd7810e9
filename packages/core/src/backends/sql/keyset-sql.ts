import type { Condition } from '../../language/condition.ts';
import { type KeysetTerms, keysetTerm, type Place, placesOf } from '../keyset.ts';
import { VALUE } from './dialects/comparison.ts';
import type { SqlScope } from './scope.ts';
import { SqlText } from './sql-text.ts';

/**
 * Makes the condition of the records after a place in an order: `(a, b) > (?, ?)` if that says it, which an index serves; else
 * `a > ? or (a = ? and …)`.
 */
export function keysetSql(scope: SqlScope, condition: Extract<Condition, { kind: 'after' }>): SqlText {
  const { dialect } = scope.context.plan;
  const places = placesOf(
    condition,
    ({ path }) => scope.value(path),
    ({ path }, value) => dialect.rawParameter(path, value),
  );
  const [{ key: first }] = places;
  const isUniform = places.every(({ key }) => !key.path.nullable && key.descending === first.descending);
  return isUniform ? rowComparison(places) : (keysetTerm(places, TERMS) ?? new SqlText().add('1 = 0'));
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

function isNull({ column }: SqlPlace, isWanted: boolean): SqlText {
  return new SqlText().append(column).add(` is ${isWanted ? '' : 'not '}null`);
}
