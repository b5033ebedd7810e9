import type { FastifyInstance, FastifyReply } from 'fastify';
import { ROUTE_METHODS } from '../http/methods.ts';

/** Lists the methods of a path, in the order of `ROUTE_METHODS`, OPTIONS last. Empty for an unknown path. */
export function allowedMethods(app: FastifyInstance, path: string): string[] {
  const allowed: string[] = ROUTE_METHODS.filter((method) => app.findRoute({ method, url: path }) !== null);
  return allowed.length === 0 ? allowed : [...allowed, 'OPTIONS'];
}

/** Answers OPTIONS with the methods of the resource, the same for every client. */
export function sendAllowed(reply: FastifyReply, allowed: readonly string[]): FastifyReply {
  // RFC 10008: the media types of queries that the resource accepts.
  if (allowed.includes('QUERY')) void reply.header('accept-query', 'application/json');
  return reply.code(204).header('allow', allowed.join(', ')).send();
}

/** Returns the path of a URL, not decoded. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

/** Reports whether an application's routes treat `/a/` and `/a` as one path. */
export function ignoresTrailingSlash({ initialConfig }: FastifyInstance): boolean {
  const { routerOptions, ignoreTrailingSlash } = initialConfig;
  return routerOptions?.ignoreTrailingSlash ?? ignoreTrailingSlash ?? false;
}

/** Reports whether an application's routes match paths in their exact case. */
export function matchesCase({ initialConfig }: FastifyInstance): boolean {
  const { routerOptions, caseSensitive } = initialConfig;
  return routerOptions?.caseSensitive ?? caseSensitive ?? true;
}
