import { VALUE, type Dialect } from './dialects/dialect.ts';
import { concat, fragment, type Fragment } from './fragment.ts';
import type { OrderKey } from '../../language/order.ts';

/** A key with the column it stands for, and the value of the record to go on from. */
interface Place {
  readonly key: OrderKey;
  readonly column: string;
  readonly value: unknown;
}

/**
 * What comes after a place in an order: `(a, b) > (?, ?)` where that says it, which an index serves; else
 * `a > ? or (a = ? and …)`, with the first key's bound in front, which an index serves as well.
 */
export function keysetSql(
  dialect: Dialect,
  keys: readonly OrderKey[],
  columns: readonly string[],
  raw: readonly unknown[],
): Fragment {
  const places = keys.map((key, index): Place => {
    return { key, column: columns[index] ?? '', value: dialect.rawParameter(key.path, raw[index] ?? null) };
  });
  const [first] = places as [Place];
  const isUniform = places.every(({ key }) => !key.path.nullable && key.descending === first.key.descending);
  if (isUniform) return rowComparison(places, first.key.descending ? '<' : '>');
  const rest = afterPlaces(places, 0);
  const hasBound = first.value !== null && (first.key.descending || !first.key.path.nullable);
  if (!hasBound || places.length === 1) return rest;
  const bound = fragment(`${first.column} ${first.key.descending ? '<=' : '>='} ${VALUE}`, [first.value]);
  return concat([bound, ' and (', rest, ')']);
}

function rowComparison(places: readonly Place[], operator: '<' | '>'): Fragment {
  const values = places.map(({ value }) => value);
  if (places.length === 1) return fragment(`${places[0]?.column} ${operator} ${VALUE}`, values);
  const columns = places.map(({ column }) => column).join(', ');
  return fragment(`(${columns}) ${operator} (${places.map(() => VALUE).join(', ')})`, values);
}

function afterPlaces(places: readonly Place[], index: number): Fragment {
  const place = places[index] as Place;
  const beyond = beyondPlace(place);
  if (index === places.length - 1) return beyond ?? fragment('1 = 0');
  const tie =
    place.value === null ? fragment(`${place.column} is null`) : fragment(`${place.column} = ${VALUE}`, [place.value]);
  const tied = concat([tie, ' and (', afterPlaces(places, index + 1), ')']);
  return beyond === undefined ? tied : concat([beyond, ' or (', tied, ')']);
}

/** NULLs come last in ascending and first in descending order; nothing lies beyond the last. */
function beyondPlace({ key, column, value }: Place): Fragment | undefined {
  if (value === null) return key.descending ? fragment(`${column} is not null`) : undefined;
  if (key.descending) return fragment(`${column} < ${VALUE}`, [value]);
  const greater = fragment(`${column} > ${VALUE}`, [value]);
  return key.path.nullable ? concat([greater, ` or ${column} is null`]) : greater;
}

/** What of a place decides the text: its keys, and which of its values are NULL. */
export function keysetKey(keys: readonly OrderKey[], raw: readonly unknown[]): string {
  return keys
    .map(({ path, descending }, index) => `${descending ? '-' : '+'}${raw[index] === null ? '0' : ''}${path.key}`)
    .join();
}

/** The values that `keysetSql` binds, in its order. */
export function keysetValues(dialect: Dialect, keys: readonly OrderKey[], raw: readonly unknown[]): readonly unknown[] {
  // The text is cheap beside a page that begins in the middle, and there is one truth about the order of the values.
  return keysetSql(
    dialect,
    keys,
    keys.map(() => ''),
    raw,
  ).values;
}
