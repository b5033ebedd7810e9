import { DriverException, type Platform } from '@mikro-orm/core';
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

/** Reads the errors of one kind of database. An application may use several: each is asked about an error until one knows it. */
export interface DatabaseErrors {
  /** Reads the refusal of a value. Undefined if the error is none, or of another kind of database. */
  violationOf(error: DriverException): Violation | undefined;
  /** True of an error that says that the database cannot be reached, has no room, or took too long. */
  isUnavailable(error: Error): boolean;
  /** True of a transaction that lost against another, or gave up waiting for a lock: it may succeed with the next try. */
  isTransactionLost(error: Error): boolean;
}

/** The violations by which a record conflicts with another one. */
const CONFLICTS: ReadonlySet<string> = new Set<Violation['kind']>(['unique', 'exclusion', 'foreign key']);

/** Tells if a record conflicts with another one. */
export function isConflict(violation: Violation | undefined): boolean {
  return violation !== undefined && CONFLICTS.has(violation.kind);
}

/** Codes by which Node tells that a server cannot be reached. */
const NETWORK = /^(?:ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)/;

/** Tells if an error of a driver, or of Node, says that the database cannot be reached, has no room, or took too long. */
export function isUnavailable(errors: DatabaseErrors, error: Error): boolean {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && NETWORK.test(code)) return true;
  // Node gathers the failures of several addresses of one host.
  if (error instanceof AggregateError) {
    return error.errors.some((inner) => inner instanceof Error && isUnavailable(errors, inner));
  }
  return errors.isUnavailable(error);
}

/**
 * Returns the error to throw for that of a driver: ServiceUnavailable if the database cannot be reached or has no room,
 * else MikroORM's own exception, as its queries throw it.
 */
export function readError<Thrown>(errors: DatabaseErrors, platform: Platform, error: Thrown): Thrown | Error {
  if (!(error instanceof Error) || error instanceof HttpError || error instanceof DriverException) return error;
  if (isUnavailable(errors, error)) return new ServiceUnavailable(undefined, { cause: error });
  return platform.getExceptionConverter().convertException(error);
}
