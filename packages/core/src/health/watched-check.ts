import type { FastifyBaseLogger } from 'fastify';
import { isYes } from '../support/awaitable.ts';
import { errorFrom } from '../errors/errors.ts';
import type { HealthCheck } from './health-check.ts';

/** The status of a check: `ok`, or `unavailable` for any problem. */
export type HealthStatus = 'ok' | 'unavailable';

/** The part of a report about one check; `duration_ms` is in milliseconds, to a tenth. */
export interface CheckReport {
  readonly status: HealthStatus;
  readonly duration_ms: number;
}

/** The body of the health response. It never contains a driver's message or an address. */
export interface HealthReport {
  readonly status: HealthStatus;
  readonly checks: Readonly<Record<string, CheckReport>>;
}

/** After this many time limits, a call that has not ended is abandoned, and a new call is made. */
const GIVEN_UP_AFTER = 5;

interface Call {
  readonly startedAt: number;
  /** Why the check failed; undefined if it is well. Never rejects. */
  readonly complaint: Promise<unknown>;
}

export type HealthLog = Pick<FastifyBaseLogger, 'warn' | 'info'>;

/** Runs a check under a time limit, reuses its result for a moment, and logs its changes. */
export class WatchedCheck {
  readonly check: HealthCheck;
  readonly #cacheMs: number;
  #call: Call | undefined;
  #running: Promise<CheckReport> | undefined;
  #fresh: { readonly report: CheckReport; readonly until: number } | undefined;
  #status: HealthStatus = 'ok';

  constructor(check: HealthCheck, cacheMs: number) {
    this.check = check;
    this.#cacheMs = cacheMs;
  }

  /** Returns the result of the check, or a recent one. Never rejects. */
  async run(log: HealthLog | undefined): Promise<CheckReport> {
    if (this.#fresh !== undefined && performance.now() < this.#fresh.until) return this.#fresh.report;
    this.#running ??= this.#runAnew(log);
    return this.#running;
  }

  async #runAnew(log: HealthLog | undefined): Promise<CheckReport> {
    const report = await this.#measure(log);
    this.#running = undefined;
    this.#fresh = { report, until: performance.now() + this.#cacheMs };
    return report;
  }

  async #measure(log: HealthLog | undefined): Promise<CheckReport> {
    const startedAt = performance.now();
    const complaint = await this.#withinLimit();
    const status = complaint === undefined ? 'ok' : 'unavailable';
    this.#logChange(status, complaint, log);
    return { status, duration_ms: Math.round((performance.now() - startedAt) * 10) / 10 };
  }

  async #withinLimit(): Promise<unknown> {
    const { name, timeoutMs } = this.check;
    const limit = Promise.withResolvers<Error>();
    const controller = new AbortController();
    const timer = setTimeout(() => {
      const late = new Error(`Health check "${name}" did not answer within ${timeoutMs} ms`);
      controller.abort(late);
      limit.resolve(late);
    }, timeoutMs);
    try {
      return await Promise.race([this.#run(controller.signal), limit.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Joins a running call, so that a server that hangs is not sent one call after another. */
  #run(signal: AbortSignal): Promise<unknown> {
    const now = performance.now();
    const { timeoutMs } = this.check;
    if (this.#call !== undefined && now - this.#call.startedAt < timeoutMs * GIVEN_UP_AFTER) {
      return this.#call.complaint;
    }
    const call: Call = { startedAt: now, complaint: complaintOf(this.check, signal) };
    this.#call = call;
    void call.complaint.then(() => {
      if (this.#call === call) this.#call = undefined;
    });
    return call.complaint;
  }

  #logChange(status: HealthStatus, complaint: unknown, log: HealthLog | undefined): void {
    if (status === this.#status) return;
    this.#status = status;
    const { name } = this.check;
    if (status === 'ok') log?.info({ check: name }, 'A health check is well again');
    else log?.warn({ check: name, err: complaint }, 'A health check is unavailable');
  }
}

async function complaintOf(check: HealthCheck, signal: AbortSignal): Promise<unknown> {
  try {
    const result: unknown = await check.check(signal);
    return isYes(result) ? undefined : new Error(`Health check "${check.name}" answered ${String(result)}`);
  } catch (error) {
    return errorFrom(error);
  }
}
