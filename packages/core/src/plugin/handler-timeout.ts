import type { FastifyInstance, FastifyReply } from 'fastify';
import { ServiceUnavailable } from '../errors.ts';
import { giveUp } from '../given-up.ts';
import { sendError } from './error-handler.ts';
import type { RequestsInFlight } from './requests-in-flight.ts';

/** How much later than its limit a request may be answered at most, in milliseconds. */
const GRAIN_MS = 1000;

/**
 * Answers 503 to a request that has not been answered `limitMs` after it came in. One clock looks after all requests:
 * Fastify's own `handlerTimeout` sets a timer for each, and forgets it (with Fastify 5.12) once a body has been read.
 */
export function limitHandlers(app: FastifyInstance, limitMs: number, inFlight: RequestsInFlight): void {
  if (limitMs === Infinity) return;
  // A request may come in just before a tick or just after it: two ticks are what it may be late.
  const tickMs = Math.min(GRAIN_MS, limitMs) / 2;
  const ticks = Math.ceil(limitMs / tickMs);
  const clock = setInterval(() => {
    inFlight.tick();
    for (const reply of inFlight.takeOlderThan(ticks)) answerLate(reply);
  }, tickMs);
  clock.unref();
  app.addHook('onClose', async () => clearInterval(clock));
}

function answerLate(reply: FastifyReply): void {
  // A client that went away, or an answer that is being streamed, is nobody to wait for.
  if (reply.sent || reply.raw.headersSent || reply.raw.destroyed) return;
  try {
    giveUp(reply.request);
    reply.log.error({ req: reply.request }, 'the handler took too long');
    sendError(new ServiceUnavailable('The request took too long'), reply);
  } catch (error) {
    reply.log.error({ err: error }, 'a late answer could not be sent');
  }
}
