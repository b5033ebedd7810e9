import type { FieldPath } from '../../fields/field-path.ts';
import { ImproperlyConfigured } from '../../errors.ts';
import { customTypeOf } from '../../fields/field-type.ts';
import { valueProperty } from '../../fields/property.ts';
import type { Scope } from './scope.ts';

/** The columns that a statement reads. Two of the same key have the same text. */
export interface Selection {
  readonly key: string;
  readonly paths: readonly FieldPath[];
}

const known = new WeakMap<object, Selection>();

/** The columns of a projection. @throws ImproperlyConfigured for a path through a relation to many */
export function selectionOf(projection: { readonly paths: readonly FieldPath[] }): Selection {
  let selection = known.get(projection);
  if (selection === undefined) {
    known.set(projection, (selection = { key: projection.paths.map(keyOf).join(), paths: projection.paths }));
  }
  return selection;
}

/** The columns of one selection, and behind them those of another. */
export function joinedSelections(first: Selection, second: Selection): Selection {
  return { key: `${first.key}+${second.key}`, paths: [...first.paths, ...second.paths] };
}

function keyOf(path: FieldPath): string {
  if (!path.toMany) return path.key;
  throw new ImproperlyConfigured(`"${path.key}" cannot be read: it has many values for one record`);
}

/** `t0."id" as c0, …`: every column has a name of its own, whatever it is called in its table. */
export function selectionSql(scope: Scope, { paths }: Selection): string {
  return paths.map((path, index) => `${columnSql(scope, path)} as c${index}`).join(', ');
}

function columnSql(scope: Scope, path: FieldPath): string {
  const { em, plan } = scope.context;
  const sql = scope.column(path.steps, path.property);
  const { hasConvertToJSValueSQL } = valueProperty(path.property);
  const custom = hasConvertToJSValueSQL ? customTypeOf(path.property) : undefined;
  return custom?.convertToJSValueSQL?.(sql, em.getPlatform()) ?? plan.dialect.selected(path, sql);
}
