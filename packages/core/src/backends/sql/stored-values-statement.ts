import type { FieldPath } from '../../fields/field-path.ts';
import { compare } from '../../language/compare.ts';
import type { Bound } from './dialects/reader.ts';
import { isPlainText } from './dialects/text-column.ts';
import { selectionSql } from './selection.ts';
import { SqlText } from './sql-text.ts';
import { rootScope, type SqlQuestion, whereText } from './statement.ts';

/** True of a column that may hold values equal whose texts are not: `Tea` and `tea`, 1.0 and 1.00. */
export function mayHoldEqual(path: FieldPath): boolean {
  return path.type.kind === 'string' ? !isPlainText(path) : path.type.kind === 'decimal';
}

/** `select "code", … from "tea" where "code" in (…)`: what is stored, and the places of the values that it is equal to. */
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

/** Reads the rows: what is stored for each of the values. */
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
