import type { EntityMetadata } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { computedPath } from './computed-path.ts';

/** The record in the SQL of a term. */
export interface TermRecord {
  /** The alias of the record's table in the statement. */
  readonly alias: string;
  /** The placeholder for the next value. */
  readonly value: string;
  /** The name of the database: `SQLite`, `libSQL`, `PostgreSQL`. */
  readonly database: string;
}

/**
 * An expression in the database's language that no lookup can express: a condition on a record, or a number computed
 * from it. Make a term once, when a view is registered, because statements are cached by its identity. Values that
 * differ between requests are bound.
 */
export interface NativeTerm {
  /** The name of the term in messages and cursors. */
  readonly name: string;
  /**
   * Writes the term in SQL. The text must be the same for every request. It must contain `value` once for each of the
   * values.
   */
  readonly sql?: (record: TermRecord) => string;
  /** Makes the MongoDB filter, or the expression of the number. Undefined: MongoDB does not support the term. */
  readonly document?: (...values: readonly unknown[]) => object;
}

/** A path to a number that the database computes with a term. Lists can be ordered by it like by a column. */
export interface NativePath extends FieldPath {
  readonly native: { readonly term: NativeTerm; readonly values: readonly unknown[] };
  /** The place of a value in a column that holds JSON. */
  readonly inJson?: { readonly column: string; readonly names: readonly string[] };
}

/** Reports whether a term computes the value of a path. */
export function isNativePath(path: FieldPath): path is NativePath {
  return 'native' in path;
}

/**
 * Makes a path to a number that a term computes from a record, for `orderByPaths`. The number must never be NULL.
 *
 * @param meta the entity of the record
 * @example
 * const distance = {
 *   name: 'distance',
 *   sql: ({ alias, value }: TermRecord) => `${alias}."place" <@> point(${value}, ${value})`,
 * };
 * const byDistance = (queryset: QuerySet<Book>) =>
 *   queryset.orderByPaths([{ path: nativeNumber(queryset.meta, distance, [13.4, 52.5]), descending: false }]);
 * // … order by t0."place" <@> point($1, $2), t0."id"
 */
export function nativeNumber(meta: EntityMetadata, term: NativeTerm, values: readonly unknown[]): FieldPath {
  // A cursor position for other values must not be valid for this order.
  const key = `${term.name} ${JSON.stringify(values)}`;
  const path = computedPath(key, `${meta.className}.${term.name}`, 'double', 'a term');
  return Object.freeze({ ...path, native: { term, values } } satisfies NativePath);
}

/** Returns the form of a term for a database. @throws ImproperlyConfigured if the term does not have that form */
export function nativeForm<Form extends 'sql' | 'document'>(
  term: NativeTerm,
  form: Form,
): NonNullable<NativeTerm[Form]> {
  const found = term[form];
  if (found !== undefined) return found;
  throw new ImproperlyConfigured(`the term "${term.name}" has no "${form}", which this database needs`);
}
