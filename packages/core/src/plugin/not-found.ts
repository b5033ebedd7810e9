import type { FastifyInstance, FastifyReply, FastifyRequest, preParsingHookHandler } from 'fastify';
import { MethodNotAllowed, NotFound } from '../errors/errors.ts';
import { ROUTE_METHODS } from '../http/methods.ts';
import { allowedMethods, pathOf, sendAllowed } from '../router/allowed-methods.ts';
import { sendError } from './error-handler.ts';

/**
 * Answers unknown paths and wrong methods before a body is read. Otherwise Fastify would parse the body first, and
 * report a malformed body before the wrong route. It runs after every onRequest hook, so their headers (CORS) are on
 * these answers too.
 */
export function respondNotFound(app: FastifyInstance): void {
  const early: preParsingHookHandler = (request, reply) => void notFoundHandler.call(app, request, reply);
  // Fastify accepts any request hook here, but its types declare only two.
  const hooks: Parameters<FastifyInstance['setNotFoundHandler']>[0] & { preParsing: preParsingHookHandler } = {
    preParsing: early,
  };
  app.setNotFoundHandler(hooks, notFoundHandler);
}

/**
 * Fastify calls this for an unknown path, for a known path with another method, and for a route that calls
 * `reply.callNotFound()`. The route tree decides which case it is: 404, 405 with `Allow` (204 for OPTIONS), or 404
 * again. `OPTIONS *` has no path.
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
