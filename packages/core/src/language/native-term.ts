import type { EntityMetadata } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import type { FieldPath } from '../fields/field-path.ts';
import { computedPath } from './computed-path.ts';

/** The record that the SQL of a term is about. */
export interface TermRecord {
  /** The alias of its table in the statement. */
  readonly alias: string;
  /** Stands for the next of the values. */
  readonly value: string;
}

/**
 * Something that no lookup can say, in the words of the database: a condition on a record, or a number that it has. Make a term once, when a
 * view is registered: statements are kept by its identity. What differs between requests are its values, which are bound.
 */
export interface NativeTerm {
  /** Names the term in messages and cursors. */
  readonly name: string;
  /**
   * Writes the term in SQL. The text must be the same for every request. It must contain `value` once for each of the values.
   */
  readonly sql?: (record: TermRecord) => string;
  /** Makes the filter of MongoDB, or the expression of the number. Undefined: the term is not for MongoDB. */
  readonly document?: (...values: readonly unknown[]) => object;
}

/** A path to a number that no column holds: the database computes it of a term. Lists are ordered by it like by a column. */
export interface NativePath extends FieldPath {
  readonly native: { readonly term: NativeTerm; readonly values: readonly unknown[] };
}

/** Tells if a term computes the value of a path. */
export function isNativePath(path: FieldPath): path is NativePath {
  return 'native' in path;
}

/**
 * Makes a path to the number that a term computes of a record, never NULL, for `orderByPaths`.
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
  // A place in the order of other values is no place in this one.
  const key = `${term.name} ${JSON.stringify(values)}`;
  const path = computedPath(key, `${meta.className}.${term.name}`, 'double', 'a term');
  return Object.freeze({ ...path, native: { term, values } } satisfies NativePath);
}

/** @throws ImproperlyConfigured for a term that has no form for the database */
export function nativeForm<Form extends 'sql' | 'document'>(
  term: NativeTerm,
  form: Form,
): NonNullable<NativeTerm[Form]> {
  const found = term[form];
  if (found !== undefined) return found;
  throw new ImproperlyConfigured(`the term "${term.name}" has no "${form}", which this database needs`);
}
