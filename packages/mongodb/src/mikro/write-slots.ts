import type { MongoDriver } from './mongo-driver.ts';
import { isServerGone } from './mongo-errors.ts';

/**
 * The most writes by one command that a process has at the server, however large its pool is. Each that waits there tries again and again,
 * with one of the server's 128 tickets for writes, and a transaction that gets no ticket within 5 ms fails.
 */
const MOST = 64;

interface Slots {
  free: number;
  /** Those who wait for a slot, the first first. */
  readonly waiting: PromiseWithResolvers<void>[];
}

const slots = new WeakMap<MongoDriver, Slots>();

/**
 * Runs a command that is a write by itself. It waits in the server for a transaction that has written the same document or the same unique
 * value, and keeps its connection meanwhile. Such writes have half the connections of the pool: the transactions that they wait for go on
 * with the others. If the server is gone, it is so for all who wait for a slot.
 */
export async function inWriteSlot<Result>(driver: MongoDriver, command: () => Promise<Result>): Promise<Result> {
  let own = slots.get(driver);
  if (own === undefined) slots.set(driver, (own = { free: numberOf(driver), waiting: [] }));
  if (own.free > 0) own.free -= 1;
  else await turn(own);
  try {
    return await command();
  } catch (error) {
    if (isServerGone(error)) for (const { reject } of own.waiting.splice(0)) reject(error);
    throw error;
  } finally {
    giveBack(own);
  }
}

function turn({ waiting }: Slots): Promise<void> {
  const slot = Promise.withResolvers<void>();
  waiting.push(slot);
  return slot.promise;
}

function giveBack(own: Slots): void {
  const next = own.waiting.shift();
  if (next === undefined) own.free += 1;
  else next.resolve();
}

/** A pool without a limit has the size 0. */
function numberOf(driver: MongoDriver): number {
  const { maxPoolSize } = driver.getConnection('write').getClient().options;
  return maxPoolSize === 0 ? MOST : Math.min(MOST, Math.max(1, Math.floor(maxPoolSize / 2)));
}
