import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { lookupPublic, urlProblem } from './public-address.ts';

/** A POST to an address that a user has chosen. */
export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** True: allows HTTP and private addresses. */
  readonly isDevelopment: boolean;
}

/** Longer answers are cut off, because only the status matters. */
const MAX_ANSWER_BYTES = 65_536;

/**
 * Sends a POST and returns the status of the answer. It follows no redirects, reads at most `MAX_ANSWER_BYTES`, and
 * connects to public addresses only. Node's `fetch` cannot check the address that it connects to.
 *
 * @throws if no answer comes in time, or the address is not public
 */
export async function post({ url: text, headers, body, timeoutMs, signal, isDevelopment }: Post): Promise<number> {
  const problem = urlProblem(text, isDevelopment);
  if (problem !== undefined) throw new Error(`the URL ${problem}`);
  // Node does not look up a host that is an IP address, so `urlProblem` has checked it.
  const url = new URL(text);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
    // No connection is reused, so every request looks up and checks the address.
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
