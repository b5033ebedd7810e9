import type { FastifyRequest } from 'fastify';

/** The methods that a route may have, in the order of `Allow`. OPTIONS is answered for every path that has any of them. */
export const ROUTE_METHODS = ['GET', 'HEAD', 'QUERY', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The methods of requests that only read (RFC 9110, section 9.2.1; RFC 10008). */
export const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'QUERY', 'OPTIONS']);

const BODILESS_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** True if a request of this method may have a body that is read. */
export function mayHaveBody(method: string): boolean {
  return !BODILESS_METHODS.has(method);
}

/** True if any method of a route may have a body that is read. */
export function readsBody({ method }: { readonly method: string | readonly string[] }): boolean {
  return [method].flat().some(mayHaveBody);
}

/**
 * True if a request has content (RFC 9112, section 6.3), whose media type matters. The type of a QUERY always matters
 * (RFC 10008).
 */
export function sendsContent({ method, headers }: Pick<FastifyRequest, 'method' | 'headers'>): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = headers;
  return method === 'QUERY' || coding !== undefined || length !== '0';
}
