import type { FastifyInstance, FastifyReply, FastifyRequest, preParsingHookHandler } from 'fastify';
import { MethodNotAllowed, NotFound } from '../errors.ts';
import { ROUTE_METHODS } from '../methods.ts';
import { sendError } from './error-handler.ts';

/** The methods that a path answers to, in the order of `ROUTE_METHODS`, OPTIONS last; empty for an unknown path. */
function allowedMethods(app: FastifyInstance, path: string): string[] {
  const allowed: string[] = ROUTE_METHODS.filter((method) => app.findRoute({ method, url: path }) !== null);
  return allowed.length === 0 ? allowed : [...allowed, 'OPTIONS'];
}

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
 * Fastify comes here for an unknown path and for a known path with another method alike. Which of the two it is, the
 * route tree knows: 404, 405 with `Allow`, or 204 with `Allow` for OPTIONS.
 */
export function notFoundHandler(this: FastifyInstance, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const allowed = allowedMethods(this, pathOf(request.raw.url ?? '/'));
  if (allowed.length === 0) return sendError(new NotFound(`No route ${request.method} ${pathOf(request.url)}`), reply);
  if (request.method === 'OPTIONS') {
    // RFC 10008: the media types of the queries that the resource takes.
    if (allowed.includes('QUERY')) void reply.header('accept-query', 'application/json');
    return reply.code(204).header('allow', allowed.join(', ')).send();
  }
  return sendError(new MethodNotAllowed(request.method, allowed), reply);
}

function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}
