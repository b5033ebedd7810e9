import type { LivePage, LiveQuestion } from '@viewset/core';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from './connection.ts';
import { eventsBetween } from './list-events.ts';
import { ListState } from './list-state.ts';

/** The most connections whose lists are requested at the same time. */
const READ_AT_ONCE = 64;
/** How long one list may take, in milliseconds. */
export const MAX_READ_MS = 30_000;

/** A list that several connections asked for in this round. */
interface Read {
  readonly question: LiveQuestion;
  readonly answer: Promise<Answer>;
}

interface Answer {
  readonly page: LivePage;
  readonly state: ListState;
  /** The events from each known state, which many connections share. */
  readonly events: Map<ListState, string>;
}

/** Receives the results of connections in a round. */
export interface RoundListener {
  /** Called if a connection's list could not be read. */
  onFailed(connection: Connection, error: unknown): void;
  /** Called if a connection's list changed again while it was being read. */
  onOutdated(): void;
}

/**
 * Reads the lists of connections once, and sends each its changes. Each connection makes its own request, because
 * permissions are decided for it alone. Equal questions share one answer from the database.
 *
 * Settles when all lists were requested. Slow lists are sent later, and do not delay the others.
 *
 * @param patienceMs how long the last lists may take, in milliseconds
 */
export async function notifyAll(
  connections: Iterable<Connection>,
  slots: ReadSlots,
  listener: RoundListener,
  patienceMs: number,
): Promise<void> {
  const reads = new SharedReads(slots);
  const queue = connections[Symbol.iterator]();
  const allBegun = Promise.withResolvers<void>();
  const work = async (): Promise<void> => {
    for (let next = queue.next(); !next.done; next = queue.next()) await notify(next.value, reads, listener);
    allBegun.resolve();
  };
  const allNotified = Promise.all(Array.from({ length: READ_AT_ONCE }, work));
  await allBegun.promise;
  await settledOrLate(allNotified, patienceMs);
}

async function notify(connection: Connection, reads: SharedReads, listener: RoundListener): Promise<void> {
  if (connection.isClosed || connection.isSlow || connection.isReading || !connection.hasBegun) return;
  connection.isReading = true;
  connection.isDirty = false;
  connection.readAt = Date.now();
  try {
    const { page, state, events } = await inTime(
      connection.list.ask().then((question) => reads.of(question)),
      MAX_READ_MS,
    );
    connection.notify(state, (known) => {
      let text = events.get(known);
      if (text === undefined) events.set(known, (text = eventsBetween(known, state, page)));
      return text;
    });
    connection.isFailing = false;
    if (connection.isDirty) listener.onOutdated();
  } catch (error) {
    if (!connection.isClosed) listener.onFailed(connection, error);
  } finally {
    connection.isReading = false;
  }
}

/** Limits how many lists are read at the same time. */
export class ReadSlots {
  readonly #waiting: (() => void)[] = [];
  readonly #limitMs: number;
  #free: number;

  /** @param limitMs after this time a read that gets no answer releases its slot, in milliseconds */
  constructor(count: number, limitMs = MAX_READ_MS) {
    this.#free = count;
    this.#limitMs = limitMs;
  }

  async run<Value>(read: () => Promise<Value>): Promise<Value> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free -= 1;
    try {
      return await inTime(read(), this.#limitMs);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

/** Reads a list once for all equal questions. */
export class SharedReads {
  readonly #byHint = new Map<string, Read[]>();
  readonly #slots: ReadSlots;

  constructor(slots: ReadSlots) {
    this.#slots = slots;
  }

  of(question: LiveQuestion): Promise<Answer> {
    let known = this.#byHint.get(question.hint);
    if (known === undefined) this.#byHint.set(question.hint, (known = []));
    const same = known.find((each) => each.question.isSameAs(question));
    if (same !== undefined) return same.answer;
    const answer = this.#read(question);
    known.push({ question, answer });
    return answer;
  }

  async #read(question: LiveQuestion): Promise<Answer> {
    const page = await this.#slots.run(() => question.read());
    return { page, state: ListState.of(page), events: new Map() };
  }
}

/** Waits for an answer that a database may never send. */
export async function inTime<Value>(answer: Promise<Value>, limitMs: number): Promise<Value> {
  const abort = new AbortController();
  const late = sleep(limitMs, undefined, { signal: abort.signal }).then(() => {
    throw new Error('the list took too long');
  });
  late.catch(() => {});
  try {
    return await Promise.race([answer, late]);
  } finally {
    abort.abort();
  }
}

/** Waits until a promise settles, but at most for a given time. */
export async function settledOrLate(ended: Promise<unknown>, limitMs: number): Promise<void> {
  await inTime(ended, limitMs).catch(() => {});
}
