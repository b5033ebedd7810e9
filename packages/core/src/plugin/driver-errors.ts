import {
  CheckConstraintViolationException,
  ConnectionException,
  DeadlockException,
  DriverException,
  ForeignKeyConstraintViolationException,
  LockWaitTimeoutException,
  NotFoundError,
  OptimisticLockError,
  UniqueConstraintViolationException,
} from '@mikro-orm/core';
import { isUnreachable } from '../backends/sql/dialects/driver-error.ts';
import { type HttpError, InvalidUsage, NotFound, ServiceUnavailable, TargetObjectAlreadyExist } from '../errors.ts';

/**
 * SQLSTATE classes and codes that a client's value can cause when it slips past validation: data exceptions (class 22)
 * and a statement with too many or too large parts (class 54).
 */
const CLIENT_FAULT = /^(22|54)/;
/** SQLSTATE of transactions that lost a race, or gave up waiting for a lock. */
const TRY_AGAIN = /^(40001|40P01|55P03)/;

/**
 * What an error of the ORM or its driver means to the client, or undefined where it is no such error. The driver's
 * message stays in `cause`, for the log.
 */
export function fromDriverError(error: unknown): HttpError | undefined {
  if (error instanceof UniqueConstraintViolationException) {
    return new TargetObjectAlreadyExist('Another record has this value already', { cause: error });
  }
  if (error instanceof ForeignKeyConstraintViolationException) {
    return new TargetObjectAlreadyExist('Other records refer to this one, or it refers to one that is gone', {
      cause: error,
    });
  }
  if (error instanceof OptimisticLockError) {
    return new TargetObjectAlreadyExist('The record was changed by somebody else', { cause: error });
  }
  if (error instanceof CheckConstraintViolationException) {
    return new InvalidUsage('A value breaks a rule of the database', { cause: error });
  }
  if (error instanceof NotFoundError) return new NotFound(undefined, { cause: error });
  if (isTransient(error)) return new ServiceUnavailable(undefined, { cause: error });
  if (error instanceof DriverException && CLIENT_FAULT.test(codeOf(error))) {
    return new InvalidUsage('A value does not fit its field', { cause: error });
  }
  return undefined;
}

function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionException || error instanceof DeadlockException) return true;
  if (error instanceof LockWaitTimeoutException) return true;
  if (error instanceof Error && isUnreachable(error)) return true;
  return error instanceof DriverException && TRY_AGAIN.test(codeOf(error));
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
