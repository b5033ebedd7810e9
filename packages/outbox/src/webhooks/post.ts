import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { PublicLookup, urlProblem } from './public-address.ts';

/** A POST to an address that a user has chosen. */
export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The limit of the complete exchange: name, connection, TLS, request, and the response to its last byte. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** True: allows HTTP and private addresses. */
  readonly isDevelopment: boolean;
}

/** The parts of a response that a sender of webhooks uses. */
export interface PostResponse {
  readonly status: number;
  /** The header `Retry-After` as received. */
  readonly retryAfter: string | undefined;
}

/** Longer bodies are cut off, because only the status matters. */
const MAX_BODY_BYTES = 65_536;
/** The most informational responses (1xx) before the final one. */
const MAX_INFORMATIONAL = 10;
const OTHER_PROTOCOL = 'the receiver answered 101 and asks for another protocol';

/**
 * Sends a POST and returns the status of the response. It settles within `timeoutMs`, whatever the receiver does. It
 * follows no redirects, accepts no upgrade, reads at most `MAX_BODY_BYTES`, and connects to public addresses only.
 * Node's `fetch` cannot check the address that it connects to.
 *
 * @throws if no complete response arrives in time, or the address is not public
 */
export async function post(options: Post): Promise<PostResponse> {
  const { url: text, body, timeoutMs, signal, isDevelopment } = options;
  const problem = urlProblem(text, isDevelopment);
  if (problem !== undefined) throw new Error(`the URL ${problem}`);
  signal.throwIfAborted();
  // Node does not look up a host that is an IP address, so `urlProblem` has checked it.
  const names = isDevelopment ? undefined : new PublicLookup();
  const request = open(new URL(text), options, names);
  const { promise, resolve, reject } = Promise.withResolvers<PostResponse>();
  const timer = setTimeout(() => reject(new Error(`no complete response within ${timeoutMs} ms`)), timeoutMs);
  const cancel = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', cancel, { once: true });
  request.on('error', reject);
  // After `upgrade` and some parse errors, Node emits neither `response` nor `error`.
  request.on('close', () => reject(new Error('the connection was closed before the response was complete')));
  refuseOtherProtocols(request, reject);
  request.on('response', (response) => readResponse(response, resolve, reject));
  request.end(body);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
    names?.cancel();
    request.destroy();
  }
}

function open(url: URL, { headers, body }: Post, names: PublicLookup | undefined): ClientRequest {
  return (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
    // No connection is reused, so every request looks up and checks the address.
    agent: false,
    ...(names && { lookup: names.lookup }),
  });
}

/** Rejects a 101, and a receiver that sends informational responses without end. */
function refuseOtherProtocols(request: ClientRequest, reject: (error: Error) => void): void {
  let count = 0;
  request.on('information', () => {
    if (++count > MAX_INFORMATIONAL) reject(new Error(`more than ${MAX_INFORMATIONAL} informational responses`));
  });
  request.on('upgrade', (_response, socket) => {
    socket.destroy();
    reject(new Error(OTHER_PROTOCOL));
  });
}

function readResponse(
  response: IncomingMessage,
  resolve: (response: PostResponse) => void,
  reject: (error: Error) => void,
): void {
  // A 101 without the header `Upgrade` is a response to Node.
  if (response.statusCode === 101) return reject(new Error(OTHER_PROTOCOL));
  let bytes = 0;
  const settle = (): void => resolve({ status: response.statusCode!, retryAfter: response.headers['retry-after'] });
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) settle();
  });
  response.on('end', settle);
  response.on('error', reject);
}
