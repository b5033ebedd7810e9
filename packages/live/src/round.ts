import type { LivePage, LiveQuestion } from '@viewset/core';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from './connection.ts';
import { eventsBetween } from './list-events.ts';
import { ListState } from './list-state.ts';

/** The connections that are asked for at once. */
const ASKED_AT_ONCE = 64;
/** The time that one list may take, in milliseconds. */
export const MAX_ASKING_MS = 30_000;

/** A list that some connections have asked for, as it is in this round. */
interface Read {
  readonly question: LiveQuestion;
  readonly answer: Promise<Answer>;
}

interface Answer {
  readonly page: LivePage;
  readonly state: ListState;
  /** The events from what some connections know, which many have in common. */
  readonly events: Map<ListState, string>;
}

/** The part of a process that hears how its connections fare. */
export interface RoundListener {
  /** Hears of a connection whose list could not be asked for. */
  onFailed(connection: Connection, error: unknown): void;
  /** Hears of a connection whose list has changed again while it was asked for. */
  onOutdated(): void;
}

/**
 * Asks for the lists of connections once, and tells each what is new. Each connection is asked for by itself: who may see what is decided for its
 * request alone. Those that come to the same question share one answer of the database.
 *
 * Settles when all have been asked for. Some whose lists take longer than the others are told later: they hold nobody up.
 *
 * @param patienceMs the time that the last of them have, in milliseconds
 */
export async function tellAll(
  connections: Iterable<Connection>,
  slots: ReadSlots,
  listener: RoundListener,
  patienceMs: number,
): Promise<void> {
  const reads = new SharedReads(slots);
  const queue = connections[Symbol.iterator]();
  const allBegun = Promise.withResolvers<void>();
  const work = async (): Promise<void> => {
    for (let next = queue.next(); !next.done; next = queue.next()) await tell(next.value, reads, listener);
    allBegun.resolve();
  };
  const allTold = Promise.all(Array.from({ length: ASKED_AT_ONCE }, work));
  await allBegun.promise;
  await settledOrLate(allTold, patienceMs);
}

async function tell(connection: Connection, reads: SharedReads, listener: RoundListener): Promise<void> {
  if (connection.isClosed || connection.isSlow || connection.isAsked || !connection.hasBegun) return;
  connection.isAsked = true;
  connection.isDirty = false;
  connection.askedAt = Date.now();
  try {
    const { page, state, events } = await inTime(
      connection.list.ask().then((question) => reads.of(question)),
      MAX_ASKING_MS,
    );
    connection.tell(state, (known) => {
      let text = events.get(known);
      if (text === undefined) events.set(known, (text = eventsBetween(known, state, page)));
      return text;
    });
    connection.isFailing = false;
    if (connection.isDirty) listener.onOutdated();
  } catch (error) {
    if (!connection.isClosed) listener.onFailed(connection, error);
  } finally {
    connection.isAsked = false;
  }
}

/** The lists that are read at once, whoever asks for them. */
export class ReadSlots {
  readonly #waiting: (() => void)[] = [];
  readonly #limitMs: number;
  #free: number;

  /** @param limitMs the time after which a read that a database never answers gives its slot back, in milliseconds */
  constructor(count: number, limitMs = MAX_ASKING_MS) {
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

/** Lists that are read once for all that come to the same question. */
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

/** Waits for an answer that a database may never give. */
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

/** Waits until something has ended well or not, but no longer than for some time. */
export async function settledOrLate(ended: Promise<unknown>, limitMs: number): Promise<void> {
  await inTime(ended, limitMs).catch(() => {});
}
