import type { Test } from 'tap';
import { until } from './until.ts';

export interface StreamEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: Record<string, unknown>;
}

/** A client of a list that is live: it reads all events, and keeps the list as they make it. */
export class EventStream {
  readonly response: Response;
  readonly events: StreamEvent[] = [];
  /** The list as the events make it: its records by their keys, in their order. */
  records: { readonly key: string; readonly record: Record<string, unknown> }[] = [];
  rest: Record<string, unknown> = {};
  lastId: string | undefined;
  isEnded = false;
  /** What the events did that they must not do. */
  readonly faults: string[] = [];
  readonly #abort: AbortController;
  readonly #keyOf: (record: Record<string, unknown>) => string;

  private constructor(response: Response, abort: AbortController, from: EventStream | undefined) {
    this.response = response;
    this.#abort = abort;
    this.#keyOf = (record) => String(record['id']);
    if (from === undefined) return;
    this.records = [...from.records];
    this.rest = from.rest;
    this.lastId = from.lastId;
  }

  /** Opens a stream. Goes on from an earlier one if it is given. */
  static async open(
    t: Test,
    url: string,
    { from, headers = {} }: { from?: EventStream | undefined; headers?: Record<string, string> } = {},
  ): Promise<EventStream> {
    const abort = new AbortController();
    t.teardown(() => abort.abort());
    const resuming = from?.lastId === undefined ? {} : { 'last-event-id': from.lastId };
    const response = await fetch(url, {
      headers: { accept: 'text/event-stream', ...resuming, ...headers },
      signal: abort.signal,
    });
    const stream = new EventStream(response, abort, from);
    if (response.headers.get('content-type') === 'text/event-stream') void stream.#read();
    return stream;
  }

  get keys(): string[] {
    return this.records.map(({ key }) => key);
  }

  get told(): string[] {
    return this.events.map(({ event, data }) =>
      data['key'] === undefined ? event : `${event} ${data['key'] as string}`,
    );
  }

  async until(isSo: (stream: this) => unknown): Promise<void> {
    await until(() => isSo(this));
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(): Promise<void> {
    let text = '';
    try {
      for await (const part of this.response.body!.pipeThrough(new TextDecoderStream())) {
        text += part;
        const blocks = text.split('\n\n');
        text = blocks.pop()!;
        for (const block of blocks) this.#take(block);
      }
    } catch {}
    this.isEnded = true;
  }

  #take(block: string): void {
    const fields = new Map(
      block.split('\n').map((line) => {
        const at = line.indexOf(': ');
        return [line.slice(0, at), line.slice(at + 2)] as const;
      }),
    );
    const event = fields.get('event');
    if (event === undefined) return;
    const data = JSON.parse(fields.get('data')!) as Record<string, unknown>;
    const id = fields.get('id');
    if (id !== undefined) this.lastId = id;
    this.#apply(event, data);
    this.events.push({ event, id, data });
  }

  #apply(event: string, data: Record<string, unknown>): void {
    const { key, index, record } = data as { key: string; index: number; record: Record<string, unknown> };
    const at = this.records.findIndex((each) => each.key === key);
    if (event === 'list' || event === 'reset') {
      const { results, ...rest } = data as { results: Record<string, unknown>[] };
      this.rest = rest;
      this.records = results.map((each) => ({ key: this.#keyOf(each), record: each }));
    } else if (event === 'count') {
      this.rest = data;
    } else if (event !== 'end') {
      if ((at === -1) !== (event === 'enter')) this.faults.push(`${event} of ${key}`);
      if (at !== (event === 'leave' ? index : (data['from'] ?? -1))) this.faults.push(`${event} of ${key} from ${at}`);
      if (at !== -1) this.records.splice(at, 1);
      if (event !== 'leave') this.records.splice(index, 0, { key, record });
    }
  }
}
