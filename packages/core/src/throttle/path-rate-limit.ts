import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { wrongOption } from '../options.ts';
import { addressOf } from './ip-rate-limit.ts';
import { RateLimitRule, type RateLimitRuleOptions } from './rate-limit-rule.ts';

/** The options of a path rule, beside its count and window. */
export interface PathRateLimitOptions extends RateLimitRuleOptions {
  /**
   * The routes that it counts, by the path they were registered with: `/api/products/:pk`, a rest as `*`
   * (`/api/auth/*`), a method in front if only that one counts (`POST /api/auth/login`; GET brings HEAD along). All of
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
    return this.#matches(request.method, route) ? address : undefined;
  }

  override get label(): string {
    return this.path === undefined ? super.label : `${super.label} ${this.path}`;
  }
}

function matcher(owner: string, pattern: string): (method: string, route: string) => boolean {
  const parts = PATTERN.exec(pattern);
  if (parts === null) {
    throw wrongOption(owner, 'path', 'a path such as /api/auth/*, with or without a method in front', pattern);
  }
  const [, method, path, rest] = parts as unknown as [string, string | undefined, string, string];
  const isMethod = (came: string): boolean =>
    method === undefined || came === method || (method === 'GET' && came === 'HEAD');
  const wanted = withoutSlash(path);
  if (rest === '') return (came, route) => isMethod(came) && withoutSlash(route) === wanted;
  return (came, route) => isMethod(came) && (route.startsWith(path) || route === wanted);
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
