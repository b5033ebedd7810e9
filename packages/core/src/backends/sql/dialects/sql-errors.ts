import {
  CheckConstraintViolationException,
  DriverException,
  ForeignKeyConstraintViolationException,
  UniqueConstraintViolationException,
} from '@mikro-orm/core';
import type { DatabaseErrors, Violation } from '../../database-errors.ts';

/** SQLSTATE classes of data exceptions (22), and of statements with too many or too large parts (54). */
const VALUE = /^(?:22|54)/;
/** SQLSTATEs by which types of extensions refuse a text: ltree as a syntax error, hstore by none of its own. */
const OTHER_VALUE = /^(?:42601|XX000)$/;
/** The sources of PostgreSQL that read the texts of such types; the syntax errors of SQL itself come from others. */
const TYPE_SOURCE = /(?:_io|tsquery)\.c$/;
/** SQLSTATE of `on delete restrict` since PostgreSQL 18, which MikroORM does not know yet. */
const RESTRICT = '23001';
/** SQLSTATE of exclusion constraints: two records whose ranges overlap, and the like. */
const EXCLUSION = '23P01';
/** SQLSTATE of rows outside of what a view with `with check option` shows. */
const CHECK_OPTION = '44000';

/**
 * SQLSTATE of connections that fail or end, of a server short of room, starting or stopping, and of a statement that it
 * has canceled because it took too long.
 */
const POSTGRESQL = /^(?:08|53|57|25P0[34])/;
const SQLITE = /^SQLITE_(?:BUSY|LOCKED|IOERR|CANTOPEN|FULL|PROTOCOL)/;
/** Errors that the drivers tell of in words alone. */
const WORDS =
  /connection terminated|not queryable|query read timeout|timeout exceeded when trying to connect|after calling end on the pool|connection is not open/i;

/** SQLSTATE of transactions that lost a race, or gave up waiting for a lock. */
const TRY_AGAIN = /^(?:40001|40P01|55P03)/;

/** The errors of PostgreSQL and SQLite: their codes are texts. */
export const SQL_ERRORS: DatabaseErrors = Object.freeze({
  violationOf(error) {
    const kind = typeof error.code === 'number' ? undefined : kindOf(error);
    if (kind === undefined) return undefined;
    const { constraint, table, detail } = error as { constraint?: string; table?: string; detail?: string };
    // PostgreSQL: Key (owner_id, lower(name))=(7, tea) already exists. The words depend on its language, the form does not.
    const key = detail?.match(/\((.*?)\)=\(/)?.[1];
    if (table !== undefined || constraint !== undefined) return { kind, constraint, table, columns: key ?? '' };
    // SQLite: UNIQUE constraint failed: book.owner_id, book.name
    const named = error.message.match(/constraint failed: (.+)$/m)?.[1];
    const [, sqliteTable] = named?.match(/^([^.,]+)\./) ?? [];
    return { kind, constraint: named, table: sqliteTable, columns: named ?? '' };
  },
  isUnavailable(error) {
    const { code } = error as { code?: unknown };
    if (typeof code === 'string') return POSTGRESQL.test(code) || SQLITE.test(code);
    return typeof code !== 'number' && WORDS.test(error.message);
  },
  isTransactionLost: (error) => error instanceof DriverException && TRY_AGAIN.test(String(error.code)),
} satisfies DatabaseErrors);

function kindOf(error: DriverException): Violation['kind'] | undefined {
  if (error instanceof UniqueConstraintViolationException) return 'unique';
  if (error instanceof ForeignKeyConstraintViolationException || error.code === RESTRICT) return 'foreign key';
  if (error instanceof CheckConstraintViolationException || error.code === CHECK_OPTION) return 'check';
  if (error.code === EXCLUSION) return 'exclusion';
  // Its SQLSTATE is that of a table which the server's own role may not use, its words depend on the language.
  if ((error as { readonly routine?: unknown }).routine === 'ExecWithCheckOptions') return 'policy';
  return isValueRefused(error) ? 'value' : undefined;
}

function isValueRefused(error: DriverException): boolean {
  const code = String(error.code);
  if (VALUE.test(code)) return true;
  const { file } = error as { readonly file?: unknown };
  return OTHER_VALUE.test(code) && TYPE_SOURCE.test(String(file));
}
