import type { FieldPath } from '../../../fields/field-path.ts';
import { valueProperty } from '../../../fields/property.ts';

/** True of a column of text that declares no type or collation of its own: its values are equal if their characters are. */
export function isPlainText(path: FieldPath): boolean {
  return !hasOwnType(path) && !hasOwnCollation(path);
}

/** True of a column of another type than text, which may compare in its own way: citext folds case, whatever is asked. */
export function hasOwnType({ property }: FieldPath): boolean {
  return !/^(?:text|varchar|character varying)/.test(valueProperty(property).columnTypes[0] ?? '');
}

/** True of a column that declares a collation, which may take several texts for one: `nocase`, or a nondeterministic one. */
export function hasOwnCollation({ property }: FieldPath): boolean {
  const { collation, columnTypes } = valueProperty(property);
  return collation !== undefined || /\bcollate\b/i.test(columnTypes[0] ?? '');
}
