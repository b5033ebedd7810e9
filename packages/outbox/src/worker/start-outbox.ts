import type { MikroORM } from '@mikro-orm/core';
import type { WorkerOptions } from './options.ts';
import { workerOf } from './worker.ts';

/** A worker that delivers events. */
export interface OutboxWorker {
  /**
   * Takes no more events, and releases those whose handlers have not begun. Aborts requests to webhooks at once. Waits for
   * other handlers, at most `stopTimeoutMs`, and then aborts their signals. Aborted events are delivered again; the stop is
   * no failed attempt.
   *
   * Resolves within `stopTimeoutMs` and one second, even if the database does not respond. Afterwards the worker begins no
   * further query. Call it before `orm.close()`.
   */
  stop(): Promise<void>;
}

/**
 * Starts a worker that delivers the events of an ORM, in the application's process or in a separate one. You can run
 * several workers. Each event is delivered at least once: if a handler throws or the process dies, it is delivered
 * again.
 *
 * Events of one subject are delivered one after another, in the order they were stored. A failed event holds up the
 * events behind it until it is delivered or a dead letter.
 *
 * Throws ImproperlyConfigured if an option is wrong, or if the ORM has no transactions or no `OutboxEvent`.
 *
 * @example
 * const worker = startOutbox(orm, {
 *   handlers: { 'order.created': async ({ payload }) => console.log('mail', payload) },
 * });
 * process.once('SIGTERM', async () => {
 *   await worker.stop();
 *   await orm.close();
 * });
 */
export function startOutbox(orm: MikroORM, options: WorkerOptions): OutboxWorker {
  return workerOf('startOutbox()', orm, options)();
}
