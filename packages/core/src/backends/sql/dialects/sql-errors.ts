import type { DriverException } from '@mikro-orm/core';
import {
  CheckConstraintViolationException,
  ForeignKeyConstraintViolationException,
  UniqueConstraintViolationException,
} from '@mikro-orm/core';
import type { DatabaseErrors, Violation } from '../../database-errors.ts';

/** The fields of an error of PostgreSQL. */
interface PostgreSqlError {
  readonly constraint?: string;
  readonly table?: string;
  readonly schema?: string;
  readonly detail?: string;
}

/** SQLSTATE classes of data exceptions (22), and of statements with too many or too large parts (54). */
const VALUE = /^(?:22|54)/;
/** SQLSTATEs of extension types that reject a text: ltree by a syntax error, hstore by an internal error. */
const OTHER_VALUE = /^(?:42601|XX000)$/;
/** The PostgreSQL source files that parse the texts of these types. SQL's own syntax errors come from other files. */
const TYPE_SOURCE = /(?:_io|tsquery)\.c$/;
/** SQLSTATE of `on delete restrict` since PostgreSQL 18. MikroORM does not know it yet. */
const RESTRICT = '23001';
/** SQLSTATE of exclusion constraints, such as two records with overlapping ranges. */
const EXCLUSION = '23P01';
/** The PostgreSQL functions that reject a row without a partition. They use the SQLSTATE of check constraints. */
const NO_PARTITION = /^(?:ExecFindPartition|ExecPartitionCheckEmitError)$/;
/** SQLSTATE of rows outside a view with `with check option`. */
const CHECK_OPTION = '44000';

/**
 * SQLSTATE of a server that cannot serve:
 *
 * - connections that fail or end, and the errors of PgBouncer (08);
 * - a server that takes no writes (25006), or ended the transaction or session after too long (25P03, 25P04);
 * - a server without disk, memory or connections (53);
 * - a server that starts, stops or crashes, and a statement that it canceled after too long (57);
 * - errors of the system below PostgreSQL (58).
 */
const POSTGRESQL = /^(?:08|25006|25P0[34]|53|57|58)/;
/** The PostgreSQL source files that refuse writes once it has run out of transaction numbers. */
const OUT_OF_NUMBERS = /^(?:varsup|multixact)\.c$/;
const SQLITE = /^SQLITE_(?:BUSY|LOCKED|READONLY|IOERR|CANTOPEN|FULL|NOMEM|PROTOCOL)/;
/** Driver errors that have only a message. */
const WORDS =
  /connection terminated|not queryable|query read timeout|timeout exceeded when trying to connect|after calling end on the pool|connection is not open/i;

/** SQLSTATE of a statement that has waited too long for a lock. */
const LOCK_NOT_AVAILABLE = '55P03';

/** SQLSTATEs of transactions that the database aborts because of others. */
const SERIALIZATION_FAILURE = '40001';
const DEADLOCK = '40P01';

/** The errors of PostgreSQL and SQLite, whose codes are texts. */
export const SQL_ERRORS: DatabaseErrors = Object.freeze({
  violationOf(error) {
    const kind = typeof error.code === 'number' ? undefined : kindOf(error);
    if (kind === undefined) return undefined;
    const { constraint, table, schema, detail } = error as PostgreSqlError;
    // PostgreSQL: Key (owner_id, lower(name))=(7, tea) already exists. The words depend on its language, but the form
    // does not.
    const key = detail?.match(/\((.*?)\)=\(/)?.[1];
    if (table !== undefined || constraint !== undefined) return { kind, constraint, table, schema, columns: key ?? '' };
    // SQLite: UNIQUE constraint failed: book.owner_id, book.name
    // UNIQUE constraint failed: index 'book_lower_name'
    // CHECK constraint failed: the name of the rule, or its text
    const named = error.message.match(/constraint failed: (.+)$/m)?.[1];
    const [, sqliteTable] = (kind === 'unique' ? named?.match(/^([^.,]+)\./) : undefined) ?? [];
    if (named === undefined || sqliteTable === undefined) {
      return { kind, constraint: named, table: undefined, columns: named ?? '' };
    }
    return { kind, constraint: named, table: sqliteTable, columns: named.replaceAll(`${sqliteTable}.`, '') };
  },
  isUnavailable(error) {
    const { code } = error as { code?: unknown };
    if (code === LOCK_NOT_AVAILABLE || isOutOfNumbers(error)) return true;
    if (typeof code === 'string') return POSTGRESQL.test(code) || SQLITE.test(code);
    return typeof code !== 'number' && WORDS.test(error.message);
  },
  // The errors of COMMIT are those of the driver.
  isTransactionLost: (error) => codeOf(error) === SERIALIZATION_FAILURE || codeOf(error) === DEADLOCK,
  isDeadlock: (error) => codeOf(error) === DEADLOCK,
} satisfies DatabaseErrors);

function codeOf(error: Error): unknown {
  return (error as { readonly code?: unknown }).code;
}

function kindOf(error: DriverException): Violation['kind'] | undefined {
  if (error instanceof UniqueConstraintViolationException) return 'unique';
  if (error instanceof ForeignKeyConstraintViolationException || error.code === RESTRICT) return 'foreign key';
  if (error instanceof CheckConstraintViolationException || error.code === CHECK_OPTION) {
    // A missing partition is a fault of the database's set-up, not of the values.
    return NO_PARTITION.test(routineOf(error)) ? undefined : 'check';
  }
  if (error.code === EXCLUSION) return 'exclusion';
  // The same SQLSTATE is used for a table that the server's role may not use, and the message depends on the language.
  if (routineOf(error) === 'ExecWithCheckOptions') return 'policy';
  return isValueRefused(error) ? 'value' : undefined;
}

/** The function of PostgreSQL that reported an error. Unlike the message, it does not depend on the language. */
function routineOf(error: object): string {
  return String((error as { readonly routine?: unknown }).routine);
}

/** PostgreSQL reports this as 54000, like a statement with too many parts. */
function isOutOfNumbers(error: object): boolean {
  const { code, file } = error as { readonly code?: unknown; readonly file?: unknown };
  return code === '54000' && OUT_OF_NUMBERS.test(String(file));
}

function isValueRefused(error: DriverException): boolean {
  if (isOutOfNumbers(error)) return false;
  const code = String(error.code);
  if (VALUE.test(code)) return true;
  const { file } = error as { readonly file?: unknown };
  return OTHER_VALUE.test(code) && TYPE_SOURCE.test(String(file));
}
