import type { FastifyInstance } from 'fastify';
import { ServiceUnavailable } from '../errors.ts';
import { sendError } from './error-handler.ts';

/** The one answer: a process that has too much to do makes nothing anew, and a client may try again in a second. */
const OVERLOADED = new ServiceUnavailable('Too many requests are in flight here; try again shortly', {
  headers: { 'retry-after': '1' },
});
/** How often the log says that requests are refused, at most. */
const REPORT_INTERVAL_MS = 1000;

/**
 * Answers 503 with `Retry-After` at once while `most` requests are in flight: a process that is asked more than it can
 * do stays quick for those that it has taken, instead of queueing until all of them time out. What no throttle counts
 * (the health routes) is neither refused nor counted, so that a busy process is not taken for a dead one.
 */
export function shedLoad(app: FastifyInstance, most: number): void {
  if (most === Infinity) return;
  let inFlight = 0;
  const leave = (): void => {
    inFlight -= 1;
  };
  const report = reporter(app, most);
  app.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.config?.throttle === false) return done();
    if (inFlight >= most) {
      report();
      sendError(OVERLOADED, reply);
      return;
    }
    inFlight += 1;
    // Not onResponse: a client that goes away before its answer is done with as well.
    reply.raw.on('close', leave);
    done();
  });
}

/** Counts the requests that were refused, and says so in the log once a second while there are any. */
function reporter(app: FastifyInstance, maxRequestsInFlight: number): () => void {
  let refused = 0;
  let reportedAt = -Infinity;
  return () => {
    refused += 1;
    const now = performance.now();
    if (now - reportedAt < REPORT_INTERVAL_MS) return;
    app.log.warn({ refused, maxRequestsInFlight }, 'overloaded: requests are refused');
    refused = 0;
    reportedAt = now;
  };
}
