import type { FieldPath } from '../../fields/field-path.ts';
import { compare } from '../../query/language/compare.ts';
import type { Bound } from './dialects/reader.ts';
import { isPlainText } from './dialects/text-column.ts';
import { selectionSql } from './selection.ts';
import { SqlText } from './sql-text.ts';
import { rootScope, type SqlQuestion, whereText } from './statement.ts';

/** True for a column that may consider different texts equal: `Tea` and `tea`, 1.0 and 1.00. */
export function mayHoldEqual(path: FieldPath): boolean {
  return path.type.kind === 'string' ? !isPlainText(path) : path.type.kind === 'decimal';
}

/**
 * `select "code", … from "tea" where "code" in (…)`: the stored values, each with the positions of the values that it
 * equals.
 */
export function bindStoredValues(
  { em, plan, related }: SqlQuestion,
  path: FieldPath,
  values: readonly unknown[],
): Bound {
  const scope = rootScope(em, plan, related);
  const where = whereText(scope, compare(path, 'in', values));
  const text = new SqlText()
    .add('select ')
    .append(selectionSql(scope, [path]))
    .add(', ');
  text.addAbout(scope.value(path), plan.dialect.placesOf(path, values)).add(' as places');
  text.add(' from ').append(scope.from()).append(where);
  return text.bound(plan.dialect, { isShapedByClient: true });
}

/** Reads the rows: the stored value for each of the values. */
export function placedValues(
  rows: readonly unknown[][],
  values: readonly unknown[],
  read: (raw: unknown) => unknown = (raw) => raw,
): ReadonlyMap<unknown, unknown> {
  return new Map(
    rows.flatMap(([raw, places]) =>
      (JSON.parse(places as string) as number[]).map((place) => [values[place - 1], read(raw)]),
    ),
  );
}
