import { Agent, get, type IncomingMessage } from 'node:http';

const agent = new Agent({ keepAlive: false, maxSockets: Infinity });

/** Like `fetch` of Node and browsers, a client has a time limit: a connection that a busy system drops is retried at growing intervals. */
const RESPONSE_TIMEOUT_MS = 10_000;

interface EventData {
  readonly key: string;
  readonly index: number;
  readonly record: { readonly at: number };
  readonly results: readonly { readonly id: number }[];
}

/** A client of one room, which connects again and goes on when it loses its connection. */
export class Follower {
  readonly room: number;
  ids: string[] = [];
  /** The milliseconds from the write of each message to its event. */
  readonly latencies: number[] = [];
  /** Events that contradict earlier events. */
  faults = 0;
  resets = 0;
  #lastId: string | undefined;
  #isEnded = false;
  #response: IncomingMessage | undefined;
  readonly #url: string;

  constructor(url: string, room: number) {
    this.#url = url;
    this.room = room;
  }

  /** Resolves once the list is there. */
  open(): Promise<void> {
    return new Promise((resolve) => this.#connect(resolve));
  }

  close(): void {
    this.#isEnded = true;
    this.#response?.destroy();
  }

  #connect(onList: () => void): void {
    const again = (): void =>
      void (this.#isEnded || setTimeout(() => this.#connect(onList), 200 + 800 * Math.random()));
    const resuming = this.#lastId === undefined ? {} : { 'last-event-id': this.#lastId };
    const headers = { accept: 'text/event-stream', ...resuming };
    const request = get(`${this.#url}?room=${this.room}`, { agent, headers }, (response) => {
      clearTimeout(tooLate);
      this.#response = response;
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        const blocks = (text + part).split('\n\n');
        text = blocks.pop()!;
        for (const block of blocks) this.#take(block);
        if (this.#lastId !== undefined) onList();
      });
      response.on('error', () => {});
      response.on('close', again);
    });
    request.on('error', again);
    const tooLate = setTimeout(() => request.destroy(), RESPONSE_TIMEOUT_MS);
  }

  #take(block: string): void {
    const [, event, id, data] = /^event: (.*)\n(?:id: (.*)\n)?data: (.*)$/.exec(block) ?? [];
    if (event === undefined || data === undefined) return;
    const { key, index, record, results } = JSON.parse(data) as EventData;
    if (event === 'enter') {
      if (this.ids.includes(key)) this.faults += 1;
      this.ids.splice(index, 0, key);
      this.latencies.push(Date.now() - record.at);
    } else if (event === 'leave') {
      if (this.ids[index] !== key) this.faults += 1;
      this.ids.splice(index, 1);
    } else if (event === 'list' || event === 'reset') {
      if (event === 'reset') this.resets += 1;
      this.ids = results.map((each) => String(each.id));
    }
    this.#lastId = id ?? this.#lastId;
  }
}
