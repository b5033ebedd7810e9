import { availableParallelism } from 'node:os';
import { ServiceUnavailable } from '@viewset/core';

/**
 * The number of bcrypt computations that run at once in this process. Each holds one of libuv's threads (four, unless
 * `UV_THREADPOOL_SIZE` says otherwise) for its whole time; one thread always stays free for what else needs the pool:
 * name look-ups, files, other cryptography.
 */
const CONCURRENCY = Math.max(1, Math.min(threadpoolSize() - 1, availableParallelism()));
/** The number that may wait: at 250 ms each, a queue this long takes over a minute; whoever joins it times out. */
const MAX_WAITING = 256 * CONCURRENCY;

const waiting: (() => void)[] = [];
let running = 0;

/**
 * Runs a bcrypt computation when it is its turn, first come first served. The queue belongs to the process, as the
 * threads do, however many applications share it. Throws ServiceUnavailable, at once, when the queue is full: a flood
 * of logins is answered and neither starves the rest of the process nor piles up without end.
 */
export async function inBcryptQueue<Result>(compute: () => Promise<Result>): Promise<Result> {
  if (running < CONCURRENCY) running++;
  else await turn();
  try {
    return await compute();
  } finally {
    // The place is handed on, not given back: nobody who comes later can take it first.
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  }
}

function turn(): Promise<void> {
  if (waiting.length >= MAX_WAITING) throw new ServiceUnavailable('Too many logins at once; try again shortly');
  return new Promise((resolve) => waiting.push(resolve));
}

function threadpoolSize(): number {
  const size = Number(process.env['UV_THREADPOOL_SIZE']);
  return Number.isInteger(size) && size > 0 ? size : 4;
}
