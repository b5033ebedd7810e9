import type { FastifyInstance, FastifyReply, FastifyRequest, preParsingHookHandler } from 'fastify';
import { MethodNotAllowed, NotFound } from '../errors.ts';
import { ROUTE_METHODS } from '../methods.ts';
import { allowedMethods, pathOf, sendAllowed } from '../router/allowed-methods.ts';
import { sendError } from './error-handler.ts';

/**
 * Answers unknown paths and wrong methods before a body is read: Fastify would parse it first, and a malformed one would
 * be told before the route. It runs after every onRequest hook, so that what those add (CORS) is on these answers too.
 */
export function answerNotFound(app: FastifyInstance): void {
  const early: preParsingHookHandler = (request, reply) => void notFoundHandler.call(app, request, reply);
  // Fastify takes any hook of a request here; its types tell of two.
  const hooks: Parameters<FastifyInstance['setNotFoundHandler']>[0] & { preParsing: preParsingHookHandler } = {
    preParsing: early,
  };
  app.setNotFoundHandler(hooks, notFoundHandler);
}

/**
 * Fastify comes here for an unknown path, for a known path with another method, and from a route that calls `reply.callNotFound()`.
 * Which of them it is, the route tree knows: 404, 405 with `Allow` (204 for OPTIONS), or 404 again. `OPTIONS *` is of no path.
 */
export function notFoundHandler(this: FastifyInstance, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = pathOf(request.raw.url ?? '/');
  // RFC 9110, section 9.3.7: the server in general.
  if (request.method === 'OPTIONS' && path === '*') {
    return reply
      .code(204)
      .header('allow', [...ROUTE_METHODS, 'OPTIONS'].join(', '))
      .send();
  }
  const allowed = allowedMethods(this, path);
  if (allowed.length === 0) return sendError(new NotFound(`No route ${request.method} ${pathOf(request.url)}`), reply);
  if (request.method === 'OPTIONS') return sendAllowed(reply, allowed);
  if (allowed.includes(request.method)) return sendError(new NotFound(), reply);
  return sendError(new MethodNotAllowed(request.method, allowed), reply);
}
