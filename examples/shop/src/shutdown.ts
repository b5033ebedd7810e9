import { setTimeout as sleep } from 'node:timers/promises';
import type { HealthRegistry } from '@viewset/core';
import type { FastifyInstance } from 'fastify';

/** How long requests in flight may take once the shop stops. */
export const CLOSE_TIMEOUT_MS = 10_000;
/** How long the stores may take to close after that: one that hangs does not keep the process. */
const STORES_TIMEOUT_MS = 3000;

export interface ShutdownOptions {
  /** Turns unready at once. */
  readonly health: HealthRegistry;
  /** How long the shop then goes on as before, so that a load balancer sends nothing more by the time it stops. */
  readonly delayMs: number;
}

/**
 * Handles SIGTERM and SIGINT: the shop is no longer ready, accepts no more connections, lets the requests in flight finish, closes the
 * stores and exits with 0. A second signal changes nothing: a package manager forwards a signal that the terminal has already sent.
 */
export function stopOnSignals(app: FastifyInstance, options: ShutdownOptions): void {
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      app.log.info({ signal, delayMs: options.delayMs }, 'stopping');
      void stop(app, options);
    });
  }
}

async function stop(app: FastifyInstance, { health, delayMs }: ShutdownOptions): Promise<void> {
  health.beginShutdown();
  if (delayMs > 0) await sleep(delayMs);
  try {
    await within(app.close(), CLOSE_TIMEOUT_MS + STORES_TIMEOUT_MS);
    app.log.info('stopped');
  } catch (error) {
    app.log.error({ err: error }, 'a store did not close');
  }
  process.exit(0);
}

async function within(closing: PromiseLike<void>, limitMs: number): Promise<void> {
  const late = sleep(limitMs, undefined, { ref: false }).then(() => {
    throw new Error(`not within ${limitMs} ms`);
  });
  await Promise.race([closing, late]);
}
