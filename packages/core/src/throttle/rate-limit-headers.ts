import type { FastifyReply } from 'fastify';
import type { Standing } from './counted-rule.ts';

const LIMIT = 'ratelimit-limit';
const REMAINING = 'ratelimit-remaining';
const RESET = 'ratelimit-reset';

/**
 * Writes the `RateLimit-*` headers of a rule, unless those of a rule closer to its limit stand there already: of one
 * with fewer requests remaining, or as few and a longer wait.
 */
export function writeRateLimit(reply: FastifyReply, { counted, result }: Standing): void {
  const resetSeconds = wholeSeconds(result.resetMs);
  const remaining = reply.getHeader(REMAINING);
  if (remaining !== undefined) {
    const difference = Number(remaining) - result.remaining;
    if (difference < 0 || (difference === 0 && Number(reply.getHeader(RESET)) >= resetSeconds)) return;
  }
  void reply.header(LIMIT, counted.rule.count);
  void reply.header(REMAINING, result.remaining);
  void reply.header(RESET, resetSeconds);
}

/**
 * How long a refused client has to wait, in whole seconds: what `RateLimit-Reset` says, so that the two agree. It is
 * longer than the refusing rule's own wait where this request used up the last unit of another.
 */
export function writtenResetSeconds(reply: FastifyReply): number {
  return Number(reply.getHeader(RESET));
}

/** Rounded up: waiting that long is enough. */
function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
