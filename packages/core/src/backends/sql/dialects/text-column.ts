import type { FieldPath } from '../../../fields/field-path.ts';
import { valueProperty } from '../../../fields/property.ts';

/** True for a text column without its own type or collation. Its values are equal only if their characters are. */
export function isPlainText(path: FieldPath): boolean {
  return !hasDeclaredType(path) && !hasDeclaredCollation(path);
}

/**
 * True for a column of another type than text, which may have its own comparison. For example, citext always folds
 * case.
 */
export function hasDeclaredType({ property }: FieldPath): boolean {
  return !/^(?:text|varchar|character varying)/.test(valueProperty(property).columnTypes[0] ?? '');
}

/**
 * True for a column with a declared collation, which may consider different texts equal: `nocase`, or a
 * nondeterministic one.
 */
export function hasDeclaredCollation({ property }: FieldPath): boolean {
  const { collation, columnTypes } = valueProperty(property);
  return collation !== undefined || /\bcollate\b/i.test(columnTypes[0] ?? '');
}
