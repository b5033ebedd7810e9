import type { EntityManager } from '@mikro-orm/core';
import type { Awaitable } from '../../../awaitable.ts';
import { comparableMilliseconds } from '../../../fields/calendar.ts';
import { decimalOf } from '../../../fields/decimal-text.ts';
import type { FieldKind } from '../../../fields/field-kind.ts';
import type { FieldPath } from '../../../fields/field-path.ts';
import type { Period } from '../../../language/grouping.ts';
import type { Lookup } from '../../../language/lookup.ts';
import type { Purpose } from '../../../mikro/connection-for.ts';
import { COLUMN, compareAsciiFirst, type Comparison, VALUE } from './comparison.ts';
import { Dialect } from './dialect.ts';
import type { Reader } from './reader.ts';
import { waitForWriters } from './sqlite-lock.ts';
import { betterSqliteReader, FOLD, IN_TIME, type MakeReader, runSqlite } from './sqlite-reader.ts';

/** SQLite through better-sqlite3. Decimals are binary floats there, and are compared as such. */
export class SqliteDialect extends Dialect {
  readonly name = 'SQLite';
  readonly countsInline = false;
  readonly placeholder = '?';
  readonly triggers = "select distinct tbl_name from sqlite_master where type = 'trigger'";
  /** SQLite plans a statement anew whenever a bare `limit ?` is bound; a sum, it takes as it comes. */
  readonly sliceValue = `+${VALUE}`;
  readonly guard: string | undefined = `${IN_TIME}()`;
  protected readonly makeReader: MakeReader = betterSqliteReader;
  /** SQLite keeps no count that is anywhere near, unless ANALYZE was run lately. */
  readonly forecast = undefined;
  protected readonly unequal = 'is not';

  constructor(em: EntityManager) {
    super(em.getPlatform());
    waitForWriters(em);
  }

  rawParameter(path: FieldPath, raw: unknown): unknown {
    return raw === null ? null : kindOf(path).takenBack(raw);
  }

  selected(path: FieldPath, sql: string): string {
    return kindOf(path).selected(sql);
  }

  /** SQLite takes NULL for the least of all. The words are left out if they say nothing: they cost the index. */
  ordered(path: FieldPath, sql: string, descending: boolean): string {
    if (!path.nullable) return descending ? `${sql} desc` : sql;
    return descending ? `${sql} desc nulls first` : `${sql} nulls last`;
  }

  /** There is one writer at a time, and it has the database to itself. */
  lock(): string {
    return '';
  }

  run<T>(em: EntityManager, purpose: Purpose, work: (reader: Reader) => Awaitable<T>): Awaitable<T> {
    return runSqlite(em, purpose, this.makeReader, work);
  }

  startOf(path: FieldPath, sql: string, period: Period): string {
    const time = path.type.kind === 'date' ? sql : `${sql} / 1000.0, 'unixepoch'`;
    return `strftime('%Y-%m-%d', ${time}${START_OF[period]})`;
  }

  /**
   * SQLite adds floating-point numbers inexactly, and fails if whole numbers come to more than 64 bits. So it adds billions, the rest of whole
   * numbers and the digits behind the point apart.
   */
  sum(path: FieldPath, sql: string): string {
    if (path.type.kind === 'number') return `sum(${sql})`;
    const whole = `cast(${sql} as integer)`;
    const parts = [`sum(${whole} / ${BILLION})`, `sum(${whole} % ${BILLION})`];
    if (path.type.kind === 'decimal') {
      parts.push(`sum(cast(round((${sql} - ${whole}) * 1e${digitsOf(path)}) as integer))`);
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

  formula(_kind: FieldKind, sql: string): string {
    return sql;
  }

  /** The collation is that of the operand on the left. */
  placesOf(path: FieldPath, values: readonly unknown[]): Comparison {
    const template = `(select json_group_array(key + 1) from json_each(${VALUE}) where ${COLUMN} = value)`;
    return { template, values: [this.#list(path, values)] };
  }

  /** One parameter whatever the number of values. JSON's integers are exact in SQLite, so BigInts are written as such. */
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

  protected plain(value: unknown): unknown {
    return plainValue(value);
  }
}

const BILLION = 1_000_000_000n;

/** The digits behind the point of a column; of a decimal that declares none, as many as a double of its size is likely to have. */
function digitsOf({ type: { kind, scale = 6 } }: FieldPath): number {
  return kind === 'decimal' ? scale : 0;
}

const START_OF: Readonly<Record<Period, string>> = {
  day: '',
  week: ", '-6 days', 'weekday 1'",
  month: ", 'start of month'",
  year: ", 'start of year'",
};

/** What SQLite and its driver make of the values of a kind. */
interface SqliteKind {
  /** A value as MikroORM stores it, which is also how better-sqlite3 takes it. */
  readonly parameter: (value: unknown) => unknown;
  readonly selected: (sql: string) => string;
  /** A value, not null, that was selected. */
  readonly takenBack: (raw: unknown) => unknown;
}

const AS_IT_COMES: SqliteKind = { parameter: plainValue, selected: (sql) => sql, takenBack: (raw) => raw };

/** The kinds whose values do not come as they are. */
const OF_KIND: Readonly<Partial<Record<FieldKind, SqliteKind>>> = {
  // The driver gives integers as doubles, which hold no more than 53 bits.
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

/** The comparisons of a text, a column or its folded form, with another. */
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

/** As substr() counts. */
function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/**
 * SQLite's LIKE folds ASCII, at the cost of a plain search; an index on a column `collate nocase` serves it. It has an
 * escape character only if it is told of one, and is the slower for it. SQLite looks at a bare parameter to plan
 * anew for each pattern, which is of use only to one that says how a text begins.
 */
function like(pattern: string): Comparison {
  const template = `${COLUMN} like ${pattern.startsWith('%') ? '+' : ''}${VALUE}`;
  return { template: pattern.includes('\\') ? `${template} escape '\\'` : template, values: [pattern] };
}
