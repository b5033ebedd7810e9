import type { ApiError } from './api-error.ts';

/** Milliseconds before the first retry if the server names no time; doubled for each further one. */
const FIRST_WAIT_MS = 200;

/** Waits for a promise, or rejects as soon as the signal aborts. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** Waits for some time, or rejects as soon as the signal aborts. */
export async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  return unlessAborted(over, signal).finally(() => clearTimeout(timer));
}

/** Returns the milliseconds to wait before a retry; undefined if the request must not be retried. */
export function waitMsAfter({ status, code, retryAfterSeconds }: ApiError, retry: number): number | undefined {
  const isPassing = status === 429 || status === 503 || code === 'network_error';
  if (!isPassing) return undefined;
  // Random, so that many clients do not return at the same time.
  return retryAfterSeconds === undefined
    ? FIRST_WAIT_MS * 2 ** retry * (0.5 + Math.random())
    : retryAfterSeconds * 1000;
}
