import { setTimeout as sleep } from 'node:timers/promises';
import type { Awaitable } from './awaitable.ts';
import { pauses } from './pauses.ts';

/**
 * Runs work until it succeeds, with growing pauses.
 *
 * @param isRepeated is called with the error of each attempt and its number, from 1. Throws the error if it returns false
 * @param prepare runs before each further attempt
 */
export async function repeated<Result>(
  work: () => Awaitable<Result>,
  isRepeated: (error: unknown, attempt: number) => boolean,
  prepare?: () => Awaitable<void>,
): Promise<Result> {
  const waits = pauses();
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isRepeated(error, attempt)) throw error;
    }
    await prepare?.();
    await sleep(waits.next().value);
  }
}
