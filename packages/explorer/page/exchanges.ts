import type { Operation } from './api-model.ts';
import { isExpiring, isRenewable, renew } from './renewal.ts';
import { endLogin, forgetWithPerson, isOfSamePerson, rememberRefusal, renewToken, session } from './session.ts';
import { notice } from './notice.tsx';
import { coveredOnce, type FormPart, type SentRequest } from './curl.ts';
import { isRow } from './records.ts';
import { createStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { enveloped, placeInside, unwrapped, type WireNames } from './wire-names.ts';
import { plainWords } from './words.ts';

/** A request, its answer, and the time that they took. */
export interface Exchange extends SentRequest {
  readonly number: number;
  /** True if the page asks for something that nobody has asked it for. */
  readonly isOfPage: boolean;
  /** Undefined until the server has answered. */
  readonly answer: RawAnswer | undefined;
  /** True if no response was received. */
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
  /** The seconds after which the server wants to be asked again; undefined if it does not say. */
  readonly retrySeconds: number | undefined;

  constructor(status: number, code: string, message: string, details: readonly Detail[] = [], retrySeconds?: number) {
    super(message);
    this.retrySeconds = retrySeconds;
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** Says in a sentence why a request was refused. */
export function sentenceOf({ status, message }: Refusal): string {
  return status === 0 ? texts.offline : message;
}

export interface Answer<Body = unknown> {
  readonly body: Body;
  readonly headers: Headers;
  /** As HTTP has it: `200 OK`. */
  readonly status: string;
}

export interface Sending {
  readonly operation: {
    readonly id: string;
    readonly method: Operation['method'] | 'OPTIONS';
    readonly isOfAccounts?: boolean;
    readonly wire?: WireNames;
  };
  readonly url: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Sends it. Default: the browser's. */
  readonly fetch?: typeof fetch;
}

/** The most requests that are shown. */
const MAX_KEPT = 50;

/** The requests of this page, the newest first. */
export const exchanges = createStore<readonly Exchange[]>([]);

forgetWithPerson(() => exchanges.set([]));

/** The number of requests so far that have written something. */
export const writes = createStore(0);

let count = 0;

/**
 * Sends a request as the person who is logged in, and keeps it to be shown. Nobody else needs to know of envelopes.
 *
 * @throws Refusal for any answer but success
 */
export async function send(sending: Sending): Promise<Answer> {
  const { wire } = sending.operation;
  if (wire === undefined) return exchange(sending, readJson);
  try {
    const answer = await exchange({ ...sending, body: enveloped(sending.body, wire) }, readJson);
    return { ...answer, body: unwrapped(answer.body, wire, answer.headers) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { status, code, message, details, retrySeconds } = error;
    const inside = details.map((detail) => ({ ...detail, path: placeInside(detail.path, wire) }));
    throw new Refusal(status, code, message, inside, retrySeconds);
  }
}

async function readJson(response: Response): Promise<{ readonly body: unknown; readonly shown: string }> {
  const text = await response.text();
  return { body: parsed(text), shown: text };
}

/**
 * Asks for a file as the person who is logged in: neither a link nor an image would send the token.
 *
 * @throws Refusal for any answer but success
 */
export function sendForFile(url: string, signal?: AbortSignal): Promise<Answer<Blob>> {
  const sending = { operation: { id: 'file', method: 'GET' }, url, headers: { accept: '*/*' } } as const;
  return exchange({ ...sending, ...(signal === undefined ? {} : { signal }) }, async (response) => {
    const body = await response.blob();
    return { body, shown: texts.contentOf(body.size) };
  });
}

/**
 * Opens the stream of a list. What comes on it is read by the `fetch` that is given.
 *
 * @throws Refusal for any answer but success
 */
export function followList(
  { id, method }: Operation,
  url: string,
  options: Pick<Sending, 'headers' | 'signal' | 'fetch'>,
): Promise<Answer> {
  return exchange({ operation: { id, method }, url, ...options }, async () => ({
    body: undefined,
    shown: texts.liveAnswer,
  }));
}

type Read<Body> = (response: Response) => Promise<{ readonly body: Body; readonly shown: string }>;

async function exchange<Body>(sending: Sending, read: Read<Body>): Promise<Answer<Body>> {
  const { operation } = sending;
  const { token, turn, claims } = session.get();
  // What was done before is no news any more.
  if (!isSafe(operation.method)) notice.set('');
  const renewed = (stale: string): Promise<string | undefined> => renewedToken(stale, turn);
  const isEnding = token !== undefined && isExpiring(claims);
  const good = isEnding ? ((await renewed(token)) ?? token) : token;
  let answered = await transmit(sending, good, read);
  if (good !== undefined && isBadToken(answered.response)) {
    const fresh = await renewed(good);
    // What has been done is not done again.
    const isDone = answered.response.ok && !isSafe(operation.method);
    if (fresh !== undefined && !isDone) answered = await transmit(sending, fresh, read);
    if (fresh === undefined || (!isDone && isBadToken(answered.response))) forgetToken(fresh ?? good, operation.method);
  }
  const { response, found, text } = answered;
  if (found !== undefined) {
    if (!isSafe(operation.method)) writes.set(writes.get() + 1);
    return { body: found.body, headers: response.headers, status: `${response.status} ${response.statusText}`.trim() };
  }
  const isSamePerson = session.get().turn === turn;
  if (response.status === 403 && isSamePerson) rememberRefusal(operation.id, new URL(response.url).pathname);
  throw refusalOf(response, text);
}

/** An answer that was read; undefined is what was found if the request was refused. */
interface Answered<Body> {
  readonly response: Response;
  readonly found: { readonly body: Body } | undefined;
  readonly text: string;
}

/** Sends a request once, with a token. Throws Refusal if no answer comes. */
async function transmit<Body>(
  { operation, url, signal, fetch: ask = fetch, ...sending }: Sending,
  token: string | undefined,
  read: Read<Body>,
): Promise<Answered<Body>> {
  const headers = headersOf({ operation, url, ...sending }, token);
  const payload = payloadOf(sending.body);
  const isOfPage = operation.method === 'OPTIONS' || operation.id === 'refresh';
  const settle = keep({ method: operation.method, url, headers, ...sentBody(payload) }, isOfPage);
  try {
    const response = await ask(url, {
      method: operation.method,
      headers,
      ...(payload === undefined ? {} : { body: payload }),
      ...(signal === undefined ? {} : { signal }),
      cache: 'no-store',
      credentials: operation.isOfAccounts === true ? 'same-origin' : 'omit',
    });
    const found = response.ok ? await read(response) : undefined;
    const text = found?.shown ?? (await response.text());
    const { status, statusText } = response;
    const shown = operation.isOfAccounts === true ? coveredOnce(text) : text;
    settle({ status, statusText, headers: [...response.headers], text: shown });
    return { response, found, text };
  } catch (error) {
    settle(undefined);
    if (signal?.aborted === true) throw error;
    throw new Refusal(0, 'no_answer', '');
  }
}

let refreshing: Operation | undefined;

/** Tells by which operation the API renews tokens, by a cookie that no script sees. */
export function refreshBy(operation: Operation): void {
  refreshing = operation;
}

/** Gets a token by the cookie of the browser; undefined if there is no login. */
export function refresh(): Promise<string | undefined> {
  return renew(async () => {
    const { id, method, path, isOfAccounts } = refreshing!;
    const sending = { operation: { id, method, isOfAccounts }, url: path, body: {} };
    const { found, text, response } = await transmit(sending, undefined, readJson);
    if (found !== undefined) return (found.body as { access_token?: string } | undefined)?.access_token;
    if (response.status === 401 || response.status === 403) return undefined;
    throw refusalOf(response, text);
  });
}

/** Returns the token in the place of one that has ended; undefined if its person has no login any more. */
async function renewedToken(stale: string, turn: number): Promise<string | undefined> {
  if (!isRenewable()) return undefined;
  const { token } = session.get();
  const isNew = token !== undefined && token !== stale && isOfSamePerson(token, stale);
  const fresh = isNew ? token : await refresh();
  if (fresh === undefined || !isOfSamePerson(fresh, stale)) return undefined;
  renewToken(fresh, turn);
  return fresh;
}

function headersOf({ body, headers = {} }: Sending, token: string | undefined): Record<string, string> {
  return {
    accept: 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
    ...headers,
  };
}

function payloadOf(body: unknown): string | FormData | undefined {
  return body === undefined || body instanceof FormData ? body : JSON.stringify(body);
}

/** Keeps a request that is on its way. The function that comes back keeps its answer, or that none came, unless it was forgotten meanwhile. */
function keep(request: SentRequest, isOfPage: boolean): (answer?: RawAnswer) => void {
  const number = ++count;
  const startedAt = performance.now();
  const begun = { number, isOfPage, ...request, answer: undefined, failed: false, durationMs: undefined };
  exchanges.set([begun, ...exchanges.get()].slice(0, MAX_KEPT));
  return (answer) => {
    const ended = { answer, failed: answer === undefined, durationMs: performance.now() - startedAt };
    exchanges.set(exchanges.get().map((each) => (each.number === number ? { ...each, ...ended } : each)));
  };
}

/** Tells if the API says that a token is none any more, with a 401 or beside what anybody may see. */
function isBadToken({ headers }: Response): boolean {
  return headers.get('www-authenticate')?.includes('invalid_token') === true;
}

function forgetToken(token: string, method: string): void {
  if (session.get().token !== token) return;
  endLogin();
  // A form says it itself.
  if (isSafe(method)) notice.set(texts.loginEnded);
}

function isSafe(method: string): boolean {
  return method === 'GET' || method === 'OPTIONS';
}

function refusalOf({ status, statusText, headers }: Response, text: string): Refusal {
  const retrySeconds = Number(headers.get('retry-after') ?? Number.NaN);
  const body = (parsed(text) ?? {}) as { error?: unknown; code?: unknown; details?: unknown };
  const { error, code, details } = body;
  const said = typeof error === 'string' && error !== '' ? plainWords(error) : undefined;
  const found = Array.isArray(details)
    ? (details as Detail[])
    : said === undefined && isRow(body)
      ? detailsIn(body)
      : [];
  return new Refusal(
    status,
    typeof code === 'string' ? code : '',
    said ?? `${status} ${statusText}`.trim(),
    found.map((detail) => ({ ...detail, message: plainWords(detail.message) })),
    Number.isNaN(retrySeconds) ? undefined : retrySeconds,
  );
}

/** Finds the messages of an API with errors in a format of its own: each text belongs to the field that its member is named after. */
function detailsIn(value: unknown, member = ''): readonly Detail[] {
  if (typeof value === 'string') return [{ in: 'body', path: `/${member}`, message: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => detailsIn(each, Array.isArray(value) ? member : name));
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return text;
  }
}

function sentBody(body: string | FormData | undefined): Pick<SentRequest, 'body' | 'form'> {
  if (!(body instanceof FormData)) return { body, form: undefined };
  const form = [...body].map(([name, value]): FormPart =>
    typeof value === 'string' ? { name, text: value } : { name, fileName: value.name },
  );
  return { body: undefined, form };
}

/** Header values that are nobody's business who looks over a shoulder. */
export function shownHeader(name: string, value: string): string {
  return name === 'authorization' ? 'Bearer …' : value;
}
