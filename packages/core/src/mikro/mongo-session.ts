import { setTimeout as sleep } from 'node:timers/promises';
import { pauses } from '../pauses.ts';

/** The part of a session of the driver that is used. */
export interface MongoSession {
  readonly transaction: { readonly isStarting: boolean; readonly isActive: boolean };
  startTransaction(): void;
  abortTransaction(): Promise<void>;
  endSession(): Promise<void>;
}

/** The longest wait for a record that others write. Their transactions are short; one that is not is an error of theirs. */
const PATIENCE_MS = 5000;

/** Codes of MongoDB: WriteConflict, NoSuchTransaction, LockTimeout. */
const LOST_RACES: ReadonlySet<unknown> = new Set([112, 251, 24]);

/**
 * Tells if an error of MongoDB says that its transaction has lost a race: nothing of it was written, and all of it may succeed if it is
 * begun anew. A lost connection is none.
 */
export function isLostRace(error: unknown): boolean {
  return error instanceof Error && LOST_RACES.has((error as { code?: unknown }).code);
}

/**
 * Runs commands in a transaction. MongoDB has no locks to wait for: whoever writes a record that another transaction has
 * written fails at once, and so does the transaction. If these commands are the first of the transaction, nobody can tell whether
 * it was begun anew: then they are run again until the other one has ended, which is what waiting for a lock is.
 */
export async function waitingForOthers<Result>(
  session: MongoSession,
  commands: () => Promise<Result>,
): Promise<Result> {
  const isFirst = session.transaction.isStarting;
  const deadline = performance.now() + PATIENCE_MS;
  const waits = pauses();
  for (;;) {
    try {
      return await commands();
    } catch (error) {
      if (!isFirst || !isLostRace(error) || performance.now() > deadline) throw error;
      await session.abortTransaction();
      await sleep(waits.next().value);
      session.startTransaction();
    }
  }
}
