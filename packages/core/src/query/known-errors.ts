import { ConnectionException, DriverException, LockWaitTimeoutException } from '@mikro-orm/core';
import { isUnavailable, type Violation } from '../backends/database-errors.ts';
import { meansLost } from '../backends/lost-transactions.ts';
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

/** Reports whether an error of MikroORM or its driver means that the database cannot serve now. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof ConnectionException || error instanceof LockWaitTimeoutException) return true;
  if (!(error instanceof Error)) return false;
  for (const errors of knownErrors()) {
    if (isUnavailable(errors, error)) return true;
  }
  return false;
}

/**
 * Reports whether an error, or one of its causes, means that the database has aborted a transaction because of
 * others: a deadlock or a serialization failure (PostgreSQL), a write conflict (MongoDB). Nothing of it was written.
 * The views and `inTransaction` repeat their transactions by themselves. If it stays lost, the response is 409
 * `conflict` with `Retry-After`.
 *
 * @example
 * await em.flush().catch((error: unknown) => {
 *   if (!isTransactionLost(error)) throw error;
 *   console.warn('Others have changed the same records; try again later');
 * });
 */
export function isTransactionLost(error: unknown): boolean {
  for (const errors of knownErrors()) {
    if (meansLost(errors, error)) return true;
  }
  return false;
}
