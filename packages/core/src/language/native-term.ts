import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import type { FieldPath } from '../fields/field-path.ts';
import { fieldType } from '../fields/field-type.ts';

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
  const property = numberProperty(`${meta.className}.${term.name}`);
  const path: NativePath = {
    // A place in the order of other values is no place in this one.
    key: `${term.name} ${JSON.stringify(values)}`,
    steps: [],
    property,
    type: fieldType(property),
    nullable: false,
    toMany: false,
    native: { term, values },
  };
  return Object.freeze(path);
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

/** Stands for a column of the number's type. Like a formula, it is the database's to compute. */
function numberProperty(name: string): EntityProperty {
  const property: Partial<EntityProperty> = {
    name,
    kind: ReferenceKind.SCALAR,
    type: 'double',
    runtimeType: 'number',
    columnTypes: ['double precision'],
    fieldNames: [],
    persist: false,
    formula: () => {
      throw new Error(`"${name}" comes from a term, not from a formula`);
    },
  };
  return property as EntityProperty;
}
