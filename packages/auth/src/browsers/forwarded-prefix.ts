import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';

const PREFIX = /^(?:\/[\w.~-]+)+$/;
const MAX_LENGTH = 200;
/** An address of the documentation (RFC 5737), which no client has. */
const PROBE = '192.0.2.1';

/**
 * Returns a path of this server as the browser sees it: behind the prefix that a proxy has taken off and sends in
 * `X-Forwarded-Prefix`. The header counts only from a proxy that `trustProxy` trusts.
 */
export function publicPath(request: FastifyRequest, path: string): string {
  const given = request.headers['x-forwarded-prefix'];
  if (typeof given !== 'string' || !isFromTrustedProxy(request)) return path;
  const prefix = given.trim().replace(/\/$/, '');
  const isPath = PREFIX.test(prefix) && prefix.length <= MAX_LENGTH && !/\/\.\.?(?:\/|$)/.test(prefix);
  return isPath ? prefix + path : path;
}

/** Asks Fastify how it would read a forwarding header of this connection. */
function isFromTrustedProxy(request: FastifyRequest): boolean {
  const raw = { socket: request.raw.socket, headers: { 'x-forwarded-for': PROBE } } as unknown as IncomingMessage;
  const probe = Object.create(request, { raw: { value: raw } }) as FastifyRequest;
  return (probe.ips?.length ?? 0) > 1;
}
