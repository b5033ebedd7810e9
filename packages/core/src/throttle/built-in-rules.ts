import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { hash } from 'node:crypto';
import { getCurrentUser } from '../current-user.ts';
import { wrongOption } from '../options.ts';
import { clientAddress } from './client-address.ts';
import { type RateLimitPhase, RateLimitRule, type RateLimitRuleOptions } from './rate-limit-rule.ts';

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
function addressOf(request: FastifyRequest): string | undefined {
  const ip = request.ip as string | undefined;
  return ip === undefined || ip === '' ? undefined : clientAddress(ip);
}

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

/** The options of a path rule, beside its count and window. */
export interface PathRateLimitOptions extends RateLimitRuleOptions {
  /**
   * The routes that it counts, by the path they were registered with: `/api/products/:pk`, a rest as `*`
   * (`/api/auth/*`), a method in front if only that one counts (`POST /api/auth/login`; GET brings HEAD and QUERY along). All of
   * them share one counter per client. Default: every route, each with a counter of its own.
   */
  readonly path?: string;
}

const PATTERN = /^(?:([A-Z]+) )?(\/[^*\s]*)(\*?)$/;

/**
 * Counts the requests of each client address to some paths. Paths are those of routes, as they were registered, so that
 * no spelling of a URL escapes and the counters of a client are no more than the routes.
 *
 * Throws ImproperlyConfigured for a path that is not one.
 *
 * @example
 * new PathRateLimit(10, 60, { path: 'POST /api/auth/login' });
 * new PathRateLimit(100, 60);   // 100 a minute to each route
 */
export class PathRateLimit extends RateLimitRule {
  static override readonly optionNames: readonly string[] = [...RateLimitRule.optionNames, 'path'];

  readonly path: string | undefined;
  readonly #matches: ((method: string, route: string) => boolean) | undefined;

  constructor(count: number, windowSeconds: number, options: PathRateLimitOptions = {}) {
    super(count, windowSeconds, options);
    this.path = options.path;
    this.#matches = this.path === undefined ? undefined : matcher(new.target.name, this.path);
  }

  key(request: FastifyRequest): string | undefined {
    // A view's route is known by its template: what Fastify matches has expressions that no client and no rule spells.
    const { url, config } = request.routeOptions as { url?: string; config?: FastifyContextConfig };
    const route = config?.viewset?.path ?? url;
    const address = addressOf(request);
    if (route === undefined || address === undefined) return undefined;
    if (this.#matches === undefined) return `${address} ${withoutSlash(route)}`;
    return this.covers(request.method, route) ? address : undefined;
  }

  /** True if the rule counts requests to a route, of which the path is the one that it was registered with. */
  covers(method: string, route: string): boolean {
    return this.#matches?.(method, route) ?? true;
  }

  override get label(): string {
    return this.path === undefined ? super.label : `${super.label} ${this.path}`;
  }
}

function matcher(owner: string, pattern: string): (method: string, route: string) => boolean {
  const [, method, path = '', rest] = (typeof pattern === 'string' ? PATTERN.exec(pattern) : null) ?? [];
  if (path === '') {
    throw wrongOption(owner, 'path', 'a path such as /api/auth/*, with or without a method in front', pattern);
  }
  const wanted = withoutSlash(path);
  const isMethod = (sent: string): boolean =>
    method === undefined || sent === method || (method === 'GET' && (sent === 'HEAD' || sent === 'QUERY'));
  const isPath = (route: string): boolean =>
    rest === '*' ? route.startsWith(path) || route === wanted : withoutSlash(route) === wanted;
  return (sent, route) => isMethod(sent) && isPath(route);
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
