import {
  CheckConstraintViolationException,
  ConnectionException,
  DeadlockException,
  DriverException,
  ForeignKeyConstraintViolationException,
  LockWaitTimeoutException,
  type Platform,
  UniqueConstraintViolationException,
} from '@mikro-orm/core';
import { isConnectionLost } from '../mikro/mongo-errors.ts';
import { isLostRace } from '../mikro/mongo-session.ts';
import { HttpError, ServiceUnavailable } from '../errors.ts';

/** The refusal of a database of the values of a statement. */
export interface Violation {
  /** `value`: a value that its column cannot hold. `policy`: a row that row level security does not let this user write. */
  readonly kind: 'unique' | 'exclusion' | 'foreign key' | 'check' | 'value' | 'policy';
  /** The constraint's name, or its columns. */
  readonly constraint: string | undefined;
  /** Undefined if the database does not say. */
  readonly table: string | undefined;
  /** The text that names the columns at fault, quoted or not. */
  readonly columns: string;
}

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

/** The violations by which a record conflicts with another one. */
const CONFLICTS: ReadonlySet<string> = new Set<Violation['kind']>(['unique', 'exclusion', 'foreign key']);

/** Tells if a record conflicts with another one. */
export function isConflict(violation: Violation | undefined): boolean {
  return violation !== undefined && CONFLICTS.has(violation.kind);
}

/** Reads an error of MikroORM or its driver. Undefined if it is not about values. */
export function violationOf(error: unknown): Violation | undefined {
  if (!(error instanceof DriverException)) return undefined;
  const kind = kindOf(error);
  if (kind === undefined) return undefined;
  const { constraint, table, detail } = error as { constraint?: string; table?: string; detail?: string };
  if (typeof error.code === 'number') return mongoViolation(kind, error);
  // PostgreSQL: Key (owner_id, lower(name))=(7, tea) already exists. The words depend on its language, the form does not.
  const key = detail?.match(/\((.*?)\)=\(/)?.[1];
  if (table !== undefined || constraint !== undefined) return { kind, constraint, table, columns: key ?? '' };
  // SQLite: UNIQUE constraint failed: book.owner_id, book.name
  const named = error.message.match(/constraint failed: (.+)$/m)?.[1];
  const [, sqliteTable] = named?.match(/^([^.,]+)\./) ?? [];
  return { kind, constraint: named, table: sqliteTable, columns: named ?? '' };
}

/** MongoDB: E11000 duplicate key error collection: shop.book index: owner_id_1_name_1 dup key: { … } */
function mongoViolation(
  kind: Violation['kind'],
  { message, keyPattern = {} }: Error & { keyPattern?: object },
): Violation {
  const [, table, constraint] = message.match(/^.*? collection: [^.]+\.(.+?) index: (.+?) dup key:/) ?? [];
  return { kind, constraint, table, columns: Object.keys(keyPattern).join(', ') };
}

/** BSONObjectTooLarge, and the same of a document that an update makes. */
const MONGODB_VALUE: ReadonlySet<unknown> = new Set([10_334, 17_419]);

function kindOf(error: DriverException): Violation['kind'] | undefined {
  if (error instanceof UniqueConstraintViolationException) return 'unique';
  if (error instanceof ForeignKeyConstraintViolationException || error.code === RESTRICT) return 'foreign key';
  if (error instanceof CheckConstraintViolationException || error.code === CHECK_OPTION) return 'check';
  if (error.code === EXCLUSION) return 'exclusion';
  // Its SQLSTATE is that of a table which the server's own role may not use, its words depend on the language.
  if ((error as { readonly routine?: unknown }).routine === 'ExecWithCheckOptions') return 'policy';
  if (typeof error.code === 'number') return MONGODB_VALUE.has(error.code) ? 'value' : undefined;
  return isValueRefused(error) ? 'value' : undefined;
}

function isValueRefused(error: DriverException): boolean {
  const code = String(error.code);
  if (VALUE.test(code)) return true;
  const { file } = error as { readonly file?: unknown };
  return OTHER_VALUE.test(code) && TYPE_SOURCE.test(String(file));
}

/**
 * SQLSTATE of connections that fail or end, of a server short of room, starting or stopping, and of a statement that it
 * has canceled because it took too long.
 */
const POSTGRESQL = /^(?:08|53|57|25P0[34])/;
const SQLITE = /^SQLITE_(?:BUSY|LOCKED|IOERR|CANTOPEN|FULL|PROTOCOL)/;
const NETWORK = /^(?:ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)/;
/**
 * Codes of MongoDB: no server that can be reached or is the primary (HostUnreachable, HostNotFound, NetworkTimeout, SocketException,
 * PrimarySteppedDown, NotWritablePrimary, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary), one that stops (ShutdownInProgress,
 * InterruptedAtShutdown, InterruptedDueToReplStateChange), an answer that takes too long (MaxTimeMSExpired, ExceededTimeLimit), and a
 * write that too few members have confirmed (WriteConcernTimeout).
 */
const MONGODB: ReadonlySet<unknown> = new Set([
  6, 7, 89, 9001, 189, 10_107, 13_435, 13_436, 91, 11_600, 11_602, 50, 262, 64,
]);
/** Errors that the drivers tell of in words alone. */
const WORDS =
  /connection terminated|not queryable|query read timeout|timeout exceeded when trying to connect|after calling end on the pool|connection is not open/i;

/** SQLSTATE of transactions that lost a race, or gave up waiting for a lock. */
const TRY_AGAIN = /^(?:40001|40P01|55P03)/;

/** Tells if an error of a driver says that the database cannot be reached, has no room, or took too long. */
function isUnreachable(error: Error): boolean {
  const { code } = error as { code?: unknown };
  if (typeof code === 'number') return MONGODB.has(code);
  if (typeof code === 'string') return POSTGRESQL.test(code) || SQLITE.test(code) || NETWORK.test(code);
  // Node gathers the failures of several addresses of one host.
  if (error instanceof AggregateError) {
    return error.errors.some((inner) => inner instanceof Error && isUnreachable(inner));
  }
  return isConnectionLost(error) || WORDS.test(error.message);
}

/** Tells if an error of MikroORM or its driver may be gone with the next try: see `isUnreachable`, or a lost race. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionException || error instanceof DeadlockException) return true;
  if (error instanceof LockWaitTimeoutException) return true;
  if (error instanceof Error && isUnreachable(error)) return true;
  if (isLostRace(error)) return true;
  return error instanceof DriverException && TRY_AGAIN.test(String(error.code));
}

/**
 * Returns the error to throw for that of a driver: ServiceUnavailable if the database cannot be reached or has no room,
 * else MikroORM's own exception, as its queries throw it.
 */
export function readError<Thrown>(platform: Platform, error: Thrown): Thrown | Error {
  if (!(error instanceof Error) || error instanceof HttpError || error instanceof DriverException) return error;
  if (isUnreachable(error)) return new ServiceUnavailable(undefined, { cause: error });
  return platform.getExceptionConverter().convertException(error);
}
