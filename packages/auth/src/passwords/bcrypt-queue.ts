import { availableParallelism } from 'node:os';
import { ServiceUnavailable } from '@viewset/core';

/**
 * The number of bcrypt computations that run at the same time in this process. Each occupies one of libuv's threads
 * (four, unless `UV_THREADPOOL_SIZE` says otherwise). One thread always stays free for other users of the pool: name
 * look-ups, files, other cryptography.
 */
const CONCURRENCY = Math.max(1, Math.min(threadpoolSize() - 1, availableParallelism()));
/**
 * The number that may wait. At 250 ms each, a queue this long takes over a minute, so later requests would time out.
 */
const MAX_WAITING = 256 * CONCURRENCY;

const waiting: (() => void)[] = [];
let running = 0;

/**
 * Runs a bcrypt computation in turn, first come first served. The queue belongs to the process, like the threads,
 * however many applications share it. Throws ServiceUnavailable at once if the queue is full: a flood of logins must
 * not block the process or pile up.
 */
export async function inBcryptQueue<Result>(compute: () => Promise<Result>): Promise<Result> {
  if (running < CONCURRENCY) running++;
  else await turn();
  try {
    return await compute();
  } finally {
    // The slot is passed on directly, so that no later caller can take it first.
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
