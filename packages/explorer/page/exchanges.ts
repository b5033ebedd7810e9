import type { Operation } from './api-model.ts';
import { logOut, rememberRefusal, session } from './session.ts';
import { createStore } from './store.ts';

/** A request, its answer, and the time that they took. */
export interface Exchange {
  readonly number: number;
  readonly method: string;
  /** The path with the query string. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Undefined until the server has answered. */
  readonly answer: RawAnswer | undefined;
  /** True if no answer came. */
  readonly failed: boolean;
  readonly durationMs: number | undefined;
}

export interface RawAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly text: string;
}

/** One fault that the API has found in a request. */
export interface Detail {
  readonly in: string;
  readonly path: string;
  readonly message: string;
}

/** The API's refusal of a request, or its silence. */
export class Refusal extends Error {
  /** 0 if the server did not answer. */
  readonly status: number;
  readonly code: string;
  readonly details: readonly Detail[];

  constructor(status: number, code: string, message: string, details: readonly Detail[] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

export interface Answer {
  readonly body: unknown;
  readonly headers: Headers;
}

export interface Sending {
  readonly operation: Pick<Operation, 'id' | 'method'>;
  readonly url: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The most requests that are shown. */
const MAX_KEPT = 50;

/** The requests of this page, the newest first. */
export const exchanges = createStore<readonly Exchange[]>([]);

let count = 0;

/**
 * Sends a request as the person who is logged in, and keeps it to be shown.
 *
 * @throws Refusal for any answer but success
 */
export async function send({ operation, url, body, headers = {}, signal }: Sending): Promise<Answer> {
  const { token } = session.get();
  const isForm = body instanceof FormData;
  const sent: Record<string, string> = {
    accept: 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
    ...headers,
  };
  const payload = body === undefined || isForm ? body : JSON.stringify(body);
  const number = ++count;
  const exchange = { number, method: operation.method, url, headers: sent, body: shownBody(payload) };
  const keep = (rest: Pick<Exchange, 'answer' | 'failed' | 'durationMs'>): void => {
    const others = exchanges.get().filter((other) => other.number !== number);
    const all = [{ ...exchange, ...rest }, ...others].toSorted((left, right) => right.number - left.number);
    exchanges.set(all.slice(0, MAX_KEPT));
  };
  keep({ answer: undefined, failed: false, durationMs: undefined });
  const startedAt = performance.now();
  const durationMs = (): number => performance.now() - startedAt;
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: operation.method,
      headers: sent,
      ...(payload === undefined ? {} : { body: payload }),
      ...(signal === undefined ? {} : { signal }),
      cache: 'no-store',
      credentials: 'omit',
    });
    text = await response.text();
  } catch (error) {
    keep({ answer: undefined, failed: true, durationMs: durationMs() });
    if (signal?.aborted === true) throw error;
    throw new Refusal(0, 'no_answer', '');
  }
  const { status, statusText } = response;
  keep({
    answer: { status, statusText, headers: [...response.headers], text },
    failed: false,
    durationMs: durationMs(),
  });
  if (response.ok) return { body: parsed(text), headers: response.headers };
  noteRefusal(operation.id, response, token);
  throw refusalOf(status, statusText, text);
}

/** Draws the consequences of a refusal: a token that is none any more is forgotten, and nothing is offered in vain again. */
function noteRefusal(operationId: string, { status, headers }: Response, token: string | undefined): void {
  const isBadToken = headers.get('www-authenticate')?.includes('invalid_token') === true;
  if (status === 401 && token !== undefined && isBadToken && session.get().token === token) logOut();
  if (status === 403) rememberRefusal(operationId);
}

function refusalOf(status: number, statusText: string, text: string): Refusal {
  const { error, code, details } = (parsed(text) ?? {}) as { error?: unknown; code?: unknown; details?: unknown };
  return new Refusal(
    status,
    typeof code === 'string' ? code : '',
    typeof error === 'string' && error !== '' ? error : `${status} ${statusText}`.trim(),
    Array.isArray(details) ? (details as Detail[]) : [],
  );
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return text;
  }
}

function shownBody(body: string | FormData | undefined): string | undefined {
  if (!(body instanceof FormData)) return body;
  return [...body].map(([name, value]) => `${name}=${typeof value === 'string' ? value : `@${value.name}`}`).join('\n');
}

/** Header values that are nobody's business who looks over a shoulder. */
export function shownHeader(name: string, value: string): string {
  return name === 'authorization' ? 'Bearer …' : value;
}

const SECRET = /password|token|secret/i;

function cover(name: string, value: unknown): unknown {
  return typeof value === 'string' && SECRET.test(name) ? '…' : value;
}

/** Covers the passwords and tokens in a JSON text. Any other text stays as it is. */
export function covered(text: string): string {
  try {
    return SECRET.test(text) ? JSON.stringify(JSON.parse(text, cover)) : text;
  } catch {
    return text;
  }
}

/** Writes a request as a command. The token comes from a variable of the shell, and no password stands in it. */
export function curlOf({ method, url, headers, body }: Exchange, origin: string): string {
  const parts = [`curl ${quoted(origin + url)}`];
  if (method !== 'GET') parts[0] = `curl -X ${method} ${quoted(origin + url)}`;
  for (const [name, value] of Object.entries(headers)) {
    parts.push(name === 'authorization' ? `-H "authorization: Bearer $TOKEN"` : `-H ${quoted(`${name}: ${value}`)}`);
  }
  const isForm = body !== undefined && headers['content-type'] === undefined;
  if (isForm) for (const line of body.split('\n')) parts.push(`-F ${quoted(line)}`);
  else if (body !== undefined) parts.push(`-d ${quoted(covered(body))}`);
  return parts.join(' \\\n  ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
