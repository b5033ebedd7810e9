import { errorOfAnswer, unanswered } from './api-error.ts';
import type { Fetch } from './fetch.ts';
import { sleep, waitMsAfter } from './waiting.ts';

/** The options of `fetchOnce`; every one has a default. */
export interface FetchOnceOptions {
  /** How often a write is sent at most, including the first time. Default: 3. */
  readonly tries?: number;
  /** Milliseconds after which a try is abandoned and the next one begins. Default: 10,000. */
  readonly timeoutMs?: number;
  /**
   * The longest wait that a server may ask for, in milliseconds. If a response asks for more, it is returned. Default:
   * 10,000.
   */
  readonly maxWaitMs?: number;
  /** Sends the tries instead of the platform's `fetch`. */
  readonly fetch?: Fetch;
}

/**
 * Makes a `fetch` that gives each POST and PATCH its own `Idempotency-Key`, so that it can repeat the request. It does
 * so after a lost connection, a try that took too long, 429, 503, and a 409 because an earlier try still runs. The
 * server does the write only once. Other methods, and bodies that are streams, are sent once.
 *
 * Use it only for routes that accept keys (`@viewset/idempotency`). Other routes ignore the key and would repeat the
 * write.
 *
 * @returns a `fetch` for the option `fetch` of a call, or of a client whose POST and PATCH routes all accept keys
 * @example
 * const fetch = fetchOnce({ timeoutMs: 5000 });
 * await api.products.create({ name: 'Tea', price: 3 }, { fetch });
 */
export function fetchOnce(options: FetchOnceOptions = {}): Fetch {
  const { tries = 3, timeoutMs = 10_000, maxWaitMs = 10_000, fetch = globalThis.fetch } = options;
  return async (url, init) => {
    const { method = 'GET', body, signal } = init;
    if (!/^(?:POST|PATCH)$/i.test(method) || body instanceof ReadableStream) return fetch(url, init);
    const headers = new Headers(init.headers);
    if (!headers.has('idempotency-key')) headers.set('idempotency-key', `"${crypto.randomUUID()}"`);
    for (let retry = 0; ; retry++) {
      const isLast = retry >= tries - 1;
      const answer = await answerWithin(timeoutMs, fetch, url, { ...init, headers }).catch((error: unknown) => {
        signal?.throwIfAborted();
        if (isLast) throw error;
        return undefined;
      });
      const waitMs = waitAfter(answer, retry);
      if (answer !== undefined && (isLast || waitMs === undefined || waitMs > maxWaitMs)) return answer;
      await answer?.body?.cancel();
      await sleep(waitMs!, signal ?? undefined);
    }
  };
}

/** Waits up to `timeoutMs` for the head of a response. Only the call's own signal limits the body. */
async function answerWithin(timeoutMs: number, fetch: Fetch, url: string, init: RequestInit): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException('The try took too long', 'TimeoutError')), timeoutMs);
  const signal = init.signal ? AbortSignal.any([init.signal, late.signal]) : late.signal;
  return fetch(url, { ...init, signal }).finally(() => clearTimeout(timer));
}

/** Returns the milliseconds to wait before a repeat; undefined if the request must not be repeated. */
function waitAfter(answer: Response | undefined, retry: number): number | undefined {
  const failure = answer === undefined ? unanswered('', undefined) : errorOfAnswer('', answer, '');
  // A 409 with `Retry-After` means that an earlier try still runs. Any other 409 is a real conflict.
  if (failure.status !== 409) return waitMsAfter(failure, retry);
  return failure.retryAfterSeconds === undefined ? undefined : failure.retryAfterSeconds * 1000;
}
