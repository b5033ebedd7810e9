import type { FastifyInstance, FastifyReply } from 'fastify';
import { ROUTE_METHODS } from '../methods.ts';

/** Lists the methods that a path answers to, in the order of `ROUTE_METHODS`, OPTIONS last; none for an unknown path. */
export function allowedMethods(app: FastifyInstance, path: string): string[] {
  const allowed: string[] = ROUTE_METHODS.filter((method) => app.findRoute({ method, url: path }) !== null);
  return allowed.length === 0 ? allowed : [...allowed, 'OPTIONS'];
}

/** Answers OPTIONS: the resource has these methods, whoever asks. */
export function sendAllowed(reply: FastifyReply, allowed: readonly string[]): FastifyReply {
  // RFC 10008: the media types of the queries that the resource takes.
  if (allowed.includes('QUERY')) void reply.header('accept-query', 'application/json');
  return reply.code(204).header('allow', allowed.join(', ')).send();
}

/** Returns the path of a URL as it stands in the request line. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

/** Tells if `/a/` and `/a` are one path to the routes of an application. */
export function ignoresTrailingSlash({ initialConfig }: FastifyInstance): boolean {
  const { routerOptions, ignoreTrailingSlash } = initialConfig;
  return routerOptions?.ignoreTrailingSlash ?? ignoreTrailingSlash ?? false;
}
