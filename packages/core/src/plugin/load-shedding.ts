import type { FastifyBaseLogger, FastifyReply } from 'fastify';
import { ServiceUnavailable } from '../errors.ts';
import { sendError } from './error-handler.ts';
import type { RequestsInFlight } from './requests-in-flight.ts';

/** The one answer: a process that has too much to do makes nothing anew, and a client may try again in a second. */
const OVERLOADED = new ServiceUnavailable('Too many requests are in flight here; try again shortly', {
  headers: { 'retry-after': '1' },
});
/** How often the log says that requests are refused, at most. */
const REPORT_INTERVAL_MS = 1000;

/**
 * Answers 503 with `Retry-After` at once while `most` requests are in flight: a process that is asked more than it can
 * do stays quick for those that it has taken, instead of queueing until all of them time out.
 */
export class LoadShedder {
  readonly #most: number;
  readonly #inFlight: RequestsInFlight;
  readonly #log: FastifyBaseLogger;
  #refused = 0;
  #reportedAt = -Infinity;

  constructor(most: number, inFlight: RequestsInFlight, log: FastifyBaseLogger) {
    this.#most = most;
    this.#inFlight = inFlight;
    this.#log = log;
  }

  get isOverloaded(): boolean {
    return this.#inFlight.counted >= this.#most;
  }

  refuse(reply: FastifyReply): void {
    this.#refused += 1;
    this.#report();
    sendError(OVERLOADED, reply);
  }

  /** Says in the log how many requests were refused, once a second while there are any. */
  #report(): void {
    const now = performance.now();
    if (now - this.#reportedAt < REPORT_INTERVAL_MS) return;
    this.#log.warn({ refused: this.#refused, maxRequestsInFlight: this.#most }, 'overloaded: requests are refused');
    this.#refused = 0;
    this.#reportedAt = now;
  }
}
