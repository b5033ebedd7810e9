import { DriverException, type Platform } from '@mikro-orm/core';
import { HttpError, ServiceUnavailable } from '../../../errors.ts';

/**
 * SQLSTATE of connections that fail or end, of a server short of room, starting or stopping, and of a statement that it
 * has canceled because it took too long.
 */
const POSTGRESQL = /^(?:08|53|57|25P0[34])/;
const SQLITE = /^SQLITE_(?:BUSY|LOCKED|IOERR|CANTOPEN|FULL|PROTOCOL)/;
const NETWORK = /^(?:ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)/;
/** What the drivers say in words alone. */
const WORDS =
  /connection terminated|not queryable|query read timeout|timeout exceeded when trying to connect|after calling end on the pool|connection is not open/i;

/**
 * What to throw for an error of a driver: ServiceUnavailable where the database cannot be reached or has no room, else
 * MikroORM's own exception, as its queries throw it.
 */
export function readError<Thrown>(platform: Platform, error: Thrown): Thrown | Error {
  if (!(error instanceof Error) || error instanceof HttpError || error instanceof DriverException) return error;
  if (isUnreachable(error)) return new ServiceUnavailable(undefined, { cause: error });
  return platform.getExceptionConverter().convertException(error);
}

/** Whether an error of a driver says that the database cannot be reached, has no room, or took too long. */
export function isUnreachable(error: Error): boolean {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return POSTGRESQL.test(code) || SQLITE.test(code) || NETWORK.test(code);
  // Node gathers the failures of several addresses of one host.
  if (error instanceof AggregateError) {
    return error.errors.some((inner) => inner instanceof Error && isUnreachable(inner));
  }
  return WORDS.test(error.message);
}
