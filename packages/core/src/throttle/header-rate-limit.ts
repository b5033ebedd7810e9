import type { FastifyRequest } from 'fastify';
import { hash } from 'node:crypto';
import { wrongOption } from '../options.ts';
import { RateLimitRule, type RateLimitRuleOptions } from './rate-limit-rule.ts';

/** The options of a header rule, beside its count and window. */
export interface HeaderRateLimitOptions extends RateLimitRuleOptions {
  /** The header whose value tells clients apart, in any case: `X-API-Key`. */
  readonly header: string;
}

/** The token of RFC 9110, section 5.6.2: what a field name is made of. */
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Counts the requests with each value of a header. Does not apply to requests without it; a client that may make up
 * values escapes it, so put an `IPRateLimit` beside it. Values are kept as their SHA-256, never as they are.
 *
 * @example
 * new HeaderRateLimit(600, 60, { header: 'X-API-Key' });
 */
export class HeaderRateLimit extends RateLimitRule {
  static override readonly optionNames: readonly string[] = [...RateLimitRule.optionNames, 'header'];

  readonly header: string;

  constructor(count: number, windowSeconds: number, options: HeaderRateLimitOptions) {
    super(count, windowSeconds, options);
    const header: unknown = options?.header;
    if (typeof header !== 'string' || !FIELD_NAME.test(header)) {
      throw wrongOption(new.target.name, 'header', 'the name of a header', header);
    }
    this.header = header.toLowerCase();
  }

  key(request: FastifyRequest): string | undefined {
    const value = Object.hasOwn(request.headers, this.header) ? request.headers[this.header] : undefined;
    return value === undefined || value === '' ? undefined : hash('sha256', String(value), 'base64url');
  }

  override get label(): string {
    return `${super.label} ${this.header}`;
  }
}
