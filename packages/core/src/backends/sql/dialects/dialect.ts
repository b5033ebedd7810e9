import type { EntityManager, MikroORM, Platform } from '@mikro-orm/core';
import type { Awaitable } from '../../../support/awaitable.ts';
import { withMicroseconds } from '../../../fields/calendar.ts';
import type { FieldKind } from '../../../fields/field-kind.ts';
import type { FieldPath } from '../../../fields/field-path.ts';
import { customTypeOf } from '../../../fields/field-type.ts';
import { valueProperty } from '../../../fields/property.ts';
import { elementPath } from '../../../query/language/compare.ts';
import { foldCase } from '../../../query/language/fold-case.ts';
import type { Period } from '../../../query/language/grouping.ts';
import type { ComparedLookup, Lookup } from '../../../query/language/lookup.ts';
import type { Warn } from '../../../mikro/replicas.ts';
import type { Purpose } from '../../../mikro/connection-for.ts';
import { storedElement, storeLists } from '../../../mikro/exact-lists.ts';
import { COLUMN, type Comparison, VALUE } from './comparison.ts';
import type { Violation } from '../../database-errors.ts';
import type { Reader } from './reader.ts';
import type { Table, ViolatedTables } from './violated-table.ts';

/** Quotes the name of a table or column. */
export function quoted(name: string): string {
  return name.includes('"') ? `"${name.replaceAll('"', '""')}"` : `"${name}"`;
}

/** Returns the text of an element in a list of values. */
export function elementText(element: unknown): string {
  if (element instanceof Date) return withMicroseconds(element.toISOString(), element);
  return typeof element === 'object' ? JSON.stringify(element) : `${element as string | number | boolean | bigint}`;
}

/** The lookups that are one operator on every database. */
const OPERATORS = {
  exact: '=',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
} as const;

/** The lookups that compare values of every kind of field, including the application's own types. */
type ValueLookup = keyof typeof OPERATORS | 'ne' | 'in' | 'range';

/** The operators as comparisons of a column with a value. */
const COMPARISONS = Object.fromEntries(
  Object.entries(OPERATORS).map(([lookup, operator]) => [lookup, `${COLUMN} ${operator} ${VALUE}`]),
) as Readonly<Record<keyof typeof OPERATORS, string>>;

/** A database's estimate for a query, without running it: the number of rows, and the cost. */
export interface Expectation {
  readonly rows: number;
  /** In units of one sequential read of a page of 8 kB. */
  readonly cost: number;
}

/** Gets a database's estimate for a query. */
export interface Forecast {
  /** Returns the statement that estimates another statement. It binds the same values. */
  ask(sql: string): string;
  /** Reads the single value of its single row. */
  read(result: unknown): Expectation;
}

/** The SQL of one kind of database. */
export abstract class Dialect {
  abstract readonly name: string;
  /** The placeholder of a bound value, or of the n-th value, from 1. */
  abstract readonly placeholder: string | ((n: number) => string);
  /** VALUE in the form for `limit` and `offset`. */
  abstract readonly sliceValue: string;
  /** The statement that lists the tables with triggers. */
  abstract readonly triggers: string;
  /** True if the count of all records may be a column in the rows of a page. */
  abstract readonly countsInline: boolean;
  /**
   * A term that stops a statement after too long a time. It comes before a condition with many values, so it is
   * evaluated for each record. Undefined for a database in a separate process.
   */
  abstract readonly guard: string | undefined;
  /** Estimates the number of records without counting them. Undefined if the database has no estimates. */
  abstract readonly forecast: Forecast | undefined;
  /** The operator of `ne`, for which NULL differs from every value. */
  protected abstract readonly unequal: string;
  protected readonly platform: Platform;

  constructor(platform: Platform) {
    this.platform = platform;
    storeLists(platform, (elements) => this.listText(elements));
  }

  /** Returns the text of a column that holds a list of values. Reading it returns each of them unchanged. */
  protected abstract listText(elements: readonly unknown[]): string;

  /** Returns the SQL of a lookup, with its values in the driver's form. */
  compare(path: FieldPath, lookup: ComparedLookup, value: unknown): Comparison {
    switch (lookup) {
      case 'isnull':
        return { template: value === true ? `${COLUMN} is null` : `${COLUMN} is not null`, values: [] };
      case 'contains':
      case 'overlaps': {
        const element = elementPath(path);
        if (element === undefined) return this.compareText(path, lookup, value as string);
        const elements = (value as unknown[]).map((each) => storedElement(element.property, each));
        return this.compareElements(lookup, elements);
      }
      case 'startswith':
      case 'endswith':
        return this.compareText(path, lookup, value as string);
      case 'iexact':
      case 'icontains':
      case 'istartswith':
      case 'iendswith':
        return this.compareFolded(path, lookup, foldCase(value as string));
      case 'exact':
      case 'ne':
      case 'gt':
      case 'gte':
      case 'lt':
      case 'lte':
      case 'in':
      case 'range':
        return this.#compareCustom(path, lookup, value) ?? this.#compareValue(path, lookup, value);
    }
  }

  /** Returns the column in a form in which texts are equal only if their bytes are, regardless of its collation. */
  abstract toTheByte(path: FieldPath): string;
  /** Compares a column with a text, case-sensitively. */
  protected abstract compareText(path: FieldPath, lookup: Lookup, text: string): Comparison;
  /** Compares a column with a folded text, ignoring case. */
  protected abstract compareFolded(path: FieldPath, lookup: Lookup, folded: string): Comparison;
  /** Compares a column with a list of values. */
  protected abstract compareList(path: FieldPath, values: readonly unknown[]): Comparison;
  /**
   * Compares a column that holds a list with elements, as they are stored. NULL matches nothing.
   *
   * @param lookup `contains`: the list has all elements; `overlaps`: it has some
   */
  protected abstract compareElements(lookup: 'contains' | 'overlaps', elements: readonly unknown[]): Comparison;
  /** Returns a JSON list of the positions, from 1, of the values that equal a column. */
  abstract placesOf(path: FieldPath, values: readonly unknown[]): Comparison;
  /** Converts a value, to compare it with a column or store it, to the driver's form. */
  protected abstract parameter(path: FieldPath, value: unknown): unknown;
  /** Converts a value of an application's own type to the driver's form. */
  protected abstract plain(value: unknown): unknown;
  /** Converts a raw value from a column back to the driver's form. */
  abstract rawParameter(path: FieldPath, raw: unknown): unknown;
  /** Returns a column for a select list. It keeps values exact, even if the driver does not support such numbers. */
  abstract selected(path: FieldPath, sql: string): string;
  /** Returns a key of an order, with NULLs as in `OrderKey`. */
  abstract ordered(path: FieldPath, sql: string, descending: boolean): string;
  /**
   * Returns the first day of the period that contains a point in time, as text.
   *
   * @param zone the time zone of the days; undefined: UTC
   */
  abstract startOf(path: FieldPath, sql: string, period: Period, zone?: string): string;
  abstract sum(path: FieldPath, sql: string): string;
  /** Reads a value of `sum`, not null, in the form of `Group`. */
  abstract readSum(path: FieldPath, raw: unknown): string | number;
  /** Returns the SQL of a formula with the type of its kind, regardless of the database's type for it. */
  abstract formula(kind: FieldKind, sql: string): string;
  /** Returns the text that locks the rows of the table with this alias. */
  abstract lock(alias: string): string;
  /** Finds the tables that a violation is about, and its columns. */
  abstract placeViolation(reader: Reader, violation: Violation, tables: readonly Table[]): Awaitable<ViolatedTables>;
  /** Lists the names that no constraint, unique index or trigger of the database has. */
  abstract unknownConstraints(reader: Reader, names: readonly string[]): Awaitable<readonly string[]>;
  /** Runs work for a purpose. In a transaction, all its reads use the same connection. */
  abstract run<T>(em: EntityManager, purpose: Purpose, work: (reader: Reader) => Awaitable<T>): Awaitable<T>;

  /** Converts a value of a MikroORM condition to the driver's form. */
  whereParameter(value: unknown): unknown {
    return this.plain(value);
  }

  /**
   * Prepares the connections of an ORM at the start of the application. It waits for the database no longer than a
   * Fastify hook may take.
   */
  async start(_orm: MikroORM, _warn: Warn): Promise<void> {}

  /** Converts a value for an ordinary column to the form in which the driver stores it. */
  stored(path: FieldPath, value: unknown): unknown {
    return value === null ? null : this.parameter(path, value);
  }

  #compareValue(path: FieldPath, lookup: ValueLookup, value: unknown): Comparison {
    if (lookup === 'in') return this.compareList(path, value as unknown[]);
    if (lookup === 'range') {
      const values = (value as unknown[]).map((bound) => this.parameter(path, bound));
      return { template: `${COLUMN} between ${VALUE} and ${VALUE}`, values };
    }
    const template = lookup === 'ne' ? `${COLUMN} ${this.unequal} ${VALUE}` : COMPARISONS[lookup];
    return { template, values: [this.parameter(path, value)] };
  }

  /**
   * Compares a column of an application's own type. Each value is converted by its `convertToDatabaseValue` (and
   * `convertToDatabaseValueSQL`). Undefined for columns of MikroORM's types.
   */
  #compareCustom(path: FieldPath, lookup: ValueLookup, value: unknown): Comparison | undefined {
    const custom = customTypeOf(path.property);
    if (custom === undefined) return undefined;
    const { platform } = this;
    const { hasConvertToDatabaseValueSQL, name } = valueProperty(path.property);
    const sql = hasConvertToDatabaseValueSQL ? (custom.convertToDatabaseValueSQL?.(VALUE, platform) ?? VALUE) : VALUE;
    const context = { fromQuery: true, key: name, mode: 'query' as const };
    const items = lookup === 'in' || lookup === 'range' ? (value as unknown[]) : [value];
    const values = items.map((item) => this.plain(custom.convertToDatabaseValue(item, platform, context)));
    const marks = values.map(() => sql);
    if (lookup === 'in') return { template: `${COLUMN} in (${marks.join(', ')})`, values };
    if (lookup === 'range') return { template: `${COLUMN} between ${marks.join(' and ')}`, values };
    // Not every database supports "is distinct from" for every column type.
    if (lookup === 'ne') return { template: `(${COLUMN} = ${sql}) is not true`, values };
    return { template: `${COLUMN} ${OPERATORS[lookup]} ${sql}`, values };
  }
}
