import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until something is so. */
export async function until(isSo: () => unknown): Promise<void> {
  // By attempts, not by time: on a busy machine each of them takes longer.
  for (let left = 6000; !(await isSo()); await sleep(10)) {
    if (left-- === 0) throw new Error(`still not: ${isSo.toString()}`);
  }
}
