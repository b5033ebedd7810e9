import type { EntityManager } from '@mikro-orm/core';
import type { Awaitable } from '../../../awaitable.ts';
import type { FieldPath } from '../../../fields/field-path.ts';
import type { Lookup } from '../../../language/lookup.ts';
import type { Forecast } from './forecast.ts';
import type { Reader } from './reader.ts';

/** Stands for the column in a template. */
export const COLUMN = '\u0001';
/** Stands for a bound value in a template and in a statement that is still being put together. */
export const VALUE = '\u0002';

/** Quotes the name of a table or column. */
export function quoted(name: string): string {
  return name.includes('"') ? `"${name.replaceAll('"', '""')}"` : `"${name}"`;
}

/** A piece of SQL about one column whose text does not depend on the values. */
export interface Comparison {
  /** SQL with COLUMN for the column and VALUE for each value, in order. */
  readonly template: string;
  readonly values: readonly unknown[];
}

/** How SQL says the lookups that are one operator everywhere. */
export const OPERATORS: Readonly<Partial<Record<Lookup, string>>> = {
  exact: '=',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
};

/** `column operator value` for each lookup that is one: made once, so that a text is known again at once. */
export function comparisonTemplates(own: { readonly ne: string }): (lookup: Lookup) => string {
  const templates = new Map<Lookup, string>();
  for (const [lookup, operator] of Object.entries({ ...OPERATORS, ...own })) {
    templates.set(lookup as Lookup, `${COLUMN} ${operator} ${VALUE}`);
  }
  return (lookup) => templates.get(lookup)!;
}

/** What databases differ in. */
export interface Dialect {
  readonly name: string;
  /** How a lookup is said, and its values as the driver takes them. */
  compare(path: FieldPath, lookup: Lookup, value: unknown): Comparison;
  /** A value for a plain column, as the driver stores it. */
  stored(path: FieldPath, value: unknown): unknown;
  /** A value that was read raw from a column, as the driver takes it back. */
  rawParameter(path: FieldPath, raw: unknown): unknown;
  /** Stands for a bound value, or for the n-th, from 1. */
  readonly placeholder: string | ((n: number) => string);
  /** A column of a select list: exact, whatever the driver makes of numbers. */
  selected(path: FieldPath, sql: string): string;
  /** A key of an order, NULLs where `OrderKey` says. */
  ordered(path: FieldPath, sql: string, descending: boolean): string;
  /** VALUE as it stands behind `limit` and `offset`. */
  readonly sliceValue: string;
  /** What locks the rows of one table, named by its alias. */
  lock(alias: string): string;
  /** The statement that lists the tables with triggers. */
  readonly triggers: string;
  /** Whether the count of all records may ride along with the rows of a page; needs placeholders that tell their n. */
  readonly countsInline: boolean;
  /**
   * A term that stops a statement which has run too long, put before a condition that binds many values and so asked of
   * each record; undefined for a database that runs in a process of its own.
   */
  readonly guard: string | undefined;
  /** Asks how many records there are without counting them; undefined where the database cannot say. */
  readonly forecast: Forecast | undefined;
  /** Runs work that reads; everything it reads is of one connection where there is a transaction. */
  read<T>(em: EntityManager, work: (reader: Reader) => Awaitable<T>): Awaitable<T>;
  /** The same for work that writes: never on a replica. */
  write<T>(em: EntityManager, work: (reader: Reader) => Awaitable<T>): Awaitable<T>;
}
