import type { FastifyInstance } from 'fastify';
import { ServiceUnavailable } from '../errors.ts';

/** When a client that was turned away may try again, in seconds. */
const RETRY_AFTER_SECONDS = '1';

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
  app.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.config?.throttle === false) return done();
    if (inFlight >= most) return done(overloaded());
    inFlight += 1;
    // Not onResponse: a client that goes away before its answer is done with as well.
    reply.raw.on('close', leave);
    done();
  });
}

function overloaded(): ServiceUnavailable {
  const headers = { 'retry-after': RETRY_AFTER_SECONDS };
  return new ServiceUnavailable('Too many requests are in flight here; try again shortly', { headers });
}
