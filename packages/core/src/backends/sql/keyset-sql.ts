import type { Condition } from '../../language/condition.ts';
import type { OrderKey } from '../../language/order.ts';
import { VALUE } from './dialects/comparison.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { SqlText } from './sql-text.ts';

/** A key with the column it stands for, and the value of the record to go on from. */
interface Place {
  readonly key: OrderKey;
  readonly column: string;
  readonly value: unknown;
}

/**
 * Writes the condition of the records after a place in an order: `(a, b) > (?, ?)` if that says it, which an index serves; else
 * `a > ? or (a = ? and …)`, with the first key's bound in front, which an index serves as well.
 */
export function writeKeyset(
  out: SqlText,
  dialect: Dialect,
  { keys, values }: Extract<Condition, { kind: 'after' }>,
  columns: readonly string[],
): void {
  const places = keys.map((key, index): Place => {
    return { key, column: columns[index] ?? '', value: dialect.rawParameter(key.path, values[index] ?? null) };
  });
  const [first] = places as [Place];
  if (places.every(({ key }) => !key.path.nullable && key.descending === first.key.descending)) {
    writeRowComparison(out, places, first.key.descending ? '<' : '>');
    return;
  }
  const hasBound = first.value !== null && (first.key.descending || !first.key.path.nullable) && places.length > 1;
  if (hasBound) out.add(`${first.column} ${first.key.descending ? '<=' : '>='} ${VALUE} and (`, [first.value]);
  writeAfter(out, places);
  if (hasBound) out.add(')');
}

function writeRowComparison(out: SqlText, places: readonly Place[], operator: '<' | '>'): void {
  const columns = places.map(({ column }) => column).join(', ');
  const marks = places.map(() => VALUE).join(', ');
  const values = places.map(({ value }) => value);
  out.add(places.length === 1 ? `${columns} ${operator} ${marks}` : `(${columns}) ${operator} (${marks})`, values);
}

function writeAfter(out: SqlText, [place, ...rest]: readonly Place[]): void {
  if (place === undefined) {
    out.add('1 = 0');
    return;
  }
  const { column, value } = place;
  const isBeyondWritten = writeBeyond(out, place);
  if (rest.length === 0) {
    if (!isBeyondWritten) out.add('1 = 0');
    return;
  }
  out.add(isBeyondWritten ? ' or (' : '');
  out.add(value === null ? `${column} is null and (` : `${column} = ${VALUE} and (`, value === null ? [] : [value]);
  writeAfter(out, rest);
  out.add(isBeyondWritten ? '))' : ')');
}

/** NULLs come last in ascending and first in descending order; false if nothing lies beyond, being the last. */
function writeBeyond(out: SqlText, { key, column, value }: Place): boolean {
  if (value === null) {
    if (key.descending) out.add(`${column} is not null`);
    return key.descending;
  }
  out.add(`${column} ${key.descending ? '<' : '>'} ${VALUE}`, [value]);
  if (!key.descending && key.path.nullable) out.add(` or ${column} is null`);
  return true;
}
