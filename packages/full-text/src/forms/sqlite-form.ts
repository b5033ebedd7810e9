import type { EntityManager } from '@mikro-orm/core';
import { fieldPath, ImproperlyConfigured, type NativeTerm } from '@viewset/core';
import { type Definition, indexName } from '../definition.ts';
import { quotedPhrase, type SearchTerms } from '../terms.ts';
import { type Form, type IndexState, literal, quoted, runAll } from './form.ts';

/** Names that columns of an FTS5 table must not have. */
const RESERVED: ReadonlySet<string> = new Set(['rank', 'rowid']);

/** An FTS5 table with only the index, and triggers that keep it up to date. Also works on libSQL. */
export function sqliteForm(definition: Definition): Form {
  const { columns, meta } = definition;
  checkColumns(definition);
  const table = quoted(indexName(definition));
  const key = keyOf(definition);
  const found = (columnsSql: string, value: string): string =>
    `select ${columnsSql} from ${table} where ${table} match ${value}`;
  const score = `-bm25(${table}, ${columns.map(({ weight }) => weight.toFixed(1)).join(', ')})`;
  const matches: NativeTerm = {
    name: 'full text',
    sql: ({ alias, value }) => `${alias}.${key} in (${found('rowid', value)})`,
  };
  const rank: NativeTerm = {
    name: 'rank',
    // With `limit`, SQLite ranks all matches once and indexes the result. Without it, SQLite would repeat the search
    // for each record.
    sql: ({ alias, value }) =>
      `select "rank" from (${found(`rowid as "key", ${score} as "rank"`, value)} limit -1) where "key" = ${alias}.${key}`,
  };
  const statements = (isOutdated: boolean): readonly string[] => indexStatements(definition, isOutdated);
  return {
    matches,
    rank,
    values: valuesOf,
    rankValues: valuesOf,
    statements,
    another: 'give one of them a "name"',
    keeps: [...objectsOf(definition).keys()],
    checkGenerator: (em) => checkGenerator(em, definition),
    inspect: (em) => inspect(em, definition, meta.tableName),
    create: (em, isOutdated) => runAll(em, statements(isOutdated)),
  };
}

function checkColumns({ meta, columns }: Definition): void {
  const reserved = columns.find(({ column }) => RESERVED.has(column.toLowerCase()));
  if (reserved !== undefined) {
    throw new ImproperlyConfigured(
      `fullText(): FTS5 of SQLite has a column "${reserved.column}" of its own, so that it cannot index that of ${meta.className}`,
    );
  }
  const [primary, ...others] = meta.getPrimaryProps();
  const kind = primary === undefined ? undefined : fieldPath(meta, primary.name, '.').type.kind;
  const isInteger = kind === 'integer' || kind === 'bigint';
  if (isInteger && others.length === 0) return;
  throw new ImproperlyConfigured(
    `fullText(): FTS5 of SQLite finds records by whole numbers, so that ${meta.className} needs an integer as its primary key`,
  );
}

/**
 * Requires that MikroORM's schema generator ignores the tables and triggers. It cannot read virtual tables, and drops
 * triggers that no entity declares.
 */
function checkGenerator({ config }: EntityManager, definition: Definition): void {
  const table = indexName(definition);
  const { skipTables = [], ignoreTriggers = false } = config.get('schemaGenerator') as GeneratorOptions;
  const isSkipped = (name: string): boolean =>
    skipTables.some((skipped) => (typeof skipped === 'string' ? skipped === name : skipped.test(name)));
  if (ignoreTriggers && isSkipped(table) && isSkipped(`${table}_data`)) return;
  throw new ImproperlyConfigured(
    `fullText(): the schema generator of MikroORM cannot read the tables of FTS5, and would drop the triggers that fill "${table}"; ` +
      `give the ORM schemaGenerator: { skipTables: [/_${definition.name}/], ignoreTriggers: true }`,
  );
}

interface GeneratorOptions {
  readonly skipTables?: readonly (string | RegExp)[];
  readonly ignoreTriggers?: boolean;
}

function keyOf({ meta }: Definition): string {
  return quoted(meta.getPrimaryProp().fieldNames[0]!);
}

/** Writes the words in FTS5 syntax. Words contain only letters and digits, so quoted text has no operators. */
function valuesOf({ required, excluded }: SearchTerms): readonly unknown[] {
  const all = required.map(quotedPhrase).join(' AND ');
  return [excluded.length === 0 ? all : `(${all}) NOT (${excluded.map(quotedPhrase).join(' OR ')})`];
}

/** The table and its triggers, by name. */
function objectsOf(definition: Definition): ReadonlyMap<string, string> {
  const { meta, columns, language } = definition;
  const name = indexName(definition);
  const [table, source, key] = [quoted(name), quoted(meta.tableName), keyOf(definition)];
  const names = columns.map(({ column }) => quoted(column)).join(', ');
  const of = (row: string): string => columns.map(({ column }) => `${row}.${quoted(column)}`).join(', ');
  const add = `insert into ${table} (rowid, ${names}) values (new.${key}, ${of('new')});`;
  const remove = `insert into ${table} (${table}, rowid, ${names}) values ('delete', old.${key}, ${of('old')});`;
  const tokenizer = `${language === 'english' ? 'porter ' : ''}unicode61 remove_diacritics 0`;
  const options = [
    `content = ${literal(meta.tableName)}`,
    `content_rowid = ${literal(meta.getPrimaryProp().fieldNames[0]!)}`,
    `tokenize = ${literal(tokenizer)}`,
  ];
  const trigger = (event: string, on: string, body: string): [string, string] => {
    const triggerName = `${name}_${event}`;
    return [triggerName, `create trigger ${quoted(triggerName)} after ${on} on ${source} begin ${body} end`];
  };
  return new Map([
    [name, `create virtual table ${table} using fts5(${[names, ...options].join(', ')})`],
    trigger('insert', 'insert', add),
    trigger('delete', 'delete', remove),
    trigger('update', `update of ${key}, ${names}`, `${remove} ${add}`),
  ]);
}

function indexStatements(definition: Definition, isOutdated: boolean): readonly string[] {
  const objects = objectsOf(definition);
  const [name = '', ...triggers] = objects.keys();
  const drop = [
    ...triggers.map((trigger) => `drop trigger if exists ${quoted(trigger)}`),
    `drop table if exists ${quoted(name)}`,
  ];
  const fill = `insert into ${quoted(name)} (${quoted(name)}) values ('rebuild')`;
  return [...(isOutdated ? drop : []), ...objects.values(), fill];
}

/** SQLite stores each statement as written. */
async function inspect(em: EntityManager, definition: Definition, source: string): Promise<IndexState> {
  const objects = objectsOf(definition);
  const names = [...objects.keys(), source].map(literal).join(', ');
  const sql = `select name, sql from sqlite_master where name in (${names})`;
  const rows = (await em.getConnection().execute(sql)) as unknown as { name: string; sql: string | null }[];
  const found = new Map(rows.map((row) => [row.name, row.sql ?? '']));
  if (!found.has(source)) return { kind: 'no table' };
  found.delete(source);
  if (found.size === 0) return { kind: 'absent' };
  const table = found.get(indexName(definition));
  if (table !== undefined && !/^create virtual table .* using fts5/is.test(table)) {
    return { kind: 'foreign', problem: `there is a table "${indexName(definition)}" of another kind` };
  }
  const isCurrent = [...objects].every(([name, text]) => plain(found.get(name) ?? '') === plain(text));
  return { kind: isCurrent ? 'current' : 'outdated' };
}

function plain(sql: string): string {
  return sql.toLowerCase().replaceAll(/\s+/g, ' ').replace(/;$/, '').trim();
}
