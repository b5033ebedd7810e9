import type { LivePage, LiveQuestion } from '@viewset/core';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from './connection.ts';
import { eventsBetween } from './list-events.ts';
import { ListState } from './list-state.ts';

/** The connections that are asked for at once. */
const ASKED_AT_ONCE = 64;
/** The time that one list may take, in milliseconds. */
const MAX_ASKING_MS = 30_000;

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

/** Hears of a connection whose list could not be asked for. */
export type OnFailed = (connection: Connection, error: unknown) => void;

/**
 * Asks for the lists of connections once, and tells each what is new. Each connection is asked for by itself: who may see what is decided for its
 * request alone. Those that come to the same question share one answer of the database.
 *
 * @param concurrency the lists that are read at once
 */
export async function tellAll(
  connections: Iterable<Connection>,
  concurrency: number,
  onFailed: OnFailed,
): Promise<void> {
  const read = new SharedReads(concurrency);
  const queue = connections[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (let next = queue.next(); !next.done; next = queue.next()) {
      const connection = next.value;
      if (connection.isClosed || connection.isSlow || !connection.hasBegun) continue;
      connection.isDirty = false;
      connection.askedAt = Date.now();
      try {
        const { page, state, events } = await inTime(connection.list.ask().then((question) => read.of(question)));
        connection.tell(state, (known) => {
          let text = events.get(known);
          if (text === undefined) events.set(known, (text = eventsBetween(known, state, page)));
          return text;
        });
      } catch (error) {
        if (!connection.isClosed) onFailed(connection, error);
      }
    }
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, work));
}

/** Lists that are read once for all that come to the same question. */
export class SharedReads {
  readonly #byHint = new Map<string, Read[]>();
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(concurrency: number) {
    this.#free = concurrency;
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
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free -= 1;
    try {
      const page = await question.read();
      return { page, state: ListState.of(page), events: new Map() };
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

/** Waits for an answer that a database may never give. */
export async function inTime<Value>(answer: Promise<Value>): Promise<Value> {
  const abort = new AbortController();
  const late = sleep(MAX_ASKING_MS, undefined, { signal: abort.signal }).then(() => {
    throw new Error('the list took too long');
  });
  late.catch(() => {});
  try {
    return await Promise.race([answer, late]);
  } finally {
    abort.abort();
  }
}
