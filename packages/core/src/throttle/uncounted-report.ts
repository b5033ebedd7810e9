import type { FastifyBaseLogger } from 'fastify';

/** How often the log hears of requests that pass uncounted, in milliseconds. */
const INTERVAL_MS = 10_000;

/** Tells the log that a store is down: the first time at once, then once an interval, with how many passed since. */
export class UncountedReport {
  readonly #log: Pick<FastifyBaseLogger, 'warn'>;
  #quietUntil = -Infinity;
  #uncounted = 0;

  constructor(log: Pick<FastifyBaseLogger, 'warn'>) {
    this.#log = log;
  }

  note(rule: string, error: unknown): void {
    this.#uncounted++;
    const now = performance.now();
    if (now < this.#quietUntil) return;
    this.#quietUntil = now + INTERVAL_MS;
    const err = (error as { cause?: unknown } | null)?.cause ?? error;
    this.#log.warn(
      { err, rule, uncounted: this.#uncounted },
      'The throttle store does not answer: requests pass uncounted',
    );
    this.#uncounted = 0;
  }
}
