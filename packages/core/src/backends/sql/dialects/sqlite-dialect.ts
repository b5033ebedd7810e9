import type { EntityManager, Platform } from '@mikro-orm/core';
import type { Awaitable } from '../../../awaitable.ts';
import { comparableMilliseconds } from '../../../fields/calendar.ts';
import type { FieldPath } from '../../../fields/field-path.ts';
import { foldCase } from './case-folding.ts';
import { customParameter } from './custom-parameter.ts';
import { COLUMN, comparisonTemplates, VALUE, type Comparison, type Dialect } from './dialect.ts';
import { compareAsciiFirst } from './like-pattern.ts';
import type { Lookup } from '../../../language/lookup.ts';
import type { Reader } from './reader.ts';
import { waitForWriters } from './sqlite-lock.ts';
import { FOLD, IN_TIME, readSqlite } from './sqlite-reader.ts';

/** SQLite through better-sqlite3. Decimals are binary floats there, and are compared as such. */
export class SqliteDialect implements Dialect {
  readonly name = 'SQLite';
  readonly countsInline = false;
  readonly placeholder = '?';
  readonly triggers = "select distinct tbl_name from sqlite_master where type = 'trigger'";
  /** SQLite plans a statement anew whenever a bare `limit ?` is bound; a sum, it takes as it comes. */
  readonly sliceValue = `+${VALUE}`;
  readonly guard = `${IN_TIME}()`;
  /** SQLite keeps no count that is anywhere near, unless ANALYZE was run lately. */
  readonly forecast = undefined;
  readonly #platform: Platform;

  constructor(em: EntityManager) {
    this.#platform = em.getPlatform();
    waitForWriters(em);
  }

  compare(path: FieldPath, lookup: Lookup, value: unknown): Comparison {
    switch (lookup) {
      case 'isnull':
        return { template: value === true ? `${COLUMN} is null` : `${COLUMN} is not null`, values: [] };
      case 'contains':
      case 'startswith':
      case 'endswith':
        return compareText(AS_IT_IS, lookup, value as string);
      case 'iexact':
      case 'icontains':
      case 'istartswith':
      case 'iendswith':
        return compareFolded(lookup, foldCase(value as string));
      default:
        return this.#compareValue(path, lookup, value);
    }
  }

  stored(path: FieldPath, value: unknown): unknown {
    return value === null ? null : parameter(path, value);
  }

  rawParameter(path: FieldPath, raw: unknown): unknown {
    return path.type.kind === 'bigint' && raw !== null ? BigInt(raw as string) : raw;
  }

  /** The driver gives integers as doubles, which hold no more than 53 bits. */
  selected(path: FieldPath, sql: string): string {
    return path.type.kind === 'bigint' ? `cast(${sql} as text)` : sql;
  }

  /** SQLite takes NULL for the least of all. The words are left out where they say nothing: they cost the index. */
  ordered(path: FieldPath, sql: string, descending: boolean): string {
    if (!path.nullable) return descending ? `${sql} desc` : sql;
    return descending ? `${sql} desc nulls first` : `${sql} nulls last`;
  }

  /** There is one writer at a time, and it has the database to itself. */
  lock(): string {
    return '';
  }

  read<T>(em: EntityManager, work: (reader: Reader) => Awaitable<T>): Awaitable<T> {
    return readSqlite(em, 'read', work);
  }

  write<T>(em: EntityManager, work: (reader: Reader) => Awaitable<T>): Awaitable<T> {
    return readSqlite(em, 'write', work);
  }

  #compareValue(path: FieldPath, lookup: Lookup, value: unknown): Comparison {
    const custom = customParameter(path, this.#platform, lookup, value, plain);
    if (custom !== undefined) return custom;
    switch (lookup) {
      case 'in':
        return {
          template: `${COLUMN} in (select value from json_each(${VALUE}))`,
          values: [jsonList(path, value as unknown[])],
        };
      case 'range':
        return {
          template: `${COLUMN} between ${VALUE} and ${VALUE}`,
          values: (value as unknown[]).map((bound) => parameter(path, bound)),
        };
      default:
        return { template: templateOf(lookup), values: [parameter(path, value)] };
    }
  }
}

const templateOf = comparisonTemplates({ ne: 'is not' });

/** A value as MikroORM stores it, which is also how better-sqlite3 takes it. */
function parameter(path: FieldPath, value: unknown): unknown {
  return path.type.kind === 'decimal' ? Number(value) : plain(value);
}

function plain(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return value instanceof Date ? comparableMilliseconds(value) : value;
}

/** One parameter whatever the number of values. JSON's integers are exact in SQLite, so BigInts are written as such. */
function jsonList(path: FieldPath, values: readonly unknown[]): string {
  const texts = values.map((value) => {
    const bound = parameter(path, value);
    return typeof bound === 'bigint' ? String(bound) : JSON.stringify(bound);
  });
  return `[${texts.join(',')}]`;
}

/** How a text, a column or what becomes of one, is compared with another. */
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
 * escape character only where it is told of one, and is the slower for it. SQLite looks at a bare parameter to plan
 * anew for each pattern, which is of use only to one that says how a text begins.
 */
function like(pattern: string): Comparison {
  const templates = pattern.startsWith('%') ? LIKE_ANYWHERE : LIKE;
  return { template: pattern.includes('\\') ? templates.escaped : templates.plain, values: [pattern] };
}

const LIKE = likeTemplates(VALUE);
const LIKE_ANYWHERE = likeTemplates(`+${VALUE}`);

function likeTemplates(value: string): { readonly plain: string; readonly escaped: string } {
  const template = `${COLUMN} like ${value}`;
  return { plain: template, escaped: `${template} escape '\\'` };
}

function compareFolded(lookup: Lookup, folded: string): Comparison {
  return compareAsciiFirst(lookup, folded, { like, byUnicode: () => compareText(FOLDED, lookup, folded) });
}
