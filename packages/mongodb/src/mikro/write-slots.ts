import type { MongoDriver } from './mongo-driver.ts';
import { isServerGone } from './mongo-errors.ts';

/**
 * The most single-command writes that a process runs at the same time, even with a larger pool. A waiting write keeps
 * retrying and uses one of the server's 128 write tickets. A transaction that gets no ticket within 5 ms fails.
 */
const MOST = 64;

interface Slots {
  free: number;
  /** The callers that wait for a slot, in order. */
  readonly waiting: PromiseWithResolvers<void>[];
}

const slots = new WeakMap<MongoDriver, Slots>();

/**
 * Runs a write that is a single command. If a transaction has written the same document or unique value, the command
 * waits for it in the server and keeps its connection. These writes use at most half of the pool's connections, so that
 * the transactions they wait for can continue. If the server is gone, all callers that wait for a slot fail.
 */
export async function inWriteSlot<Result>(driver: MongoDriver, command: () => Promise<Result>): Promise<Result> {
  let slotsOf = slots.get(driver);
  if (slotsOf === undefined) slots.set(driver, (slotsOf = { free: numberOf(driver), waiting: [] }));
  if (slotsOf.free > 0) slotsOf.free -= 1;
  else await turn(slotsOf);
  try {
    return await command();
  } catch (error) {
    if (isServerGone(error)) for (const { reject } of slotsOf.waiting.splice(0)) reject(error);
    throw error;
  } finally {
    giveBack(slotsOf);
  }
}

function turn({ waiting }: Slots): Promise<void> {
  const slot = Promise.withResolvers<void>();
  waiting.push(slot);
  return slot.promise;
}

function giveBack(slotsOf: Slots): void {
  const next = slotsOf.waiting.shift();
  if (next === undefined) slotsOf.free += 1;
  else next.resolve();
}

/** A pool without a limit has the size 0. */
function numberOf(driver: MongoDriver): number {
  const { maxPoolSize } = driver.getConnection('write').getClient().options;
  return maxPoolSize === 0 ? MOST : Math.min(MOST, Math.max(1, Math.floor(maxPoolSize / 2)));
}
