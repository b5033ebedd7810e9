import type { FastifyInstance } from 'fastify';

/** How long the requests in flight may take once the process is asked to stop. */
const GRACE_MS = 10_000;
/** A connection that was kept alive for a next request is closed this soon after its last one. */
const SWEEP_MS = 50;

/**
 * SIGTERM and SIGINT: takes no more connections, lets the requests in flight finish, closes the stores and exits with
 * 0. A signal that comes again changes nothing: a package manager passes on what the terminal has sent already.
 */
export function stopOnSignals(app: FastifyInstance): void {
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      app.log.info({ signal }, 'stopping');
      void stop(app);
    });
  }
}

async function stop(app: FastifyInstance): Promise<void> {
  const patience = setTimeout(() => {
    app.log.warn({ graceMs: GRACE_MS }, 'requests are still in flight: cutting their connections');
    app.server.closeAllConnections();
  }, GRACE_MS);
  const sweep = setInterval(() => app.server.closeIdleConnections(), SWEEP_MS);
  try {
    await app.close();
    app.log.info('stopped');
  } catch (error) {
    app.log.error({ err: error }, 'a store did not close');
  } finally {
    clearTimeout(patience);
    clearInterval(sweep);
  }
  process.exit(0);
}
