import { Forbidden, isOrigin } from '@viewset/core';
import type { FastifyRequest } from 'fastify';

/**
 * Throws Forbidden unless one of our own pages sent the request, because browsers also send the cookie with requests of
 * other sites' pages. `Sec-Fetch-Site` comes from the browser, whatever proxies do to the host. Without it, `Origin`
 * must name the requested host.
 *
 * @param others additional origins that count as our own
 */
export function requireSameOrigin(request: FastifyRequest, others: ReadonlySet<string>): void {
  if (isSameOriginRequest(request, others)) return;
  throw new Forbidden('The request does not come from a page of this server', { event: 'auth.origin_refused' });
}

/** True if one of our own pages sent the request. */
export function isSameOriginRequest(request: FastifyRequest, others: ReadonlySet<string>): boolean {
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (origin !== undefined && others.has(origin)) return true;
  return site === undefined ? isSameOrigin(request, origin) : site === 'same-origin';
}

function isSameOrigin({ protocol, host }: FastifyRequest, origin: string | undefined): boolean {
  if (origin === undefined || !isOrigin(origin)) return false;
  const { protocol: scheme, host: from } = new URL(origin);
  // A proxy that is not trusted may have taken the TLS off.
  return from === withoutDefaultPort(host, scheme) && (protocol === 'http' || scheme === 'https:');
}

/** A browser leaves the usual port of a scheme out of an origin, a client may name it in the host. */
function withoutDefaultPort(host: string, scheme: string): string {
  const address = `${scheme}//${host}`;
  return URL.canParse(address) ? new URL(address).host : host;
}
