import type { FastifyRequest } from 'fastify';
import { clientAddress } from './client-address.ts';
import { RateLimitRule } from './rate-limit-rule.ts';

/**
 * Counts the requests of each client address, IPv6 by /64. The address is Fastify's `request.ip`: behind a proxy set
 * `trustProxy`, or all clients are one.
 *
 * @example
 * new IPRateLimit(100, 60);   // 100 a minute: the 101st is 429 until the first is a minute old
 */
export class IPRateLimit extends RateLimitRule {
  key(request: FastifyRequest): string | undefined {
    return addressOf(request);
  }
}

/** Returns undefined if the connection is gone already, or has no address (a Unix socket without a proxy before it). */
export function addressOf(request: FastifyRequest): string | undefined {
  const ip = request.ip as string | undefined;
  return ip === undefined || ip === '' ? undefined : clientAddress(ip);
}
