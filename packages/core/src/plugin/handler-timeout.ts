import type { FastifyInstance, FastifyReply } from 'fastify';
import { ServiceUnavailable } from '../errors.ts';
import { giveUp } from '../given-up.ts';
import { sendError } from './error-handler.ts';

/** How much later than its limit a request may be answered at most, in milliseconds. */
const GRAIN_MS = 1000;

/**
 * Answers 503 to a request that has not been answered `limitMs` after it came in. One clock looks after all requests:
 * Fastify's own `handlerTimeout` sets a timer for each, and forgets it (with Fastify 5.12) once a body has been read.
 */
export function limitHandlers(app: FastifyInstance, limitMs: number): void {
  if (limitMs === Infinity) return;
  // In the order in which they came, so that those that are due stand in front.
  const unanswered = new Map<FastifyReply, number>();
  app.addHook('onRequest', (_request, reply, done) => {
    unanswered.set(reply, performance.now() + limitMs);
    done();
  });
  app.addHook('onResponse', (_request, reply, done) => {
    unanswered.delete(reply);
    done();
  });
  const clock = setInterval(() => answerDue(unanswered, performance.now()), Math.min(GRAIN_MS, limitMs / 2));
  clock.unref();
  app.addHook('onClose', async () => clearInterval(clock));
}

function answerDue(unanswered: Map<FastifyReply, number>, now: number): void {
  for (const [reply, due] of unanswered) {
    if (due > now) return;
    unanswered.delete(reply);
    try {
      answerLate(reply);
    } catch (error) {
      reply.log.error({ err: error }, 'a late answer could not be sent');
    }
  }
}

function answerLate(reply: FastifyReply): void {
  // A client that went away, or an answer that is being streamed, is nobody to wait for.
  if (reply.sent || reply.raw.headersSent || reply.raw.destroyed) return;
  giveUp(reply.request);
  reply.log.error({ req: reply.request }, 'the handler took too long');
  sendError(new ServiceUnavailable('The request took too long'), reply);
}
