import { ConnectionException, DeadlockException, DriverException, LockWaitTimeoutException } from '@mikro-orm/core';
import { isUnavailable, type Violation } from '../backends/database-errors.ts';
import { knownErrors } from './backend-of.ts';

/** Reads an error of MikroORM or its driver. Returns undefined if the error is not about values. */
export function violationOf(error: unknown): Violation | undefined {
  if (!(error instanceof DriverException)) return undefined;
  for (const errors of knownErrors()) {
    const violation = errors.violationOf(error);
    if (violation !== undefined) return violation;
  }
  return undefined;
}

/** Reports whether an error of MikroORM or its driver may disappear on a retry. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionException || error instanceof DeadlockException) return true;
  if (error instanceof LockWaitTimeoutException) return true;
  if (!(error instanceof Error)) return false;
  for (const errors of knownErrors()) {
    if (isUnavailable(errors, error) || errors.isTransactionLost(error)) return true;
  }
  return false;
}
