import { type ApiError, errorOfAnswer, parsed, unanswered } from './api-error.ts';
import type { AnswerText, KeptAnswers } from './kept-answers.ts';
import type { ClientOptions, WriteRecordOptions } from './options.ts';
import type { MaybeToken } from './tokens.ts';
import { textOf, toJson } from './url.ts';

/** A request to send. */
export interface ApiRequest {
  readonly method: string;
  /** The full address with its query. */
  readonly url: string;
  /** True if the address belongs to an action instead of records. */
  readonly isAction: boolean;
  /** True: a success is the `Response` itself, with an unread body. */
  readonly isStreamed?: boolean | undefined;
  readonly body: unknown;
  readonly options: WriteRecordOptions;
}

/** A successful response. */
export interface Success {
  readonly status: number;
  readonly headers: Headers;
  readonly data: unknown;
}

/** Sends a request once with a token. Returns an ApiError instead of throwing it. */
export type Exchange = (request: ApiRequest, token: MaybeToken) => Promise<Success | ApiError>;

/** Bodies to send unchanged: `fetch` knows their media type. */
export const RAW_BODIES: readonly (abstract new (...given: never) => object)[] = [
  Blob,
  ArrayBuffer,
  FormData,
  URLSearchParams,
];

/** Makes the function that sends a request once, and caches responses with an `ETag`. */
export function createExchange(client: ClientOptions, kept: KeptAnswers): Exchange {
  return async (request, token) => {
    const { method, url, options } = request;
    const body = withFiles(request.body);
    const known = kept.get(token, url);
    const limit = new AbortController();
    const signals = [options.signal, limit.signal];
    const init = {
      method,
      headers: headersOf(
        { ...request, body },
        { ...client.headers, ...options.headers },
        token,
        known?.etag ?? undefined,
      ),
      signal: AbortSignal.any(signals.filter((signal) => !!signal)),
      ...bodyOf(body),
    };
    const { fetch = client.fetch ?? globalThis.fetch, timeoutMs = client.timeoutMs ?? 30_000 } = options;
    const timer = setTimeout(() => limit.abort(new DOMException('The request timed out', 'TimeoutError')), timeoutMs);
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, init);
      const { ok, status, headers } = response;
      if (request.isStreamed && ok) return { status, headers, data: response };
      text = await response.text();
    } catch (cause) {
      options.signal?.throwIfAborted();
      return unanswered(nameOf(request), cause);
    } finally {
      clearTimeout(timer);
    }
    const { status, headers } = response;
    if (status === 304 && known !== undefined) return { status: 200, headers, ...dataOf(request, known)! };
    const answer = { text, etag: headers.get('etag'), type: headers.get('content-type') };
    const data = response.ok ? dataOf(request, answer) : undefined;
    if (data === undefined) return errorOfAnswer(nameOf(request), response, text);
    const address = addressOf(request, headers);
    if (address !== undefined) kept.set(token, address, answer);
    return { status, headers, ...data };
  };
}

/**
 * Returns the address of the record or list in a successful response. A new record's address is its collection and the
 * key at the end of `Location`. A proxy may have changed the beginning of `Location`. The response to an action's write
 * is not a record.
 */
function addressOf({ method, url, isAction }: ApiRequest, headers: Headers): string | undefined {
  if (method === 'GET') return url;
  if (isAction) return undefined;
  if (method !== 'POST') return url;
  const key = headers.get('location')?.match(/\/[^/]+$/)?.[0];
  return key && url.split('?')[0] + key;
}

/** @throws TypeError if `ifMatch` is true and no `ETag` is known */
function headersOf(
  { method, body, options }: ApiRequest,
  given: Readonly<Record<string, string>>,
  token: MaybeToken,
  etag: string | undefined,
): Headers {
  const headers = new Headers({ accept: 'application/json', ...given });
  if (token) headers.set('authorization', `Bearer ${token}`);
  if (body !== undefined && !isRaw(body)) headers.set('content-type', 'application/json');
  if (method === 'GET' && etag !== undefined) headers.set('if-none-match', etag);
  const ifMatch = options.ifMatch === true ? etag : options.ifMatch;
  if (ifMatch !== undefined) headers.set('if-match', ifMatch);
  else if (options.ifMatch === true) throw new TypeError('ifMatch: no ETag is known; retrieve it first');
  return headers;
}

/**
 * Converts a record with files to a form, because JSON cannot hold files. Lists and objects become JSON, and null an
 * empty string. A form has no envelope.
 */
function withFiles(body: unknown): unknown {
  const record = [body, ...partsOf(body)].find((part) => partsOf(part).some((value) => value instanceof Blob));
  if (record === undefined) return body;
  const form = new FormData();
  for (const [name, value] of Object.entries(record as object)) {
    if (value !== undefined) form.append(name, value instanceof Blob ? value : textOf(value ?? ''));
  }
  return form;
}

/** Lists the values inside a JSON body. */
function partsOf(body: unknown): unknown[] {
  return isRaw(body) ? [] : Object.values(body ?? {});
}

function isRaw(body: unknown): boolean {
  return ArrayBuffer.isView(body) || RAW_BODIES.some((Raw) => body instanceof Raw);
}

function bodyOf(body: unknown): Pick<RequestInit, 'body'> {
  if (body === undefined) return {};
  return { body: isRaw(body) ? (body as NonNullable<RequestInit['body']>) : toJson(body) };
}

function nameOf({ method, url }: ApiRequest): string {
  return `${method} ${url.split('?')[0]}`;
}

/**
 * Parses the body of a success; undefined if that fails. It is JSON unless its media type says otherwise. Only actions
 * may return other types.
 */
function dataOf({ isAction }: ApiRequest, { text, type }: AnswerText): { readonly data: unknown } | undefined {
  if (text === '') return { data: undefined };
  if (type?.includes('json') === false) return isAction ? { data: text } : undefined;
  return parsed(text);
}
