import { type EntityManager, type EntityMetadata, LockWaitTimeoutException } from '@mikro-orm/core';
import { requireTransactions } from '@viewset/core';
import { guardTransaction, repeated } from '@viewset/core/backend';
import { collectionIn, type MongoDriver, type MongoSession } from './mongo-driver.ts';
import { isConnectionLost } from './mongo-errors.ts';

/**
 * The longest wait for a record that others hold, and for the outcome of a commit, in milliseconds. Transactions are
 * short; a longer one is an error.
 */
export const PATIENCE_MS = 5000;

/**
 * MongoDB's codes: WriteConflict, NoSuchTransaction, LockTimeout, SnapshotUnavailable (an index was created meanwhile).
 */
const CONFLICTS: ReadonlySet<unknown> = new Set([112, 251, 24, 246]);

/** Reports whether a transaction failed because of another one. Nothing of it was written. */
export function isWriteConflict(error: Error): boolean {
  return CONFLICTS.has((error as { code?: unknown }).code);
}

/** Returns the deadline of a wait that begins now. */
function soon(): number {
  return performance.now() + PATIENCE_MS;
}

/**
 * Runs commands in a transaction. MongoDB has no locks to wait for: a write to a record that another transaction has
 * written fails at once, and so does its transaction. If these commands are the first in the transaction, they can be
 * repeated unnoticed in a new one until the other transaction ends. This works like waiting for a lock.
 *
 * @throws LockWaitTimeoutException after the deadline
 */
export async function waitingForOthers<Result>(
  session: MongoSession,
  commands: () => Promise<Result>,
  deadline = soon(),
): Promise<Result> {
  if (!session.transaction.isStarting) return commands();
  return untilWon(commands, deadline, async () => {
    await session.abortTransaction();
    session.startTransaction();
  });
}

/**
 * Repeats work until it has no conflict, or the deadline passes. It is not async, so that the stack trace stays short
 * enough to show the hook whose statement failed.
 */
function untilWon<Result>(
  work: () => Promise<Result>,
  deadline: number,
  prepare?: () => Promise<void>,
): Promise<Result> {
  const isRepeated = (error: unknown): boolean => {
    if (!(error instanceof Error) || error instanceof LockWaitTimeoutException || !isWriteConflict(error)) return false;
    if (performance.now() > deadline) throw new LockWaitTimeoutException(error);
    return true;
  };
  return repeated(work, isRepeated, prepare);
}

/**
 * Runs commands in a session's transaction, or in a new one without a session. If they conflict with another
 * transaction and are the first in theirs, they are repeated.
 *
 * @param meta the entity that is written, with the records that it refers to or that refer to it
 * @throws ImproperlyConfigured if the ORM has no transactions; LockWaitTimeoutException if others hold the records for
 * too long
 */
export async function inSession<Result>(
  driver: MongoDriver,
  meta: EntityMetadata,
  session: MongoSession | undefined,
  commands: (session: MongoSession) => Promise<Result>,
): Promise<Result> {
  if (session !== undefined) return waitingForOthers(session, () => commands(session));
  requireTransactions({ driver }, `${meta.className}: to keep the references of a record, and those to it,`);
  return untilWon(() => driver.getConnection('write').transactional(commands), soon());
}

/**
 * Makes a session repeat its commit while the outcome is unknown: the connection was lost, the answer took too long, or
 * too few members of the replica set confirmed it. MongoDB never commits a transaction twice. If the outcome stays
 * unknown, nothing can be rolled back, and the caller gets the commit's error.
 */
export function settleCommits(session: MongoSession): void {
  const commit = session.commitTransaction.bind(session);
  const abort = session.abortTransaction.bind(session);
  let committed: Promise<void> | undefined;
  session.commitTransaction = () => {
    const deadline = soon();
    committed = repeated(commit, (error) => isOutcomeUnknown(error) && performance.now() <= deadline);
    return committed;
  };
  session.abortTransaction = async () => {
    if (committed === undefined) return abort();
    // If MongoDB has rejected the commit, the transaction has ended.
    await committed.catch((error: unknown) => (isOutcomeUnknown(error) ? committed : undefined));
  };
}

/**
 * The driver's error label for an unknown outcome:
 * https://github.com/mongodb/specifications/blob/master/source/transactions/transactions.md
 */
const UNKNOWN = 'UnknownTransactionCommitResult';

function isOutcomeUnknown(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    isConnectionLost(error) || (error as { errorLabels?: readonly unknown[] }).errorLabels?.includes(UNKNOWN) === true
  );
}

/**
 * Makes it impossible to commit an entity manager's transaction after a part of it has failed. It sends a command that
 * fails, after which the server rolls the transaction back.
 */
export async function markRollbackOnly(em: EntityManager, problem: () => Error): Promise<void> {
  const session = em.getTransactionContext<object>();
  if (session === undefined) return;
  const failing = { $expr: { $spoil: 1 } };
  await collectionIn(em, 'spoilt')
    .find(failing, { session })
    .toArray()
    .catch(() => {});
  const standIn = guardTransaction(session, (name) => {
    if (name !== 'abortTransaction') throw problem();
  });
  em.setTransactionContext(standIn);
}
