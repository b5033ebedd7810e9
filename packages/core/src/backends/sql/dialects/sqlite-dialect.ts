import type { EntityManager } from '@mikro-orm/core';
import type { Awaitable } from '../../../awaitable.ts';
import { comparableMilliseconds } from '../../../fields/calendar.ts';
import type { FieldPath } from '../../../fields/field-path.ts';
import type { Lookup } from '../../../language/lookup.ts';
import type { Purpose } from '../../../mikro/connection-for.ts';
import { COLUMN, compareAsciiFirst, type Comparison, VALUE } from './comparison.ts';
import { Dialect } from './dialect.ts';
import type { Reader } from './reader.ts';
import { waitForWriters } from './sqlite-lock.ts';
import { FOLD, IN_TIME, runSqlite } from './sqlite-reader.ts';

/** SQLite through better-sqlite3. Decimals are binary floats there, and are compared as such. */
export class SqliteDialect extends Dialect {
  readonly name = 'SQLite';
  readonly countsInline = false;
  readonly placeholder = '?';
  readonly triggers = "select distinct tbl_name from sqlite_master where type = 'trigger'";
  /** SQLite plans a statement anew whenever a bare `limit ?` is bound; a sum, it takes as it comes. */
  readonly sliceValue = `+${VALUE}`;
  readonly guard = `${IN_TIME}()`;
  /** SQLite keeps no count that is anywhere near, unless ANALYZE was run lately. */
  readonly forecast = undefined;
  protected readonly unequal = 'is not';

  constructor(em: EntityManager) {
    super(em.getPlatform());
    waitForWriters(em);
  }

  rawParameter(path: FieldPath, raw: unknown): unknown {
    return path.type.kind === 'bigint' && raw !== null ? BigInt(raw as string) : raw;
  }

  /** The driver gives integers as doubles, which hold no more than 53 bits. */
  selected(path: FieldPath, sql: string): string {
    return path.type.kind === 'bigint' ? `cast(${sql} as text)` : sql;
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
    return runSqlite(em, purpose, work);
  }

  protected toTheByte(): string {
    return `${COLUMN} collate binary`;
  }

  protected compareText(_path: FieldPath, lookup: Lookup, text: string): Comparison {
    return compareText(AS_IT_IS, lookup, text);
  }

  protected compareFolded(_path: FieldPath, lookup: Lookup, folded: string): Comparison {
    return compareAsciiFirst(lookup, folded, { like, byUnicode: () => compareText(FOLDED, lookup, folded) });
  }

  protected compareList(path: FieldPath, values: readonly unknown[]): Comparison {
    return { template: `${COLUMN} in (select value from json_each(${VALUE}))`, values: [this.#list(path, values)] };
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

  /** A value as MikroORM stores it, which is also how better-sqlite3 takes it. */
  protected parameter(path: FieldPath, value: unknown): unknown {
    return path.type.kind === 'decimal' ? Number(value) : this.plain(value);
  }

  protected plain(value: unknown): unknown {
    if (typeof value === 'boolean') return value ? 1 : 0;
    return value instanceof Date ? comparableMilliseconds(value) : value;
  }
}

/** The comparisons of a text, a column or its folded form, with another. */
interface TextTemplates {
  readonly contains: string;
  readonly startsWith: string;
  readonly endsWith: string;
  readonly equals: string;
}

function textTemplates(text: string): TextTemplates {
  return {
    contains: `instr(${text}, ${VALUE}) > 0`,
    startsWith: `substr(${text}, 1, ${VALUE}) = ${VALUE}`,
    endsWith: `substr(${text}, ${VALUE}) = ${VALUE}`,
    equals: `${text} = ${VALUE}`,
  };
}

const AS_IT_IS = textTemplates(COLUMN);
const FOLDED = textTemplates(`${FOLD}(${COLUMN})`);

function compareText(templates: TextTemplates, lookup: Lookup, text: string): Comparison {
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
