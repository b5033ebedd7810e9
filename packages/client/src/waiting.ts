import type { ApiError } from './api-error.ts';

/** Milliseconds before the first try again if the server names no time; doubled for each further one. */
const FIRST_WAIT_MS = 200;

/** Waits for a promise, but no longer than until the signal aborts. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** Waits for some time, but no longer than until the signal aborts. */
export async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  return unlessAborted(over, signal).finally(() => clearTimeout(timer));
}

/** The wait before a request may be tried again, in milliseconds; undefined if it may not. */
export function waitMsAfter({ status, code, retryAfterSeconds }: ApiError, retry: number): number | undefined {
  const isPassing = status === 429 || status === 503 || code === 'network_error';
  if (!isPassing) return undefined;
  // Spread, so that many clients do not come back at once.
  return retryAfterSeconds === undefined
    ? FIRST_WAIT_MS * 2 ** retry * (0.5 + Math.random())
    : retryAfterSeconds * 1000;
}
