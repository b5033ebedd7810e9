import type { EntityManager, Platform } from '@mikro-orm/core';
import type { Awaitable } from '../../../awaitable.ts';
import { withMicroseconds } from '../../../fields/calendar.ts';
import type { FieldPath } from '../../../fields/field-path.ts';
import { valueProperty } from '../../../fields/property.ts';
import { foldCase } from './case-folding.ts';
import { customParameter } from './custom-parameter.ts';
import { COLUMN, comparisonTemplates, VALUE, type Comparison, type Dialect } from './dialect.ts';
import { POSTGRESQL_FORECAST } from './forecast.ts';
import { compareAsciiFirst, likePattern } from './like-pattern.ts';
import type { Lookup } from '../../../language/lookup.ts';
import { formattedDate } from '../../../mikro/platform.ts';
import { readPostgreSql } from './postgresql-reader.ts';
import type { Reader } from './reader.ts';

/**
 * PostgreSQL through pg. Parameters are never cast, so that each takes the type of the column beside it: decimals are
 * compared as numeric, exactly, and indexes serve. An index on `lower(name collate "C")` (btree, or gin with gin_trgm_ops)
 * serves the case-insensitive lookups of any text that has ASCII in it but `k` and `i`, one on
 * `lower(name collate "und-x-icu")` the rest.
 */
export class PostgreSqlDialect implements Dialect {
  readonly name = 'PostgreSQL';
  readonly countsInline = true;
  readonly placeholder = (n: number): string => `$${n}`;
  readonly triggers = TRIGGERS;
  readonly sliceValue = VALUE;
  readonly guard = undefined;
  readonly forecast = POSTGRESQL_FORECAST;
  readonly #platform: Platform;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  compare(path: FieldPath, lookup: Lookup, value: unknown): Comparison {
    switch (lookup) {
      case 'isnull':
        return { template: value === true ? `${COLUMN} is null` : `${COLUMN} is not null`, values: [] };
      case 'contains':
      case 'startswith':
      case 'endswith':
        return { template: textTemplates(path).like, values: [likePattern(lookup, value as string)] };
      case 'iexact':
      case 'icontains':
      case 'istartswith':
      case 'iendswith':
        return compareFolded(path, lookup, foldCase(value as string));
      default:
        return this.#compareValue(path, lookup, value);
    }
  }

  stored(path: FieldPath, value: unknown): unknown {
    return value === null ? null : this.#parameter(path, value);
  }

  rawParameter(_path: FieldPath, raw: unknown): unknown {
    return raw;
  }

  selected(_path: FieldPath, sql: string): string {
    return sql;
  }

  /** PostgreSQL takes NULL for the greatest of all, as `OrderKey` says. */
  ordered(_path: FieldPath, sql: string, descending: boolean): string {
    return descending ? `${sql} desc` : sql;
  }

  lock(alias: string): string {
    return ` for update of ${alias}`;
  }

  read<T>(em: EntityManager, work: (reader: Reader) => Awaitable<T>): Awaitable<T> {
    return readPostgreSql(em, 'read', work);
  }

  write<T>(em: EntityManager, work: (reader: Reader) => Awaitable<T>): Awaitable<T> {
    return readPostgreSql(em, 'write', work);
  }

  #compareValue(path: FieldPath, lookup: Lookup, value: unknown): Comparison {
    const custom = customParameter(path, this.#platform, lookup, value, (item) => item);
    if (custom !== undefined) return custom;
    switch (lookup) {
      case 'in':
        return { template: `${COLUMN} = any(${VALUE})`, values: [this.#parameters(path, value as unknown[])] };
      case 'range':
        return {
          template: `${COLUMN} between ${VALUE} and ${VALUE}`,
          values: this.#parameters(path, value as unknown[]),
        };
      default:
        return { template: templateOf(lookup), values: [this.#parameter(path, value)] };
    }
  }

  #parameters(path: FieldPath, values: readonly unknown[]): unknown[] {
    return values.map((value) => this.#parameter(path, value));
  }

  /** Text wherever the driver's own conversion would lose something, or depend on the time zone of this process. */
  #parameter(path: FieldPath, value: unknown): unknown {
    if (value instanceof Date) return this.#timestamp(path, value);
    if (typeof value === 'bigint') return String(value);
    // What does not fit 32 bits is an error to PostgreSQL; rounded as the column rounds, it is comparable.
    if (path.type.kind === 'number' && isSingle(path)) return Math.fround(value as number);
    return value;
  }

  /** As MikroORM writes it: a column without a time zone holds the time of the zone that is configured. */
  #timestamp(path: FieldPath, value: Date): string {
    const hasZone = valueProperty(path.property).columnTypes[0]?.startsWith('timestamptz') ?? false;
    const text = hasZone ? undefined : formattedDate(this.#platform, value);
    return withMicroseconds(text ?? value.toISOString(), value);
  }
}

/** A trigger of a partition counts for the whole table. Those of foreign keys change no row. */
const TRIGGERS = `with triggered as (select tgrelid as id from pg_trigger where not tgisinternal)
  select distinct relname from pg_class
  where oid in (select id from triggered union select pg_partition_root(id) from triggered)`;

const templateOf = comparisonTemplates({ ne: 'is distinct from' });

function isSingle(path: FieldPath): boolean {
  return /^(?:real|float4|float$)/.test(valueProperty(path.property).columnTypes[0] ?? '');
}

/** How a column of texts is compared. */
interface TextTemplates {
  readonly like: string;
  /** ASCII folded by the rules of "C", which LIKE compares at no great cost. */
  readonly ascii: FoldedTemplates;
  readonly unicode: FoldedTemplates;
  /** As `unicode`, with one small sigma; see `foldCase`. */
  readonly sigma: FoldedTemplates;
}

interface FoldedTemplates {
  readonly like: string;
  readonly equals: string;
}

function templatesFor(column: string): TextTemplates {
  const unicode = `lower(${column} collate "und-x-icu")`;
  return {
    like: `${column} like ${VALUE}`,
    ascii: foldedTemplates(`lower(${column} collate "C")`),
    unicode: foldedTemplates(unicode),
    sigma: foldedTemplates(`replace(${unicode}, 'ς', 'σ')`),
  };
}

function foldedTemplates(text: string): FoldedTemplates {
  return { like: `${text} like ${VALUE}`, equals: `${text} = ${VALUE}` };
}

const OF_TEXT = templatesFor(COLUMN);
/** A column of another type than text may compare in its own way: citext folds case, whatever is asked. */
const AS_TEXT = templatesFor(`${COLUMN}::text`);

function textTemplates(path: FieldPath): TextTemplates {
  const type = valueProperty(path.property).columnTypes[0] ?? '';
  return type.startsWith('text') || type.startsWith('varchar') || type.startsWith('character varying')
    ? OF_TEXT
    : AS_TEXT;
}

function compareFolded(path: FieldPath, lookup: Lookup, folded: string): Comparison {
  const { ascii, unicode, sigma } = textTemplates(path);
  return compareAsciiFirst(lookup, folded, {
    like: (pattern) => ({ template: ascii.like, values: [pattern] }),
    equals: ascii.equals,
    byUnicode: () => compareWhole(folded.includes('σ') ? sigma : unicode, lookup, folded),
  });
}

function compareWhole({ like, equals }: FoldedTemplates, lookup: Lookup, folded: string): Comparison {
  return lookup === 'iexact'
    ? { template: equals, values: [folded] }
    : { template: like, values: [likePattern(lookup, folded)] };
}
