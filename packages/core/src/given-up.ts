import type { FastifyRequest } from 'fastify';
import { ServiceUnavailable } from './errors.ts';

/** Requests that were answered in their handler's place; what the handler still does must have no effect. */
const givenUp = new WeakSet<FastifyRequest>();

/** Marks a request as answered with a failure, whatever its handler comes to. */
export function giveUp(request: FastifyRequest): void {
  givenUp.add(request);
}

/** Throws where the client has been told already that the request failed: asked before a transaction is committed. */
export function checkNotGivenUp(request: FastifyRequest): void {
  if (givenUp.has(request)) throw new ServiceUnavailable('The request took too long');
}
