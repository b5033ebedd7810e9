import type { MikroORM } from '@mikro-orm/core';
import type { WorkerOptions } from './options.ts';
import { workerOf } from './worker.ts';

/** A worker that delivers events. */
export interface OutboxWorker {
  /**
   * Takes no further event, waits for the handlers that run (at most `stopTimeoutMs`), and gives the other events back. Call it before
   * `orm.close()`.
   */
  stop(): Promise<void>;
}

/**
 * Starts a worker that delivers the events of an ORM, in any process: in that of the application, or in one that has no server. There may be
 * several. An event is delivered at least once: if a handler throws, or the process dies, it is delivered again.
 *
 * Events of one subject are delivered one after another, in the order in which they were stored. One that is to be tried again holds up those behind
 * it until it is delivered or a dead letter.
 *
 * Throws ImproperlyConfigured for a wrong option, and for an ORM that has no transactions or no `OutboxEvent`.
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
