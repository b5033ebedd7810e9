import type { EntityManager, MikroORM } from '@mikro-orm/core';
import type { Awaitable } from '../../../support/awaitable.ts';
import { withMicroseconds } from '../../../fields/calendar.ts';
import type { FieldKind } from '../../../fields/field-kind.ts';
import type { FieldPath } from '../../../fields/field-path.ts';
import { FIRST_LOCAL_DAY, LAST_LOCAL_DAY } from '../../../fields/time-zone.ts';
import { valueProperty } from '../../../fields/property.ts';
import type { Period } from '../../../query/language/grouping.ts';
import type { Lookup } from '../../../query/language/lookup.ts';
import { formattedDate } from '../../../mikro/platform.ts';
import type { Purpose } from '../../../mikro/connection-for.ts';
import { releaseLostConnections } from '../../../mikro/lost-connections.ts';
import { avoidLostReplicas, type Warn } from '../../../mikro/replicas.ts';
import { COLUMN, compareAsciiFirst, type Comparison, likePattern, VALUE } from './comparison.ts';
import { Dialect, elementText, type Forecast } from './dialect.ts';
import { runPostgreSql } from './postgresql-reader.ts';
import type { Violation } from '../../database-errors.ts';
import { placePostgreSqlViolation, unknownPostgreSqlConstraints } from './postgresql-violations.ts';
import type { Reader } from './reader.ts';
import type { Table, ViolatedTables } from './violated-table.ts';
import { hasDeclaredCollation, hasDeclaredType } from './text-column.ts';

/**
 * PostgreSQL through pg. Parameters are never cast, so each has the type of the column in its comparison. Decimals are
 * compared as numeric, exactly, and indexes are used. An index on `lower(name collate "C")` (btree, or gin with
 * gin_trgm_ops) supports the case-insensitive lookups of texts that contain an ASCII character other than `k` and `i`.
 * An index on `lower(name collate "und-x-icu")` supports the others.
 */
export class PostgreSqlDialect extends Dialect {
  readonly name = 'PostgreSQL';
  readonly countsInline = true;
  readonly placeholder = (n: number): string => `$${n}`;
  readonly triggers = TRIGGERS;
  readonly sliceValue = VALUE;
  readonly guard = undefined;
  readonly forecast = PLANNER;
  protected readonly unequal = 'is distinct from';

  rawParameter(_path: FieldPath, raw: unknown): unknown {
    return raw;
  }

  /** The driver reads the decimals of a list as doubles. MikroORM reads the text of a list. */
  selected({ property }: FieldPath, sql: string): string {
    return DECIMAL_LIST.test(property.columnTypes?.[0] ?? '') ? `${sql}::text` : sql;
  }

  /** For PostgreSQL, NULL is the greatest value, as in `OrderKey`. */
  ordered(_path: FieldPath, sql: string, descending: boolean): string {
    return descending ? `${sql} desc` : sql;
  }

  lock(alias: string): string {
    return ` for update of ${alias}`;
  }

  placeViolation(reader: Reader, violation: Violation, tables: readonly Table[]): Awaitable<ViolatedTables> {
    return placePostgreSqlViolation(reader, violation, tables);
  }

  unknownConstraints(reader: Reader, names: readonly string[]): Awaitable<readonly string[]> {
    return unknownPostgreSqlConstraints(reader, names);
  }

  run<T>(em: EntityManager, purpose: Purpose, work: (reader: Reader) => Awaitable<T>): Awaitable<T> {
    return runPostgreSql(em, purpose, work);
  }

  override whereParameter(value: unknown): unknown {
    if (value instanceof Date) return formattedDate(this.platform, value);
    return typeof value === 'bigint' ? String(value) : value;
  }

  override start(orm: MikroORM, warn: Warn): Promise<void> {
    avoidLostReplicas(orm, warn);
    return releaseLostConnections(orm);
  }

  startOf(path: FieldPath, sql: string, period: Period, zone?: string): string {
    const utc = this.#inUtc(path, sql);
    const local = zone === undefined ? utc : localTime(utc, zone);
    return `date_trunc('${period}', ${local})::date::text`;
  }

  /** PostgreSQL's sum of `real` is a `real`, with six digits. */
  sum(path: FieldPath, sql: string): string {
    return path.type.kind === 'number' ? `sum(${sql}::float8)` : `sum(${sql})::text`;
  }

  readSum(path: FieldPath, raw: unknown): string | number {
    return path.type.kind === 'number' ? Number(raw) : String(raw);
  }

  toTheByte(path: FieldPath): string {
    return kindOf(path).toTheByte(path);
  }

  protected compareText(path: FieldPath, lookup: Lookup, text: string): Comparison {
    // Before PostgreSQL 18, LIKE rejects nondeterministic collations.
    const column = hasDeclaredCollation(path) ? `${textColumn(path)} collate "C"` : textColumn(path);
    return { template: `${column} like ${VALUE}`, values: [likePattern(lookup, text)] };
  }

  protected compareFolded(path: FieldPath, lookup: Lookup, folded: string): Comparison {
    const column = textColumn(path);
    const ascii = `lower(${column} collate "C")`;
    const unicode = `lower(${column} collate "und-x-icu")`;
    return compareAsciiFirst(lookup, folded, {
      like: (pattern) => ({ template: `${ascii} like ${VALUE}`, values: [pattern] }),
      equals: `${ascii} = ${VALUE}`,
      byUnicode: () =>
        compareFoldedText(folded.includes('σ') ? `replace(${unicode}, 'ς', 'σ')` : unicode, lookup, folded),
    });
  }

  protected compareList(path: FieldPath, values: readonly unknown[]): Comparison {
    return { template: `${COLUMN} = any(${VALUE})`, values: [values.map((value) => this.parameter(path, value))] };
  }

  /** The parameter has the type of the column, so an index (gin) supports both. */
  protected compareElements(lookup: 'contains' | 'overlaps', elements: readonly unknown[]): Comparison {
    return { template: `${COLUMN} ${lookup === 'contains' ? '@>' : '&&'} ${VALUE}`, values: [this.listText(elements)] };
  }

  /** Compared values take the type of the formula. Without the cast, `count(*)` would reject 2.50. */
  formula(kind: FieldKind, sql: string): string {
    const type = FORMULA_TYPES[kind];
    return type === undefined ? sql : `${sql}::${type}`;
  }

  placesOf(path: FieldPath, values: readonly unknown[]): Comparison {
    const list = values.map((value) => this.parameter(path, value));
    return { template: `array_to_json(array_positions(${VALUE}, ${COLUMN}))::text`, values: [list] };
  }

  /** Quotes every element: PostgreSQL trims other texts, and reads `null` as NULL. */
  protected listText(elements: readonly unknown[]): string {
    return `{${elements.map((element) => this.#elementText(element)).join(',')}}`;
  }

  #elementText(element: unknown): string {
    if (element === null || element === undefined) return 'NULL';
    if (Array.isArray(element)) return this.listText(element);
    return `"${elementText(element).replaceAll(/["\\]/g, '\\$&')}"`;
  }

  protected plain(value: unknown): unknown {
    return value;
  }

  /** A text if the driver's conversion would lose precision, or depend on the time zone of this process. */
  protected parameter(path: FieldPath, value: unknown): unknown {
    if (value instanceof Date) return this.#timestamp(path, value);
    return typeof value === 'bigint' ? String(value) : kindOf(path).parameter(value, path);
  }

  /** A column without a time zone holds the time in the configured zone. */
  #inUtc(path: FieldPath, sql: string): string {
    if (path.type.kind === 'date') return `${sql}::timestamp`;
    if (hasTimeZone(path)) return `(${sql} at time zone 'UTC')`;
    const zone = this.platform.getTimezone();
    return zone === undefined || !OFFSET.test(zone) ? sql : `(${sql} - interval '${zone}')`;
  }

  /** In MikroORM's form: a column without a time zone holds the time in the configured zone. */
  #timestamp(path: FieldPath, value: Date): string {
    const text = hasTimeZone(path) ? undefined : formattedDate(this.platform, value);
    return withMicroseconds(text ?? value.toISOString(), value);
  }
}

/** The types of formulas with fractional values. */
const FORMULA_TYPES: Readonly<Partial<Record<FieldKind, string>>> = { number: 'float8', decimal: 'numeric' };

/** How PostgreSQL handles the values of a kind. */
interface PostgreSqlKind {
  /** Converts a value, neither a Date nor a BigInt, to the driver's form. */
  readonly parameter: (value: unknown, path: FieldPath) => unknown;
  readonly toTheByte: (path: FieldPath) => string;
}

const AS_IT_COMES: PostgreSqlKind = { parameter: (value) => value, toTheByte: () => COLUMN };

/** The kinds whose values need a conversion. */
const OF_KIND: Readonly<Partial<Record<FieldKind, PostgreSqlKind>>> = {
  string: { ...AS_IT_COMES, toTheByte: (path) => `${textColumn(path)} collate "C"` },
  // PostgreSQL rejects a number that does not fit 32 bits. Rounded like the column, it can be compared.
  number: { ...AS_IT_COMES, parameter: (value, path) => (isSingle(path) ? Math.fround(value as number) : value) },
};

function kindOf({ type: { kind } }: FieldPath): PostgreSqlKind {
  return OF_KIND[kind] ?? AS_IT_COMES;
}

/** A trigger of a partition applies to the whole table. Triggers of foreign keys change no row. */
const TRIGGERS = `with triggered as (select tgrelid as id from pg_trigger where not tgisinternal)
  select distinct relname from pg_class
  where oid in (select id from triggered union select pg_partition_root(id) from triggered)`;

interface Plan {
  readonly 'Plan Rows': number;
  readonly 'Total Cost': number;
}

/**
 * PostgreSQL's planner, by `explain`. It knows more than `pg_class.reltuples`: the current size of the table, the
 * selectivity of the bound values, partitions, and rows hidden by row level security.
 */
const PLANNER: Forecast = {
  ask: (sql) => `explain (format json) ${sql}`,
  read(result) {
    const [{ Plan: plan }] = (typeof result === 'string' ? JSON.parse(result) : result) as [{ Plan: Plan }];
    return { rows: plan['Plan Rows'], cost: plan['Total Cost'] };
  },
};

const DECIMAL_LIST = /^(?:numeric|decimal)\b.*\[\]$/;
const OFFSET = /^[+-]\d\d:\d\d$/;

function hasTimeZone({ property }: FieldPath): boolean {
  return valueProperty(property).columnTypes[0]?.startsWith('timestamptz') ?? false;
}

function isSingle(path: FieldPath): boolean {
  return /^(?:real|float4|float$)/.test(valueProperty(path.property).columnTypes[0] ?? '');
}

function textColumn(path: FieldPath): string {
  return hasDeclaredType(path) ? `${COLUMN}::text` : COLUMN;
}

function compareFoldedText(column: string, lookup: Lookup, folded: string): Comparison {
  return lookup === 'iexact'
    ? { template: `${column} = ${VALUE}`, values: [folded] }
    : { template: `${column} like ${VALUE}`, values: [likePattern(lookup, folded)] };
}

/** The time in a zone, within the years that a day of the zone may have. `least` and `greatest` skip NULL. */
function localTime(utc: string, zone: string): string {
  const local = `${utc} at time zone 'UTC' at time zone '${zone}'`;
  const [first, last] = [FIRST_LOCAL_DAY, LAST_LOCAL_DAY].map((day) => `timestamp '${day}'`);
  return `case when ${utc} is not null then least(greatest(${local}, ${first}), ${last}) end`;
}
