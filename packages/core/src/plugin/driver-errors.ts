import {
  ConnectionException,
  DeadlockException,
  DriverException,
  LockWaitTimeoutException,
  OptimisticLockError,
} from '@mikro-orm/core';
import { isUnreachable } from '../backends/sql/dialects/driver-error.ts';
import { violationOf } from '../backends/sql/violation.ts';
import { type HttpError, ServiceUnavailable, TargetObjectAlreadyExist } from '../errors.ts';
import { ownWriteAnswer } from '../viewset/own-write.ts';

/** SQLSTATE of transactions that lost a race, or gave up waiting for a lock. */
const TRY_AGAIN = /^(40001|40P01|55P03)/;

/**
 * The answer to an error of the ORM or its driver; undefined if the error is none, or no fault of the client's: a value of
 * the program that fits no column, a `findOneOrFail` that finds nothing. The driver's message stays in `cause`, for the log.
 */
export function fromDriverError(error: unknown): HttpError | undefined {
  const own = ownWriteAnswer(error);
  if (own !== undefined) return own;
  if (isTransient(error)) return new ServiceUnavailable(undefined, { cause: error });
  if (error instanceof OptimisticLockError) {
    return new TargetObjectAlreadyExist('The record was changed by somebody else', { cause: error });
  }
  const kind = violationOf(error)?.kind;
  if (kind !== 'unique' && kind !== 'foreign key') return undefined;
  return new TargetObjectAlreadyExist('The change conflicts with another record', { cause: error });
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
