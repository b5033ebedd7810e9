import type { EntityManager } from '@mikro-orm/core';
import type { Awaitable } from '../../../support/awaitable.ts';
import { comparableMilliseconds } from '../../../fields/calendar.ts';
import { compareDecimalTexts, decimalOf, shortDecimal } from '../../../fields/decimal-text.ts';
import type { FieldKind } from '../../../fields/field-kind.ts';
import type { FieldPath } from '../../../fields/field-path.ts';
import { FIRST_LOCAL_DAY, LAST_LOCAL_DAY, type OffsetChange, offsetChanges } from '../../../fields/time-zone.ts';
import type { Period } from '../../../query/language/grouping.ts';
import type { Lookup } from '../../../query/language/lookup.ts';
import { limitDecimals } from '../../../mikro/exact-decimals.ts';
import type { Purpose } from '../../../mikro/connection-for.ts';
import { COLUMN, compareAsciiFirst, type Comparison, VALUE } from './comparison.ts';
import { Dialect, elementText } from './dialect.ts';
import type { Violation } from '../../database-errors.ts';
import type { Reader } from './reader.ts';
import { waitForWriters } from './sqlite-lock.ts';
import { placeSqliteViolation, unknownSqliteConstraints } from './sqlite-violations.ts';
import type { Table, ViolatedTables } from './violated-table.ts';
import { betterSqliteReader, FOLD, IN_TIME, type MakeReader, runSqlite } from './sqlite-reader.ts';

/** SQLite through better-sqlite3. Decimals are binary floats there, and are compared as floats. */
export class SqliteDialect extends Dialect {
  readonly name: string = 'SQLite';
  readonly countsInline = false;
  readonly placeholder = '?';
  readonly triggers = "select distinct tbl_name from sqlite_master where type = 'trigger'";
  /** SQLite replans a statement each time a bare `limit ?` is bound, but not for an expression. */
  readonly sliceValue = `+${VALUE}`;
  readonly guard: string | undefined = `${IN_TIME}()`;
  protected readonly makeReader: MakeReader = betterSqliteReader;
  /** SQLite has no close estimate, unless ANALYZE ran recently. */
  readonly forecast = undefined;
  protected readonly unequal = 'is not';

  constructor(em: EntityManager) {
    super(em.getPlatform());
    limitDecimals(em.getPlatform(), (text, isInJson) => isInJson || isDouble(text), roundedDouble);
    waitForWriters(em);
  }

  rawParameter(path: FieldPath, raw: unknown): unknown {
    return raw === null ? null : kindOf(path).takenBack(raw);
  }

  selected(path: FieldPath, sql: string): string {
    return kindOf(path).selected(sql);
  }

  /**
   * For SQLite, NULL is the least value. `nulls first` and `nulls last` are omitted if they have no effect, because
   * they prevent the use of an index.
   */
  ordered(path: FieldPath, sql: string, descending: boolean): string {
    if (!path.nullable) return descending ? `${sql} desc` : sql;
    return descending ? `${sql} desc nulls first` : `${sql} nulls last`;
  }

  /** There is one writer at a time, which has the whole database. */
  lock(): string {
    return '';
  }

  placeViolation(reader: Reader, violation: Violation, tables: readonly Table[]): Awaitable<ViolatedTables> {
    return placeSqliteViolation(reader, violation, tables);
  }

  unknownConstraints(reader: Reader, names: readonly string[]): Awaitable<readonly string[]> {
    return unknownSqliteConstraints(reader, names);
  }

  run<T>(em: EntityManager, purpose: Purpose, work: (reader: Reader) => Awaitable<T>): Awaitable<T> {
    return runSqlite(em, purpose, this.makeReader, work);
  }

  startOf(path: FieldPath, sql: string, period: Period, zone?: string): string {
    if (zone !== undefined) {
      const inZone = `min(max(t + ${offsetSql(offsetChanges(zone))}, ${Date.parse(FIRST_LOCAL_DAY)}), ${Date.parse(LAST_LOCAL_DAY)})`;
      const local = `${inZone} / 1000.0, 'unixepoch'`;
      return `(select strftime('%Y-%m-%d', ${local}${START_OF[period]}) from (select ${sql} as t))`;
    }
    const time = path.type.kind === 'date' ? sql : `${sql} / 1000.0, 'unixepoch'`;
    return `strftime('%Y-%m-%d', ${time}${START_OF[period]})`;
  }

  /**
   * SQLite adds floating-point numbers inexactly, and fails if whole numbers exceed 64 bits. So billions, the rest of
   * whole numbers, and the digits after the point are added separately.
   */
  sum(path: FieldPath, sql: string): string {
    if (path.type.kind === 'number') return `sum(${sql})`;
    const integer = `cast(${sql} as integer)`;
    const parts = [`sum(${integer} / ${BILLION})`, `sum(${integer} % ${BILLION})`];
    if (path.type.kind === 'decimal') {
      parts.push(`sum(cast(round((${sql} - ${integer}) * 1e${digitsOf(path)}) as integer))`);
    }
    return parts.join(" || ':' || ");
  }

  readSum(path: FieldPath, raw: unknown): string | number {
    if (path.type.kind === 'number') return Number(raw);
    const [billions = 0n, rest = 0n, behind = 0n] = String(raw).split(':').map(BigInt);
    const digits = digitsOf(path);
    return decimalOf((billions * BILLION + rest) * 10n ** BigInt(digits) + behind, digits);
  }

  toTheByte(): string {
    return `${COLUMN} collate binary`;
  }

  protected compareText(_path: FieldPath, lookup: Lookup, text: string): Comparison {
    return compareText(AS_IT_IS, lookup, text);
  }

  protected compareFolded(_path: FieldPath, lookup: Lookup, folded: string): Comparison {
    return compareAsciiFirst(lookup, folded, { like, byUnicode: () => this.compareUnicode(lookup, folded) });
  }

  /** Compares a column with a folded text by Unicode's rules. */
  protected compareUnicode(lookup: Lookup, folded: string): Comparison {
    return compareText(FOLDED, lookup, folded);
  }

  protected compareList(path: FieldPath, values: readonly unknown[]): Comparison {
    return { template: `${COLUMN} in (select value from json_each(${VALUE}))`, values: [this.#list(path, values)] };
  }

  /** Every text of an element occurs between commas, and nowhere else: within an element, a comma is escaped. */
  protected compareElements(lookup: 'contains' | 'overlaps', elements: readonly unknown[]): Comparison {
    const texts = elements.map((value) => [`,${quotedElement(value)},`, `,${JSON.stringify(elementText(value))},`]);
    const places = ['$[0]', '$[1]'].map((place) => `instr(',' || ${COLUMN} || ',', json_extract(value, '${place}'))`);
    const list = `select 1 from json_each(${VALUE}) where`;
    const template =
      lookup === 'overlaps'
        ? `exists (${list} ${places.join(' > 0 or ')} > 0)`
        : `(${COLUMN} is not null and not exists (${list} ${places.join(' = 0 and ')} = 0))`;
    return { template, values: [JSON.stringify(texts)] };
  }

  formula(_kind: FieldKind, sql: string): string {
    return sql;
  }

  /** The left operand determines the collation. */
  placesOf(path: FieldPath, values: readonly unknown[]): Comparison {
    const template = `(select json_group_array(key + 1) from json_each(${VALUE}) where ${COLUMN} = value)`;
    return { template, values: [this.#list(path, values)] };
  }

  /**
   * Returns one parameter for any number of values. JSON's integers are exact in SQLite, so BigInts are written as
   * integers.
   */
  #list(path: FieldPath, values: readonly unknown[]): string {
    const texts = values.map((value) => {
      const bound = this.parameter(path, value);
      return typeof bound === 'bigint' ? String(bound) : JSON.stringify(bound);
    });
    return `[${texts.join(',')}]`;
  }

  protected parameter(path: FieldPath, value: unknown): unknown {
    return kindOf(path).parameter(value);
  }

  /**
   * In MikroORM's form, which quotes some texts as JSON. Without quotes, a list of one empty text would be no list. A
   * comma within an element is escaped, so that lookups find the ends of elements.
   */
  protected listText(elements: readonly unknown[]): string {
    return elements.map(quotedElement).join(',');
  }

  protected plain(value: unknown): unknown {
    return plainValue(value);
  }
}

function quotedElement(element: unknown): string {
  const text = elementText(element ?? '');
  return text === '' || /[,"\\]/.test(text) ? JSON.stringify(text).replaceAll(',', '\\u002c') : text;
}

/** Reports whether a double has the same digits as a decimal. */
function isDouble(text: string): boolean {
  return shortDecimal(Number(text)) === shortDecimal(text);
}

/** Rounds a decimal to the text of a double. A number beyond all doubles is returned as it is. */
function roundedDouble(text: string, isUp: boolean): string {
  const nearest = Number(text);
  if (!Number.isFinite(nearest)) return text;
  const order = compareDecimalTexts(shortDecimal(nearest), shortDecimal(text));
  const isBeside = isUp ? order < 0 : order > 0;
  return shortDecimal(isBeside ? nextDouble(nearest, isUp) : nearest);
}

/** Returns the next double above or below a finite one. */
function nextDouble(value: number, isUp: boolean): number {
  if (value === 0) return isUp ? Number.MIN_VALUE : -Number.MIN_VALUE;
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  // The bits of doubles are ordered by their size, whatever the sign.
  bits.setBigInt64(0, bits.getBigInt64(0) + (isUp === value > 0 ? 1n : -1n));
  return bits.getFloat64(0);
}

const BILLION = 1_000_000_000n;

/**
 * Returns the digits after the point of a column. For a decimal without a declared scale, as many as a double of its
 * size is likely to have.
 */
function digitsOf({ type: { kind, scale = 6 } }: FieldPath): number {
  return kind === 'decimal' ? scale : 0;
}

/** SQLite has no time zones. So a balanced tree of comparisons finds the offset of the time `t`. */
function offsetSql(changes: readonly OffsetChange[]): string {
  if (changes.length === 1) return String(changes[0]!.offsetMs);
  const middle = Math.ceil(changes.length / 2);
  const [before, after] = [changes.slice(0, middle), changes.slice(middle)];
  return `case when t < ${after[0]!.fromMs} then ${offsetSql(before)} else ${offsetSql(after)} end`;
}

const START_OF: Readonly<Record<Period, string>> = {
  day: '',
  week: ", '-6 days', 'weekday 1'",
  month: ", 'start of month'",
  year: ", 'start of year'",
};

/** How SQLite and its driver handle the values of a kind. */
interface SqliteKind {
  /** Converts a value to MikroORM's stored form, which better-sqlite3 also accepts. */
  readonly parameter: (value: unknown) => unknown;
  readonly selected: (sql: string) => string;
  /** Converts a selected value, not null, back. */
  readonly takenBack: (raw: unknown) => unknown;
}

const AS_IT_COMES: SqliteKind = { parameter: plainValue, selected: (sql) => sql, takenBack: (raw) => raw };

/** The kinds whose values need a conversion. */
const OF_KIND: Readonly<Partial<Record<FieldKind, SqliteKind>>> = {
  // The driver returns integers as doubles, which hold only 53 bits.
  bigint: {
    parameter: plainValue,
    selected: (sql) => `cast(${sql} as text)`,
    takenBack: (raw) => BigInt(raw as string),
  },
  decimal: { ...AS_IT_COMES, parameter: Number },
};

function kindOf({ type: { kind } }: FieldPath): SqliteKind {
  return OF_KIND[kind] ?? AS_IT_COMES;
}

function plainValue(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return value instanceof Date ? comparableMilliseconds(value) : value;
}

/** The comparisons of a text with another. The text is a column or its folded form. */
export interface TextTemplates {
  readonly contains: string;
  readonly startsWith: string;
  readonly endsWith: string;
  readonly equals: string;
}

export function textTemplates(text: string): TextTemplates {
  return {
    contains: `instr(${text}, ${VALUE}) > 0`,
    startsWith: `substr(${text}, 1, ${VALUE}) = ${VALUE}`,
    endsWith: `substr(${text}, ${VALUE}) = ${VALUE}`,
    equals: `${text} = ${VALUE}`,
  };
}

const AS_IT_IS = textTemplates(COLUMN);
const FOLDED = textTemplates(`${FOLD}(${COLUMN})`);

export function compareText(templates: TextTemplates, lookup: Lookup, text: string): Comparison {
  if (lookup.endsWith('contains')) return { template: templates.contains, values: [text] };
  if (lookup.endsWith('startswith')) return { template: templates.startsWith, values: [codePoints(text), text] };
  if (lookup.endsWith('endswith')) return { template: templates.endsWith, values: [-codePoints(text), text] };
  return { template: templates.equals, values: [text] };
}

/** Counts like substr(). */
function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/**
 * SQLite's LIKE folds ASCII at the cost of a plain search. An index on a column `collate nocase` supports it. It has an
 * escape character only on request, and is slower with it. For a bare parameter SQLite replans for each pattern, which
 * only helps a pattern with a fixed beginning.
 */
function like(pattern: string): Comparison {
  const template = `${COLUMN} like ${pattern.startsWith('%') ? '+' : ''}${VALUE}`;
  return { template: pattern.includes('\\') ? `${template} escape '\\'` : template, values: [pattern] };
}
