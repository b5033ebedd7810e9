import { LockWaitTimeoutException } from '@mikro-orm/core';
import type { DatabaseErrors } from './database-errors.ts';

/** The maximum number of times that a transaction, or a statement outside of one, runs if it is lost each time. */
export const MAX_ATTEMPTS = 20;

/** The most causes of an error that are looked at. */
const MAX_CAUSES = 10;

/**
 * Reports whether an error, or one of its causes, means that the database has aborted a transaction because of
 * others.
 */
export function meansLost(errors: DatabaseErrors, error: unknown): boolean {
  return lossIn(errors, error) !== undefined;
}

/**
 * Reports whether a lost transaction is repeated. If it has waited for others as long as it may, it is not.
 *
 * @param attempt the number of the attempt that has failed, from 1
 */
export function isRepeatedLoss(errors: DatabaseErrors, error: unknown, attempt: number): boolean {
  const loss = lossIn(errors, error);
  return loss !== undefined && !(loss instanceof LockWaitTimeoutException) && attempt < MAX_ATTEMPTS;
}

/** Finds the database's error among an error and its causes. Undefined if it is not about a lost transaction. */
export function lossIn(errors: DatabaseErrors, error: unknown): Error | undefined {
  let each = error;
  for (let depth = 0; depth < MAX_CAUSES && each instanceof Error; depth++) {
    if (errors.isTransactionLost(each)) return each;
    each = each.cause;
  }
  return undefined;
}
