import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until something is so. */
export async function until(isSo: () => unknown): Promise<void> {
  for (const end = Date.now() + 20_000; !(await isSo()); await sleep(10)) {
    if (Date.now() > end) throw new Error(`still not: ${isSo.toString()}`);
  }
}
