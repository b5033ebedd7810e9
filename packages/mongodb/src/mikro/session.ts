import { type EntityManager, type EntityMetadata, LockWaitTimeoutException } from '@mikro-orm/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { requireTransactions } from '@viewset/core';
import { guardTransaction, pauses } from '@viewset/core/backend';
import { collectionIn, type MongoDriver, type MongoSession } from './mongo-driver.ts';
import { isConnectionLost } from './mongo-errors.ts';

/** The longest wait for a record that others do not give back, and for the outcome of a commit. Transactions are short; one that is not is an error. */
export const PATIENCE_MS = 5000;

/** Codes of MongoDB: WriteConflict, NoSuchTransaction, LockTimeout, SnapshotUnavailable (an index was made meanwhile). */
const LOST_RACES: ReadonlySet<unknown> = new Set([112, 251, 24, 246]);

/**
 * Tells if an error of MongoDB says that its transaction has lost a race: nothing of it was written, and all of it may succeed if it is
 * begun anew. A lost connection is none, nor is a wait for others that has come to its end.
 */
export function isLostRace(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof LockWaitTimeoutException) return false;
  return LOST_RACES.has((error as { code?: unknown }).code);
}

/** Returns the time until which a wait for others that begins now goes on. */
function soon(): number {
  return performance.now() + PATIENCE_MS;
}

/**
 * Runs commands in a transaction. MongoDB has no locks to wait for: whoever writes a record that another transaction has
 * written fails at once, and so does the transaction. If these commands are the first of the transaction, nobody can tell whether
 * it was begun anew: then they are run again until the other one has ended, which is what waiting for a lock is.
 *
 * @throws LockWaitTimeoutException once the deadline is over
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
 * Runs work until it loses no race any more, or the deadline is over. It is no async function: a stack trace is as short as to lead to
 * the hook whose statement has failed.
 */
function untilWon<Result>(
  work: () => Promise<Result>,
  deadline: number,
  prepare?: () => Promise<void>,
): Promise<Result> {
  return repeatedIf(isLostRace, work, deadline, { prepare, tooLate: lockTimeout });
}

function lockTimeout(error: unknown): Error {
  return new LockWaitTimeoutException(error as Error);
}

/**
 * Runs commands in the transaction of a session, or in one of their own if there is none. They are run again if they meet
 * another transaction, and nothing came before them in theirs.
 *
 * @param meta the entity whose records the commands write, with what refers to them or what they refer to
 * @throws ImproperlyConfigured if the ORM has no transactions; LockWaitTimeoutException if others have what they write for too long
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

interface Repetition {
  /** Comes before each further try. */
  readonly prepare?: (() => Promise<void>) | undefined;
  /** Makes the error of the last try; that of the work itself, if left out. */
  readonly tooLate?: (error: unknown) => Error;
}

async function repeatedIf<Result>(
  isRepeated: (error: unknown) => boolean,
  work: () => Promise<Result>,
  deadline: number,
  { prepare, tooLate }: Repetition = {},
): Promise<Result> {
  const waits = pauses();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isRepeated(error)) throw error;
      if (performance.now() > deadline) throw tooLate?.(error) ?? error;
      await prepare?.();
      await sleep(waits.next().value);
    }
  }
}

/**
 * Has a session ask for its commit again as long as nobody knows whether it was done: a connection was lost, the answer took too long, or
 * too few members of the replica set have confirmed it. What was committed is not committed twice. If that stays unknown there is nothing to
 * roll back: whoever tries has the error of the commit.
 */
export function settleCommits(session: MongoSession): void {
  const commit = session.commitTransaction.bind(session);
  const abort = session.abortTransaction.bind(session);
  let committed: Promise<void> | undefined;
  session.commitTransaction = () => (committed = repeatedIf(isOutcomeUnknown, commit, soon()));
  session.abortTransaction = async () => {
    if (committed === undefined) return abort();
    // A transaction whose commit MongoDB has refused has ended.
    await committed.catch((error: unknown) => (isOutcomeUnknown(error) ? committed : undefined));
  };
}

/** The label by which the driver tells of such a commit: https://github.com/mongodb/specifications/blob/master/source/transactions/transactions.md */
const UNKNOWN = 'UnknownTransactionCommitResult';

function isOutcomeUnknown(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    isConnectionLost(error) || (error as { errorLabels?: readonly unknown[] }).errorLabels?.includes(UNKNOWN) === true
  );
}

/**
 * Ends the transaction of an entity manager of which a part has failed: the server rolls back one of which a command fails, so that nobody
 * can commit it.
 */
export async function spoilTransaction(em: EntityManager, problem: () => Error): Promise<void> {
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
