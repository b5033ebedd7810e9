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
import { ServiceUnavailable } from '../../../errors.ts';
import { sqliteDatabase } from '../../../mikro/sqlite-database.ts';
import { pauses } from '../../../pauses.ts';

/** SQLite's own wait for another process, during which this process stands still. */
export const BUSY_TIMEOUT_MS = 10;
/** The whole wait. */
const PATIENCE_MS = 5000;

/** True of the error of a statement that another process has kept from the database. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(?:BUSY|LOCKED)/.test(String((error as { code?: unknown } | null)?.code));
}

/** The time since which a database is locked, and the last time that it was seen to be. */
interface Lock {
  readonly sinceMs: number;
  readonly seenMs: number;
}

const locks = new WeakMap<Connection, Lock>();

/** A lock that nobody has seen for longer than this is another one. */
const FORGET_MS = 1000;

/**
 * Runs work again as long as another process has locked the database, for 5 s at most; others go on meanwhile. All that
 * wait for one lock give up together, whether or not they had to wait for each other first.
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
 * Makes each transaction take the right to write when it begins, and wait for it without holding up the process: before
 * anything was read or written, so that nothing has to be done again.
 */
export function waitForWriters(em: EntityManager): void {
  const table = [...em.getMetadata()].find(isStored);
  if (table !== undefined) em.getEventManager().registerSubscriber(new WriteLock(em.getPlatform(), table.tableName));
}

function isStored({ virtual, abstract, embeddable }: EntityMetadata): boolean {
  return [virtual, abstract, embeddable].every((isOther) => isOther !== true);
}

class WriteLock implements EventSubscriber {
  /** Deletes nothing, but as a statement that writes. */
  readonly #statement: string;

  constructor(platform: Platform, table: string) {
    this.#statement = `delete from ${platform.quoteIdentifier(table)} where 0`;
  }

  /** No entity: whatever is written, this need not hear of it. Of transactions every subscriber hears. */
  getSubscribedEntities(): EntityName[] {
    return [WriteLock];
  }

  async afterTransactionStart({ em, transaction }: TransactionEventArgs): Promise<void> {
    const connection = em.getConnection('write');
    try {
      const database = await sqliteDatabase(connection);
      // Not prepared: libSQL's package leaves open what found the database locked.
      await whenFree(connection, () => database.exec(this.#statement));
    } catch (error) {
      // Any other error may come of a transaction that is to make the table.
      if (!(error instanceof ServiceUnavailable)) return;
      // MikroORM leaves open what did not begin.
      await connection.rollback(transaction);
      throw error;
    }
  }
}
