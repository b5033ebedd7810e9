import type {
  Connection,
  EntityManager,
  EntityMetadata,
  EntityName,
  EventSubscriber,
  Platform,
  TransactionEventArgs,
} from '@mikro-orm/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceUnavailable } from '../../../errors/errors.ts';
import { keepEndedTransaction, type RunningTransaction } from '../../../mikro/ended-transaction.ts';
import { sqliteDatabase } from '../../../mikro/sqlite-database.ts';
import { pauses } from '../../../support/pauses.ts';
import { isBusy } from '../../../support/sqlite-busy.ts';

/** SQLite's own wait for another process. It blocks this process. */
export const BUSY_TIMEOUT_MS = 10;
/** The longest total wait. */
const PATIENCE_MS = 5000;

/** The time since which a database has been locked, and the last time that the lock was seen. */
interface Lock {
  readonly sinceMs: number;
  readonly seenMs: number;
}

const locks = new WeakMap<Connection, Lock>();

/** If a lock was not seen for longer than this, the next one is a different lock. */
const FORGET_MS = 1000;

/**
 * Repeats work while another process has locked the database, for at most 5 s, without blocking this process. All calls
 * that wait for one lock give up at the same time, even if they had to wait for each other first.
 */
export async function whenFree<Result>(connection: Connection, work: () => Promise<Result> | Result): Promise<Result> {
  const waits = pauses();
  for (;;) {
    try {
      const result = await work();
      locks.delete(connection);
      return result;
    } catch (error) {
      if (!isBusy(error)) throw error;
      const seenMs = performance.now();
      const last = locks.get(connection);
      const sinceMs = last === undefined || seenMs - last.seenMs > FORGET_MS ? seenMs : last.sinceMs;
      locks.set(connection, { sinceMs, seenMs });
      if (seenMs - sinceMs > PATIENCE_MS) throw new ServiceUnavailable(undefined, { cause: error });
    }
    await sleep(waits.next().value);
  }
}

/**
 * Makes each transaction take the right to write at its start. It waits without blocking the process. Nothing has been
 * read or written by then, so nothing must be repeated. From then on a transaction that SQLite itself ends is handled
 * (`keepEndedTransaction`).
 */
export function waitForWriters(em: EntityManager): void {
  const table = [...em.getMetadata()].find(isStored);
  if (table !== undefined) em.getEventManager().registerSubscriber(new WriteLock(em.getPlatform(), table.tableName));
}

function isStored({ virtual, abstract, embeddable }: EntityMetadata): boolean {
  return [virtual, abstract, embeddable].every((isOther) => isOther !== true);
}

class WriteLock implements EventSubscriber {
  /** A writing statement that deletes nothing. */
  readonly #statement: string;

  constructor(platform: Platform, table: string) {
    this.#statement = `delete from ${platform.quoteIdentifier(table)} where 0`;
  }

  /**
   * Names no stored entity, because this subscriber needs no events of writes. Events of transactions reach every
   * subscriber.
   */
  getSubscribedEntities(): EntityName[] {
    return [WriteLock];
  }

  async afterTransactionStart({ em, transaction }: TransactionEventArgs): Promise<void> {
    const connection = em.getConnection('write');
    try {
      const database = await sqliteDatabase(connection);
      keepEndedTransaction(transaction as RunningTransaction, database);
      // Not prepared, because libSQL's package leaves a statement open if the database is locked.
      await whenFree(connection, () => database.exec(this.#statement));
    } catch (error) {
      // Any other error may mean that this transaction will create the table.
      if (!(error instanceof ServiceUnavailable)) return;
      // MikroORM does not end a transaction that failed to begin.
      await connection.rollback(transaction);
      throw error;
    }
  }
}
