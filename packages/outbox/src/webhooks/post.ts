import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { lookupPublic, urlProblem } from './public-address.ts';

/** A POST to an address that somebody else has chosen. */
export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** True: HTTP and private addresses are allowed. */
  readonly isDevelopment: boolean;
}

/** An answer of more bytes is cut off: only its status counts. */
const MAX_ANSWER_BYTES = 65_536;

/**
 * Sends a POST and returns the status of the answer. It follows no redirect, reads a bounded answer, and connects to public addresses alone. Node's
 * `fetch` has no way to look at the address that it connects to, so it is not used.
 *
 * @throws if there is no answer in time, and for an address that is not public
 */
export async function post({ url: text, headers, body, timeoutMs, signal, isDevelopment }: Post): Promise<number> {
  const problem = urlProblem(text, isDevelopment);
  if (problem !== undefined) throw new Error(`the URL ${problem}`);
  // A host that is an address is not looked up, but judged by its URL.
  const url = new URL(text);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
    // Each request has a connection of its own, whose address was looked at.
    agent: false,
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    ...(!isDevelopment && { lookup: lookupPublic }),
  });
  request.on('error', reject);
  request.on('response', (response) => {
    let bytes = 0;
    const settle = (): void => resolve(response.statusCode!);
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_ANSWER_BYTES) return;
      settle();
      request.destroy();
    });
    response.on('end', settle);
    response.on('error', reject);
  });
  request.end(body);
  return promise;
}
