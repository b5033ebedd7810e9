import type { EntityManager, MikroORM, Platform } from '@mikro-orm/core';
import type { Awaitable } from '../../../awaitable.ts';
import type { FieldKind } from '../../../fields/field-kind.ts';
import type { FieldPath } from '../../../fields/field-path.ts';
import { customTypeOf } from '../../../fields/field-type.ts';
import { valueProperty } from '../../../fields/property.ts';
import { foldCase } from '../../../language/fold-case.ts';
import type { Period } from '../../../language/grouping.ts';
import type { Lookup } from '../../../language/lookup.ts';
import type { Purpose } from '../../../mikro/connection-for.ts';
import { COLUMN, type Comparison, VALUE } from './comparison.ts';
import type { Reader } from './reader.ts';

/** Quotes the name of a table or column. */
export function quoted(name: string): string {
  return name.includes('"') ? `"${name.replaceAll('"', '""')}"` : `"${name}"`;
}

/** The lookups that are one operator on every database. */
const OPERATORS = {
  exact: '=',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
} as const;

/** The lookups that compare values of every kind of field, those of the application's own types too. */
type ValueLookup = keyof typeof OPERATORS | 'ne' | 'in' | 'range';

/** The operators as comparisons of a column with a value. */
const COMPARISONS = Object.fromEntries(
  Object.entries(OPERATORS).map(([lookup, operator]) => [lookup, `${COLUMN} ${operator} ${VALUE}`]),
) as Readonly<Record<keyof typeof OPERATORS, string>>;

/** The number of rows that a database expects of a query, without running it, and the cost of running it. */
export interface Expectation {
  readonly rows: number;
  /** In units of reading one page of 8 kB in sequence. */
  readonly cost: number;
}

/** Asks a database for its expectation of a query. */
export interface Forecast {
  /** The statement that asks about another. It takes the same values. */
  ask(sql: string): string;
  /** Reads the one value of its one row. */
  read(answer: unknown): Expectation;
}

/** SQL as one kind of database speaks it. */
export abstract class Dialect {
  abstract readonly name: string;
  /** Stands for a bound value, or for the n-th, from 1. */
  abstract readonly placeholder: string | ((n: number) => string);
  /** VALUE as it stands behind `limit` and `offset`. */
  abstract readonly sliceValue: string;
  /** The statement that lists the tables with triggers. */
  abstract readonly triggers: string;
  /** True if the count of all records may ride along with the rows of a page. */
  abstract readonly countsInline: boolean;
  /**
   * A term that stops a statement which has run too long, put before a condition that binds many values and so asked of
   * each record; undefined for a database that runs in a process of its own.
   */
  abstract readonly guard: string | undefined;
  /** Asks how many records there are without counting them; undefined if the database cannot say. */
  abstract readonly forecast: Forecast | undefined;
  /** The operator of `ne`, for which NULL is unequal to every value. */
  protected abstract readonly unequal: string;
  protected readonly platform: Platform;

  constructor(platform: Platform) {
    this.platform = platform;
  }

  /** A lookup as SQL, and its values as the driver takes them. */
  compare(path: FieldPath, lookup: Lookup, value: unknown): Comparison {
    switch (lookup) {
      case 'isnull':
        return { template: value === true ? `${COLUMN} is null` : `${COLUMN} is not null`, values: [] };
      case 'contains':
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

  /** Compares a column with the value that was read raw from it. */
  unchanged(path: FieldPath, raw: unknown): Comparison {
    if (raw === null) return { template: `${COLUMN} is null`, values: [] };
    return { template: `${this.toTheByte(path)} = ${VALUE}`, values: [this.rawParameter(path, raw)] };
  }

  /** A column whose texts are equal if their bytes are, whatever its collation says. */
  abstract toTheByte(path: FieldPath): string;
  /** Compares a column with a text as it is. */
  protected abstract compareText(path: FieldPath, lookup: Lookup, text: string): Comparison;
  /** Compares a column with a folded text, whatever the case. */
  protected abstract compareFolded(path: FieldPath, lookup: Lookup, folded: string): Comparison;
  /** Compares a column with any of several values. */
  protected abstract compareList(path: FieldPath, values: readonly unknown[]): Comparison;
  /** A JSON list of the places, from 1, of the values that a column is equal to. */
  abstract placesOf(path: FieldPath, values: readonly unknown[]): Comparison;
  /** A value that is compared with a column or stored in it, as the driver takes it. */
  protected abstract parameter(path: FieldPath, value: unknown): unknown;
  /** A value of the application's own type, as the driver takes it. */
  protected abstract plain(value: unknown): unknown;
  /** A value that was read raw from a column, as the driver takes it back. */
  abstract rawParameter(path: FieldPath, raw: unknown): unknown;
  /** A column of a select list: exact, whatever the driver makes of numbers. */
  abstract selected(path: FieldPath, sql: string): string;
  /** A key of an order, with NULLs as `OrderKey` says. */
  abstract ordered(path: FieldPath, sql: string, descending: boolean): string;
  /** The first day of the period in UTC that a point in time lies in, as text. */
  abstract startOf(path: FieldPath, sql: string, period: Period): string;
  /** The sum of a column. */
  abstract sum(path: FieldPath, sql: string): string;
  /** Reads a value of `sum`, not null, as `Group` has it. */
  abstract readSum(path: FieldPath, raw: unknown): string | number;
  /** The SQL of a formula as a value of its kind, whatever type the database gives it. */
  abstract formula(kind: FieldKind, sql: string): string;
  /** The text that locks the rows of one table, named by its alias. */
  abstract lock(alias: string): string;
  /** Runs work for a purpose; everything it reads is of one connection if there is a transaction. */
  abstract run<T>(em: EntityManager, purpose: Purpose, work: (reader: Reader) => Awaitable<T>): Awaitable<T>;

  /** A value of a condition of MikroORM, as the driver takes it. */
  whereParameter(value: unknown): unknown {
    return this.plain(value);
  }

  /**
   * Prepares the connections of an ORM when the application starts. Waits for an answer of the database no longer than a hook of Fastify
   * may take.
   */
  async start(_orm: MikroORM): Promise<void> {}

  /** A value for a plain column, as the driver stores it. */
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
   * Compares a column of the application's own type: each value goes through its `convertToDatabaseValue` (and
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
    // Not every type of column knows "is distinct from" on every database.
    if (lookup === 'ne') return { template: `(${COLUMN} = ${sql}) is not true`, values };
    return { template: `${COLUMN} ${OPERATORS[lookup]} ${sql}`, values };
  }
}
