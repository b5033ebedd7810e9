import { DriverException, type EntityMetadata, type Platform } from '@mikro-orm/core';
import { HttpError, ServiceUnavailable } from '../errors/errors.ts';

/** A database's rejection of the values of a statement. */
export interface Violation {
  /**
   * `value`: its column cannot hold a value. `policy`: row level security does not allow this user to write the row.
   */
  readonly kind: 'unique' | 'exclusion' | 'foreign key' | 'check' | 'value' | 'policy';
  /** The name of the constraint, or its columns. */
  readonly constraint: string | undefined;
  /** Undefined if the database does not report it. */
  readonly table: string | undefined;
  /** The schema of the table. Undefined if the database has no schemas, or does not report it. */
  readonly schema?: string | undefined;
  /** A text that contains the names of the columns, quoted or not. */
  readonly columns: string;
}

/** The entities that a violation is about, and its columns, both completed from the database's catalog. */
export interface PlacedViolation {
  readonly metas: ReadonlySet<EntityMetadata>;
  /** A text that contains the names of the columns, quoted or not. */
  readonly columns: string;
}

/** Reads the errors of one kind of database. If an application uses several kinds, they are tried in turn. */
export interface DatabaseErrors {
  /** Reads a violation. Undefined for other errors, and for errors of another kind of database. */
  violationOf(error: DriverException): Violation | undefined;
  /** True if the database cannot be reached, has no resources, or took too long. */
  isUnavailable(error: Error): boolean;
  /**
   * True if the database has aborted a transaction because of others: a deadlock, a serialization failure, a write
   * conflict. Nothing of it was written, and it may succeed if repeated.
   */
  isTransactionLost(error: Error): boolean;
  /**
   * True if a transaction was lost because transactions waited for each other. The database notices that only after a
   * time (PostgreSQL: `deadlock_timeout`, one second by default), in which they hold their connections.
   */
  isDeadlock(error: Error): boolean;
}

/** The violations that are conflicts with another record. */
const CONFLICTS: ReadonlySet<string> = new Set<Violation['kind']>(['unique', 'exclusion', 'foreign key']);

/** Reports whether a text names a column. It matches whole words, because an index may be on `lower(email::text)`. */
export function namesColumn(text: string, column: string): boolean {
  return text.split(/[^\p{L}\p{N}_$.]+/u).includes(column);
}

export function isConflict(violation: Violation | undefined): boolean {
  return violation !== undefined && CONFLICTS.has(violation.kind);
}

/** The codes of Node for a server that cannot be reached. */
const NETWORK = /^(?:ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)/;

/**
 * Reports whether an error of a driver or of Node means that the database cannot be reached, has no resources, or took
 * too long.
 */
export function isUnavailable(errors: DatabaseErrors, error: Error): boolean {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && NETWORK.test(code)) return true;
  // Node combines the failures of several addresses of one host.
  if (error instanceof AggregateError) {
    return error.errors.some((inner) => inner instanceof Error && isUnavailable(errors, inner));
  }
  return errors.isUnavailable(error);
}

/**
 * Converts an error of a driver: to ServiceUnavailable if the database cannot be reached or has no resources, else to
 * the exception that MikroORM's queries throw.
 */
export function readError<Thrown>(errors: DatabaseErrors, platform: Platform, error: Thrown): Thrown | Error {
  if (!(error instanceof Error) || error instanceof HttpError || error instanceof DriverException) return error;
  if (isUnavailable(errors, error)) return new ServiceUnavailable(undefined, { cause: error });
  return platform.getExceptionConverter().convertException(error);
}
