import type { FastifyRequest } from 'fastify';
import { getCurrentUser } from '../current-user.ts';
import { RateLimitRule, type RateLimitPhase } from './rate-limit-rule.ts';

/**
 * Counts the requests of each logged-in user, wherever they come from. Does not apply while nobody is logged in: put an
 * `IPRateLimit` beside it for those.
 *
 * @example
 * new UserRateLimit(1000, 60);
 */
export class UserRateLimit extends RateLimitRule {
  override readonly phase: RateLimitPhase = 'user';

  key(request: FastifyRequest): string | undefined {
    const user = getCurrentUser(request);
    return user === null ? undefined : String(user.id);
  }
}
