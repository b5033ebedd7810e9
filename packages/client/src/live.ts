import { ApiError } from './api-error.ts';
import type { Fetch } from './fetch.ts';
import type { CallOptions } from './options.ts';
import { sleep } from './waiting.ts';

/** The options of `watch`; every one has a default. */
export interface WatchOptions extends Omit<CallOptions, 'retries' | 'timeoutMs'> {
  /**
   * Milliseconds without data after which the connection counts as lost. By default the server sends data at least
   * every 15 seconds. Default: 45,000.
   */
  readonly idleMs?: number;
  /** The longest wait before the client reconnects, in milliseconds. Default: 30,000. */
  readonly maxWaitMs?: number;
}

/** The `list` call of a view. */
interface Listing {
  // Accepts any arguments, because each view has its own.
  list(...args: never[]): Promise<unknown>;
}

type QueryOf<View extends Listing> = Parameters<View['list']>[0];
type PageOf<View extends Listing> = Awaited<ReturnType<View['list']>>;

/**
 * Follows a list as it changes. Yields the list as `list()` returns it: first the current one, then one after each
 * change. Each is a new object. A slow consumer skips intermediate lists. A lost connection is opened again, and
 * continues from the client's state. To end it, leave the loop or abort the option `signal`.
 *
 * The view needs `live: true`, and the server needs the plugin `live` of `@viewset/live`.
 *
 * @param options `fetch` replaces the platform's `fetch`; the client's own `fetch` is not used
 * @throws ApiError if the server rejects the list, now or later. After a 401 the token is renewed first, as in any call
 * @example
 * for await (const { results } of watch(api.products, { sort: '-price' })) console.log(results);
 */
export async function* watch<View extends Listing>(
  view: View,
  query?: QueryOf<View>,
  options: WatchOptions = {},
): AsyncGenerator<PageOf<View>, void, undefined> {
  const { idleMs = 45_000, maxWaitMs = 30_000, signal, ...call } = options;
  const over = new AbortController();
  const ends = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
  const followed = new FollowedList();
  const connect = (): AsyncGenerator<string, void> =>
    partsOf(() => open(view, query, { ...call, signal: ends }, followed.lastId), idleMs);
  try {
    yield* followed.lists(connect, maxWaitMs, ends) as AsyncGenerator<PageOf<View>, void>;
  } finally {
    over.abort();
  }
}

/** The connection was lost, or was silent for too long. */
class LostConnection extends Error {}

/** Returns the next part of a stream, or an error that reconnecting may solve; undefined if the stream has ended. */
async function nextOf(parts: AsyncGenerator<string, void>, ends: AbortSignal): Promise<string | ApiError | undefined> {
  try {
    const next = await parts.next();
    return next.done === true ? undefined : next.value;
  } catch (error) {
    ends.throwIfAborted();
    if (error instanceof LostConnection) return undefined;
    if (error instanceof ApiError && isPassing(error.status as number)) return error as ApiError;
    throw error;
  }
}

function isPassing(status: number): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500;
}

/** Opens the stream with the client's `list` call, so that the address, token and errors are the client's. */
async function open(
  view: Listing,
  query: unknown,
  options: CallOptions,
  lastId: string | undefined,
): Promise<ReadableStream<Uint8Array>> {
  let stream: Response | undefined;
  const { fetch = globalThis.fetch } = options;
  const opening: Fetch = async (url, init) => {
    const response = await fetch(url, init);
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return response;
    stream = response;
    // Completes the `list` call; the stream is read separately.
    return new Response('{}', { headers: { 'content-type': 'application/json' } });
  };
  const headers = {
    ...options.headers,
    accept: 'text/event-stream',
    'cache-control': 'no-store',
    ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
  };
  const list = view.list.bind(view) as (query: unknown, options: CallOptions) => Promise<unknown>;
  await list(query, { ...options, headers, fetch: opening, retries: 0 });
  if (stream?.body) return stream.body;
  throw new TypeError('watch(): the server sent a list that is not live; its view needs "live: true"');
}

/** Opens a stream and yields its parts until it ends. Ends with the stream. */
async function* partsOf(
  connect: () => Promise<ReadableStream<Uint8Array>>,
  idleMs: number,
): AsyncGenerator<string, void, undefined> {
  const reader = (await connect()).getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const idle = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new LostConnection('silent for too long')), idleMs);
      });
      const { done, value } = await Promise.race([reader.read(), idle])
        .catch((cause: unknown) => {
          throw new LostConnection('the connection was lost', { cause });
        })
        .finally(() => clearTimeout(timer));
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

interface EventData {
  readonly index: number;
  readonly from?: number;
  readonly record: unknown;
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** A list, built from the events of its stream. */
class FollowedList {
  lastId: string | undefined;
  #list: unknown;
  #retryMs = 1000;
  #text = '';
  /** The member that holds the records; undefined if the list is an array. */
  #member: string | undefined;

  /** Yields the list after each change, across all connections. */
  async *lists(
    connect: () => AsyncGenerator<string, void>,
    maxWaitMs: number,
    ends: AbortSignal,
  ): AsyncGenerator<unknown, void> {
    for (let failures = 0; ; failures++) {
      const parts = connect();
      let next = await nextOf(parts, ends);
      for (; typeof next === 'string'; next = await nextOf(parts, ends)) {
        failures = 0;
        if (this.#take(next)) yield this.#list;
      }
      const requestedMs = (next?.retryAfterSeconds ?? 0) * 1000;
      const waitMs = this.#retryMs * 2 ** Math.min(failures, 10) * (0.5 + Math.random() / 2);
      await sleep(Math.min(Math.max(requestedMs, waitMs), maxWaitMs), ends);
    }
  }

  /** Processes a part of the stream. Returns true if the list has changed. */
  #take(part: string): boolean {
    const blocks = (this.#text + part).split('\n\n');
    this.#text = blocks.pop()!;
    const before = this.#list;
    for (const block of blocks) this.#takeEvent(block);
    return this.#list !== before;
  }

  #takeEvent(block: string): void {
    // A multi-line regular expression would also split at U+2028, which JSON may contain.
    const lines = block.split('\n');
    const field = (name: string): string | undefined =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const retry = field('retry');
    if (retry !== undefined) this.#retryMs = Number(retry);
    const event = field('event');
    if (event === undefined) return;
    this.#apply(event, JSON.parse(field('data')!));
    this.lastId = field('id') ?? this.lastId;
  }

  #apply(event: string, data: unknown): void {
    const { index, from = index, record, ...refusal } = data as EventData;
    switch (event) {
      case 'list':
      case 'reset':
        this.#list = data;
        this.#member = Object.entries(data as object).find(([, value]) => Array.isArray(value))?.[0];
        if (Array.isArray(data)) this.#member = undefined;
        return;
      case 'count':
        this.#list = { ...(data as object), ...this.#withRecords(this.#records) };
        return;
      case 'enter':
        return this.#setRecords(this.#records.toSpliced(index, 0, record));
      case 'leave':
        return this.#setRecords(this.#records.toSpliced(index, 1));
      case 'change':
        return this.#setRecords(this.#records.toSpliced(from, 1).toSpliced(index, 0, record));
      case 'end':
        // The server closes the stream. The reconnecting call renews its token, or throws the error.
        if (refusal.status === 401 || isPassing(refusal.status)) return;
        throw new ApiError({ ...refusal, request: 'a live list' });
    }
  }

  get #records(): readonly unknown[] {
    const list = this.#list;
    return (this.#member === undefined ? list : (list as Record<string, unknown>)[this.#member]) as unknown[];
  }

  #setRecords(records: readonly unknown[]): void {
    this.#list = this.#member === undefined ? records : { ...(this.#list as object), ...this.#withRecords(records) };
  }

  #withRecords(records: readonly unknown[]): Readonly<Record<string, unknown>> {
    return this.#member === undefined ? {} : { [this.#member]: records };
  }
}
