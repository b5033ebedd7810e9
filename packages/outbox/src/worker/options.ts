import { checkOptionNames, wrongOption } from '@viewset/core';
import { type EventHandler, type EventHandlers, handlerList } from './handlers.ts';

/** The part of a log that a worker uses, as that of Fastify, or `console`. */
export interface WorkerLog {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** The options of a worker. Only `handlers` is required. */
export interface WorkerOptions {
  /** Handlers by the types of events, or several such objects. All that match an event are called, one after another. An event that none matches is done. */
  readonly handlers: EventHandlers | readonly EventHandlers[];
  /** The most subjects that are delivered at once. Events without a subject count each. Default: 10. */
  readonly concurrency?: number;
  /** The time between two looks for events that other processes have stored, in milliseconds. Default: 5000. */
  readonly pollMs?: number;
  /** The time after which the events of a worker that died go to another one, in milliseconds. A living worker extends it. Default: 30,000. */
  readonly leaseMs?: number;
  /** An event that has failed so often is a dead letter. Default: 20, which takes about a day. */
  readonly maxAttempts?: number;
  /** The time before the second attempt, in milliseconds. It doubles with each further one, and is shortened at random by up to half. Default: 1000. */
  readonly backoffMs?: number;
  /** The most time before an attempt, in milliseconds. Default: 21,600,000, which is six hours. */
  readonly maxBackoffMs?: number;
  /** Delivered events are deleted after this time, in milliseconds; Infinity: never. Default: 86,400,000, which is a day. */
  readonly keepDeliveredMs?: number;
  /** The time that `stop()` waits for handlers before their signals abort, in milliseconds. Default: 10,000. */
  readonly stopTimeoutMs?: number;
  /** Default: `console`, and in the plugin the application's log. */
  readonly log?: WorkerLog;
}

const DEFAULTS = {
  concurrency: 10,
  pollMs: 5000,
  leaseMs: 30_000,
  maxAttempts: 20,
  backoffMs: 1000,
  maxBackoffMs: 6 * 3_600_000,
  keepDeliveredMs: 24 * 3_600_000,
  stopTimeoutMs: 10_000,
};

/** The names of the options of a worker. */
export const WORKER_OPTIONS: readonly string[] = ['handlers', 'log', ...Object.keys(DEFAULTS)];

/** The options of a worker with their defaults. */
export interface ResolvedWorkerOptions extends Required<Omit<WorkerOptions, 'handlers'>> {
  readonly handlers: readonly (readonly [pattern: string, handler: EventHandler])[];
}

/** Checks the options of a worker, and fills in the defaults. Throws ImproperlyConfigured. */
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
