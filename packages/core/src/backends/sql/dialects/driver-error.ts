import { DriverException, type Platform } from '@mikro-orm/core';
import { HttpError, ServiceUnavailable } from '../../../errors.ts';
import { isUnreachable } from '../../database-errors.ts';

/**
 * Returns the error to throw for that of a driver: ServiceUnavailable if the database cannot be reached or has no room,
 * else MikroORM's own exception, as its queries throw it.
 */
export function readError<Thrown>(platform: Platform, error: Thrown): Thrown | Error {
  if (!(error instanceof Error) || error instanceof HttpError || error instanceof DriverException) return error;
  if (isUnreachable(error)) return new ServiceUnavailable(undefined, { cause: error });
  return platform.getExceptionConverter().convertException(error);
}
