import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { hash } from 'node:crypto';
import { getCurrentUser } from '../http/current-user.ts';
import { wrongOption } from '../errors/options.ts';
import { clientNetwork } from './client-address.ts';
import { type RateLimitPhase, RateLimitRule, type RateLimitRuleOptions } from './rate-limit-rule.ts';

/**
 * Counts the requests of each client address, IPv6 by /64. The address is Fastify's `request.ip`. Behind a proxy set `trustProxy`, or all
 * clients share one counter.
 *
 * @example
 * new IPRateLimit(100, 60);   // 100 a minute: the 101st is 429 until the first is a minute old
 */
export class IPRateLimit extends RateLimitRule {
  key(request: FastifyRequest): string | undefined {
    return clientNetwork(request);
  }
}

/**
 * Counts the requests of each logged-in user, from any address. It skips anonymous requests: add an `IPRateLimit` for them.
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

/** The options of a header rule, besides its count and window. */
export interface HeaderRateLimitOptions extends RateLimitRuleOptions {
  /** The header whose value identifies clients, in any case: `X-API-Key`. */
  readonly header: string;
}

/** A valid field name: the token of RFC 9110, section 5.6.2. */
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Counts the requests with each value of a header. It skips requests without the header, and clients that invent values escape it, so add
 * an `IPRateLimit`. Values are kept only as their SHA-256.
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

/** The options of a path rule, besides its count and window. */
export interface PathRateLimitOptions extends RateLimitRuleOptions {
  /**
   * The routes to count, by their registered paths: `/api/products/:pk`. `*` at the end matches any rest (`/api/auth/*`). A method in front
   * counts only that method (`POST /api/auth/login`; GET includes HEAD and QUERY). All these routes share one counter per client. Default:
   * every route, each with its own counter.
   */
  readonly path?: string;
}

const PATTERN = /^(?:([A-Z]+) )?(\/[^*\s]*)(\*?)$/;

/**
 * Counts the requests of each client address to some paths. A path is the registered path of a route, so no spelling of
 * a URL escapes the rule. A client has at most one counter for each route.
 *
 * Throws ImproperlyConfigured for a malformed path.
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
    // For a view's route, use its template: Fastify's own pattern contains expressions that no rule spells.
    const { url, config } = request.routeOptions as { url?: string; config?: FastifyContextConfig };
    const route = config?.viewset?.path ?? url;
    const address = clientNetwork(request);
    if (route === undefined || address === undefined) return undefined;
    if (this.#matches === undefined) return `${address} ${withoutSlash(route)}`;
    return this.covers(request.method, route) ? address : undefined;
  }

  /** Reports whether the rule counts requests to a route, by its registered path. */
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
