import { type Awaitable, whenReady } from '../../../support/awaitable.ts';
import { namesColumn, type Violation } from '../../database-errors.ts';
import type { Reader } from './reader.ts';
import { placesOf, type Table, type ViolatedTables } from './violated-table.ts';

/** The error names an index on an expression, but not its table and columns. */
const INDEX = "select tbl_name, sql from sqlite_master where type = 'index' and name = ?";
/** Only `instead of` triggers write through a view. */
const VIEWS =
  "select tbl_name, sql from sqlite_master where type = 'trigger' and tbl_name in (select name from sqlite_master where type = 'view')";

/** A check without a name is reported by its text. */
const IDENTIFIER = /^[\p{L}\p{N}_$]+$/u;
/** These statements name constraints, indexes, and the errors of triggers. */
const STATEMENTS = 'select sql from sqlite_master where sql is not null';

export function placeSqliteViolation(
  reader: Reader,
  violation: Violation,
  tables: readonly Table[],
): Awaitable<ViolatedTables> {
  const { constraint, table, columns } = violation;
  const index = table === undefined ? constraint?.match(/^index '(.*)'$/s)?.[1] : undefined;
  if (index === undefined) return placeTable(reader, table, columns, tables);
  return whenReady(reader.rows(statement(INDEX), [index.replaceAll("''", "'")]), ([row]) => {
    if (row === undefined) return placeTable(reader, table, columns, tables);
    return placeTable(reader, String(row[0]), keyOf(String(row[1])), tables);
  });
}

function placeTable(
  reader: Reader,
  table: string | undefined,
  columns: string,
  tables: readonly Table[],
): Awaitable<ViolatedTables> {
  if (table === undefined) return { columns, places: placesOf(tables, () => true) };
  const known = placesOf(tables, ({ name }) => sameName(name, table));
  if (known.size > 0) return { columns, places: known };
  return whenReady(reader.rows(statement(VIEWS), []), (rows) => {
    const above = rows.filter(([, sql]) => namesColumn(String(sql).toLowerCase(), table.toLowerCase()));
    const places = placesOf(tables, ({ name }) => above.some(([view]) => sameName(String(view), name)));
    return { columns, places };
  });
}

export function unknownSqliteConstraints(reader: Reader, names: readonly string[]): Awaitable<readonly string[]> {
  return whenReady(reader.rows(statement(STATEMENTS), []), (rows) => {
    const all = rows.map(([sql]) => String(sql)).join('\n');
    return names.filter((name) => !namesColumn(all, name) && (IDENTIFIER.test(name) || !all.includes(name)));
  });
}

function statement(sql: string): { readonly sql: string; readonly one: boolean; readonly isShapedByClient: boolean } {
  return { sql, one: false, isShapedByClient: false };
}

function sameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** The part of an index's statement before its key. */
const HEAD = /^.*?\bon\s+(?:"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|[^\s(]+)\s*(?=\()/is;

/** Returns the key of an index from its statement, without the name of the table and the condition of a partial index. */
function keyOf(sql: string): string {
  const start = sql.match(HEAD)?.[0].length ?? sql.indexOf('(');
  let depth = 0;
  for (let at = start; at < sql.length; at++) {
    if (sql[at] === '(') depth++;
    if (sql[at] === ')' && --depth === 0) return sql.slice(start + 1, at);
  }
  return sql.slice(start + 1);
}
