import { checkOptionNames, wrongOption } from '@viewset/core';
import { type EventHandler, type EventHandlers, handlerList } from './handlers.ts';

/** The part of a logger that a worker uses, such as Fastify's or `console`. */
export interface WorkerLog {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** The options of a worker. Only `handlers` is required. */
export interface WorkerOptions {
  /**
   * Handlers by event type, or several such objects. All matching handlers are called, one after another. An event
   * without a matching handler counts as delivered.
   */
  readonly handlers: EventHandlers | readonly EventHandlers[];
  /**
   * The most subjects whose handlers run at the same time. Each event without a subject counts as one. Webhooks have
   * separate places. Default: 10.
   */
  readonly concurrency?: number;
  /** How often the worker looks for events that other processes have stored, in milliseconds. Default: 5000. */
  readonly pollMs?: number;
  /**
   * How long the events of a dead worker wait until another worker takes them, in milliseconds. A running worker
   * extends its leases. Default: 30,000.
   */
  readonly leaseMs?: number;
  /** After this many failures an event becomes a dead letter. Default: 20, which takes about a day. */
  readonly maxAttempts?: number;
  /**
   * The wait before the second attempt, in milliseconds. It doubles with each attempt, and is randomly shortened by up
   * to half. Default: 1000.
   */
  readonly backoffMs?: number;
  /** The longest wait before an attempt, in milliseconds. Default: 21,600,000, which is six hours. */
  readonly maxBackoffMs?: number;
  /**
   * How long one call of a handler may take, in milliseconds. After it the signal of the handler aborts, the attempt has
   * failed, and the place of the handler is free again. Default: 300,000, which is five minutes.
   */
  readonly handlerTimeoutMs?: number;
  /** Delivered events are deleted after this time, in milliseconds; Infinity: never. Default: 86,400,000, which is a day. */
  readonly keepDeliveredMs?: number;
  /**
   * How long `stop()` waits for handlers before it aborts their signals, in milliseconds. `stop()` ends a second later at
   * most. Deliveries to webhooks are aborted at once. Default: 3000.
   */
  readonly stopTimeoutMs?: number;
  /** Default: `console`, or the application's log in the plugin. */
  readonly log?: WorkerLog;
}

const DEFAULTS = {
  concurrency: 10,
  pollMs: 5000,
  leaseMs: 30_000,
  maxAttempts: 20,
  backoffMs: 1000,
  maxBackoffMs: 6 * 3_600_000,
  handlerTimeoutMs: 300_000,
  keepDeliveredMs: 24 * 3_600_000,
  stopTimeoutMs: 3000,
};

/** The names of the worker options. */
export const WORKER_OPTIONS: readonly string[] = ['handlers', 'log', ...Object.keys(DEFAULTS)];

/** The options of a worker with their defaults. */
export interface ResolvedWorkerOptions extends Required<Omit<WorkerOptions, 'handlers'>> {
  readonly handlers: readonly (readonly [pattern: string, handler: EventHandler])[];
}

/** Checks the options of a worker and fills in the defaults. Throws ImproperlyConfigured. */
export function resolveWorkerOptions(owner: string, given: WorkerOptions): ResolvedWorkerOptions {
  checkOptionNames(owner, given, WORKER_OPTIONS);
  const chosen = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const handlers = handlerList(owner, given.handlers);
  const options: ResolvedWorkerOptions = { log: console, ...DEFAULTS, ...chosen, handlers };
  for (const name of Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[]) {
    const value: unknown = options[name];
    const isNever = name === 'keepDeliveredMs' && value === Infinity;
    if (isNever || (Number.isSafeInteger(value) && (value as number) > 0)) continue;
    throw wrongOption(owner, name, 'a whole number above 0', value);
  }
  return Object.freeze(options);
}
