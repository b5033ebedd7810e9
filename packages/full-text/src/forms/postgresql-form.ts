import type { EntityManager } from '@mikro-orm/core';
import { ImproperlyConfigured, type NativeTerm } from '@viewset/core';
import { type Definition, definitionText } from '../definition.ts';
import { quotedPhrase, type SearchTerms } from '../terms.ts';
import { type Form, type IndexState, literal, quoted, runAll } from './form.ts';

/** PostgreSQL has four weight classes. */
const LABELS = ['A', 'B', 'C', 'D'] as const;

const MAX_NAME_LENGTH = 63;

/**
 * Only this many characters of all fields together are indexed. A tsvector is limited to one megabyte, so a longer text
 * could not be stored.
 */
const MAX_CHARACTERS = 200_000;

/**
 * These characters always separate words. To PostgreSQL, `and/or` would be a file and `e.g` a host. The question mark
 * does not have to be listed, because it is part of neither.
 */
const PUNCTUATION = '!"#$%&\'()*+,-./:;<=>@[\\]^_`{|}~';

/** A generated `tsvector` column with a GIN index. */
export function postgreSqlForm(definition: Definition): Form {
  const { name } = definition;
  const column = quoted(name);
  const query = (value: string): string => `websearch_to_tsquery('${configOf(definition)}', ${value})`;
  const weights = rankWeights(definition);
  const matches: NativeTerm = {
    name: 'full text',
    // If all required words are stop words, only the exclusions remain, and nearly every record passes those. Their
    // `querytree` is T.
    sql: ({ alias, value }) => `(${alias}.${column} @@ ${query(value)} and querytree(${query(value)}) <> 'T')`,
  };
  const rank: NativeTerm = {
    name: 'rank',
    sql: ({ alias, value }) => `ts_rank(${weights}, ${alias}.${column}, ${query(value)})::float8`,
  };
  const statements = (isOutdated: boolean): readonly string[] => indexStatements(definition, isOutdated);
  return {
    matches,
    rank,
    values: (terms) => [textOf(terms), textOf(terms)],
    rankValues: (terms) => [textOf(terms)],
    statements,
    another: 'give one of them a "name"',
    keeps: [name, indexName(definition)],
    checkGenerator: () => {},
    inspect: (em) => inspect(em, definition),
    create: (em, isOutdated) => runAll(em, statements(isOutdated)),
  };
}

/** Quotes every word, so that none acts as an operator, and lowercases them like the column. */
function textOf({ required, excluded }: SearchTerms): string {
  const phrases = [...required.map(quotedPhrase), ...excluded.map((phrase) => `-${quotedPhrase(phrase)}`)];
  return phrases.join(' ').toLowerCase();
}

function configOf({ language }: Definition): string {
  return `pg_catalog.${language === 'none' ? 'simple' : language}`;
}

function weightsOf({ columns }: Definition): readonly number[] {
  const weights = [...new Set(columns.map(({ weight }) => weight))].toSorted((a, b) => b - a);
  if (weights.length <= LABELS.length) return weights;
  throw new ImproperlyConfigured(
    `fullText(): PostgreSQL knows at most ${LABELS.length} different weights; got ${weights.join(', ')}`,
  );
}

/** `{D, C, B, A}`, scaled to at most 1. */
function rankWeights(definition: Definition): string {
  const weights = weightsOf(definition);
  const [most = 1] = weights;
  const shares = LABELS.map((_, index) => (weights[index] ?? 0) / most);
  return `'{${shares.toReversed().join(', ')}}'`;
}

function tableSql({ meta, schema }: Definition): string {
  const table = quoted(meta.tableName);
  return schema === undefined ? table : `${quoted(schema)}.${table}`;
}

/** PostgreSQL truncates long names at the end, which is the part that distinguishes two searches of a table. */
function indexName({ meta, name }: Definition): string {
  return `${meta.tableName.slice(0, MAX_NAME_LENGTH - name.length - 1)}_${name}`;
}

function vectorSql(definition: Definition): string {
  const { columns } = definition;
  const weights = weightsOf(definition);
  const length = Math.floor(MAX_CHARACTERS / columns.length);
  const spaces = `repeat(' ', ${PUNCTUATION.length})`;
  const parts = columns.map(({ column, weight }) => {
    const text = `left(coalesce(${quoted(column)}::text, ''), ${length})`;
    // The database's locale may only know ASCII letters.
    const words = `lower(translate(${text}, ${literal(PUNCTUATION)}, ${spaces}) collate "und-x-icu")`;
    return `setweight(to_tsvector('${configOf(definition)}', ${words}), '${LABELS[weights.indexOf(weight)]}')`;
  });
  return parts.join(FIELD_END);
}

/**
 * Keeps phrases from matching across two fields. The gap exceeds the most words of a search, and `.` is not a
 * searchable word.
 */
const FIELD_END = " || '.:100'::tsvector || ";

function indexStatements(definition: Definition, isOutdated: boolean): readonly string[] {
  const table = tableSql(definition);
  const column = quoted(definition.name);
  return [
    ...(isOutdated ? [`alter table ${table} drop column if exists ${column}`] : []),
    `alter table ${table} add column ${column} tsvector generated always as (${vectorSql(definition)}) stored`,
    `comment on column ${table}.${column} is ${literal(definitionText(definition))}`,
    `create index ${quoted(indexName(definition))} on ${table} using gin (${column})`,
  ];
}

interface Found {
  readonly table: string | null;
  readonly column: string | null;
  readonly definition: string | null;
  readonly indexed: boolean;
}

async function inspect(em: EntityManager, definition: Definition): Promise<IndexState> {
  const sql = `select c.oid::text as "table", a.attname::text as "column", col_description(a.attrelid, a.attnum) as "definition",
    exists (select 1 from pg_index i join pg_class x on x.oid = i.indexrelid join pg_am m on m.oid = x.relam
      where i.indrelid = a.attrelid and i.indisvalid and i.indpred is null and m.amname = 'gin' and a.attnum = any(i.indkey)) as "indexed"
    from (select to_regclass(${literal(tableSql(definition))}) as oid) c
    left join pg_attribute a on a.attrelid = c.oid and a.attname = ${literal(definition.name)} and not a.attisdropped`;
  const [found] = (await em.getConnection().execute(sql)) as unknown as Found[];
  if (found === undefined || found.table === null) return { kind: 'no table' };
  if (found.column === null) return { kind: 'absent' };
  if (found.definition === definitionText(definition)) return { kind: found.indexed ? 'current' : 'outdated' };
  if (found.definition?.startsWith('fullText(') === true) return { kind: 'outdated' };
  return { kind: 'foreign', problem: `its table has a column "${definition.name}" of another kind` };
}
