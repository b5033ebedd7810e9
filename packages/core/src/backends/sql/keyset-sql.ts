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
    ({ path }) => scope.column(path.steps, path.property),
    ({ path }, value) => dialect.rawParameter(path, value),
  );
  const [{ key: first }] = places;
  const isUniform = places.every(({ key }) => !key.path.nullable && key.descending === first.descending);
  return isUniform ? rowComparison(places) : (keysetTerm(places, TERMS) ?? new SqlText().add('1 = 0'));
}

function rowComparison(places: readonly [Place, ...Place[]]): SqlText {
  const columns = places.map(({ column }) => column).join(', ');
  const marks = places.map(() => VALUE).join(', ');
  const values = places.map(({ value }) => value);
  const operator = places[0].key.descending ? '<' : '>';
  const sql = places.length === 1 ? `${columns} ${operator} ${marks}` : `(${columns}) ${operator} (${marks})`;
  return new SqlText().add(sql, values);
}

const TERMS: KeysetTerms<SqlText> = {
  beyond: ({ key, column, value }) => new SqlText().add(`${column} ${key.descending ? '<' : '>'} ${VALUE}`, [value]),
  from: ({ key, column, value }) => new SqlText().add(`${column} ${key.descending ? '<=' : '>='} ${VALUE}`, [value]),
  same: (place) =>
    place.value === null ? isNull(place, true) : new SqlText().add(`${place.column} = ${VALUE}`, [place.value]),
  isNull,
  both: (first, second) => first.add(' and (').append(second).add(')'),
  either: (first, second) => first.add(' or (').append(second).add(')'),
};

function isNull({ column }: Place, isWanted: boolean): SqlText {
  return new SqlText().add(`${column} is ${isWanted ? '' : 'not '}null`);
}
