import { type ApiError, errorOfAnswer, unanswered } from './api-error.ts';
import { KeptAnswers } from './kept-answers.ts';
import type { ClientOptions, WriteRecordOptions } from './options.ts';
import { toJson } from './url.ts';

/** A request to be sent. */
export interface ApiRequest {
  readonly method: string;
  /** The address, with its query. */
  readonly url: string;
  /** True if the address is that of a record, whose `ETag` a write may name. */
  readonly isRecord: boolean;
  readonly body: unknown;
  readonly options: WriteRecordOptions;
}

/** An answer that is a success. */
export interface Success {
  readonly status: number;
  readonly headers: Headers;
  readonly data: unknown;
}

/** Sends a request once, with a token; gives the error of an answer back. */
export type Exchange = (request: ApiRequest, token: string | null | undefined) => Promise<Success | ApiError>;

/** Bodies that are sent as they are: `fetch` knows their media type. */
const RAW_BODIES = [Blob, ArrayBuffer, FormData, URLSearchParams];

/** Makes the function that sends a client's requests once each, and keeps the answers that have an `ETag`. */
export function createExchange(client: ClientOptions): Exchange {
  const kept = new KeptAnswers(client.keptAnswers ?? 100);
  return async (request, token) => {
    const { method, url, isRecord, options } = request;
    const address = `${token ?? ''} ${url}`;
    const known = kept.get(address);
    const signals = [options.signal, AbortSignal.timeout(options.timeoutMs ?? client.timeoutMs ?? 30_000)];
    const init = {
      method,
      headers: headersOf(request, { ...client.headers, ...options.headers }, token, known?.etag),
      signal: AbortSignal.any(signals.filter((signal) => signal !== undefined)),
      ...bodyOf(request.body),
    };
    const { fetch = globalThis.fetch } = client;
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, init);
      if (response.status === 304 && known !== undefined) return success(response, known.text);
      text = await response.text();
    } catch (cause) {
      options.signal?.throwIfAborted();
      return unanswered(nameOf(request), cause);
    }
    if (!response.ok) return errorOfAnswer(nameOf(request), response, parsed(response, text));
    const etag = response.headers.get('etag');
    if (method === 'GET' || isRecord) kept.set(address, etag === null ? undefined : { etag, text });
    return success(response, text);
  };
}

/** @throws TypeError if `ifMatch` asks for an `ETag` that is not known */
function headersOf(
  { method, body, options }: ApiRequest,
  given: Readonly<Record<string, string>>,
  token: string | null | undefined,
  etag: string | undefined,
): Headers {
  const headers = new Headers({ accept: 'application/json', ...given });
  if (token) headers.set('authorization', `Bearer ${token}`);
  if (body !== undefined && !isRaw(body)) headers.set('content-type', 'application/json');
  if (method === 'GET' && etag !== undefined) headers.set('if-none-match', etag);
  const ifMatch = options.ifMatch === true ? etag : options.ifMatch;
  if (ifMatch !== undefined) headers.set('if-match', ifMatch);
  else if (options.ifMatch === true) throw new TypeError('ifMatch: no ETag of this record is known; retrieve it first');
  return headers;
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

function success(response: Response, text: string): Success {
  const { headers } = response;
  const status = response.status === 304 ? 200 : response.status;
  return { status, headers, data: parsed(response, text) };
}

/** Reads a body: JSON by what it says it is or by having no type, as an answer that is not modified may; else as a text. */
function parsed({ headers }: Response, text: string): unknown {
  if (text === '') return undefined;
  const isJson = headers.get('content-type')?.includes('json') ?? true;
  try {
    return isJson ? (JSON.parse(text) as unknown) : text;
  } catch {
    return text;
  }
}
