import type { ClaimedEvent } from '../outbox-event.ts';
import type { Leases } from './leases.ts';
import type { WorkerLog } from './options.ts';

/** The most events of one statement. */
const MAX_BATCH = 500;

interface Finished {
  readonly event: ClaimedEvent;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * Stores that events are delivered. One statement runs at a time. What is finished meanwhile goes into the next one, so
 * a busy worker sends fewer statements than it delivers events.
 */
export class Finisher {
  readonly #leases: Leases;
  readonly #log: WorkerLog;
  #queue: Finished[] = [];
  #isRunning = false;

  constructor(leases: Leases, log: WorkerLog) {
    this.#leases = leases;
    this.#log = log;
  }

  /** Resolves once the database has the event as delivered. Rejects if it could not be stored. */
  finish(event: ClaimedEvent): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#queue.push({ event, done });
    if (!this.#isRunning) void this.#run();
    return done.promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, MAX_BATCH);
      this.#queue = this.#queue.slice(batch.length);
      for (const some of Map.groupBy(batch, ({ event }) => event.attempts).values()) await this.#store(some);
    }
    this.#isRunning = false;
  }

  /** Stores events with the same number of attempts. */
  async #store(finished: readonly Finished[]): Promise<void> {
    const events = finished.map(({ event }) => event);
    const attempts = events[0]!.attempts + 1;
    try {
      const stored = await this.#leases.finish(events, { status: 'delivered', delivered_at: new Date(), attempts });
      if (stored < events.length) warnOfLostLease(this.#log, events, stored);
      for (const { done } of finished) done.resolve();
    } catch (error) {
      for (const { done } of finished) done.reject(error);
    }
  }
}

/** Warns that another worker may have the events. */
export function warnOfLostLease(log: WorkerLog, events: readonly ClaimedEvent[], stored: number): void {
  const of = events.map(({ id, type }) => ({ id, type }));
  log.warn({ lost: events.length - stored, of }, 'the lease of an event was lost; it may be delivered twice');
}
