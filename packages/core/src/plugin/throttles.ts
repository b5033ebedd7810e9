import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { type Awaitable, isYes } from '../support/awaitable.ts';
import { TooManyRequests } from '../errors/errors.ts';
import type { RuleListFactory } from '../routes/declared-routes.ts';
import { MemoryStore } from '../stores/memory-store.ts';
import { PathRateLimit } from '../throttle/built-in-rules.ts';
import type { RateLimitRule } from '../throttle/rate-limit-rule.ts';
import { RequestLimiter, RuleList } from '../throttle/request-limiter.ts';
import { partOf } from '../view/write/request-part.ts';
import type { ResolvedOptions } from './options.ts';

/**
 * The throttles of an application. A route must obey the rules of the application and of its view. Rules on users run
 * after authentication. Rules on addresses run in the application's first hook.
 */
export class Throttles {
  readonly #app: FastifyInstance;
  /** The application's store, or one of this process. */
  readonly store: NonNullable<ResolvedOptions['store']>;
  readonly #common: RuleList;
  readonly #limiters = new Map<string, RequestLimiter>();
  /** The path rules that match no route so far, each with the declaration that contains it. */
  readonly #idle = new Map<PathRateLimit, string>();

  constructor(app: FastifyInstance, { store, throttles, throttleRate }: ResolvedOptions) {
    this.#app = app;
    this.store = store ?? memoryStoreOf(app);
    this.#common = new RequestLimiter({ rules: throttles, store: this.store, log: app.log });
    app.addHook('onRoute', (route) => addUserThrottle(route, this.#common, throttleRate));
    this.#watchPaths(throttles, 'option "throttles"');
    app.addHook('onRoute', (route) => this.#markUsed(route));
    app.addHook('onReady', async () => {
      for (const [{ path }, place] of this.#idle) {
        app.log.warn({ path }, `viewset: no route has the path "${path}" of a rule of ${place}`);
      }
    });
  }

  /** Makes the rules for one route of a view. Their scopes are the same in every process. */
  readonly makeRules: RuleListFactory = (declared) => {
    const limited = declared.filter(({ rules }) => rules.length > 0);
    if (limited.length === 0) return this.#common;
    const limiters = limited.map(({ scope, rules }) => {
      if (!this.#limiters.has(scope)) this.#watchPaths(rules, `"throttles" of ${scope}`);
      const limiter =
        this.#limiters.get(scope) ?? new RequestLimiter({ scope, rules, store: this.store, log: this.#app.log });
      this.#limiters.set(scope, limiter);
      return limiter;
    });
    return RuleList.combine([this.#common, ...limiters]);
  };

  /** Applies the address rules of a request's route. Throws TooManyRequests. */
  askAddress({ viewset }: FastifyContextConfig, request: FastifyRequest, reply: FastifyReply): Awaitable<void> {
    if (request.is404) return;
    return (viewset?.rules ?? this.#common).check('address', request, reply);
  }

  /**
   * Remembers path rules until a route matches. At start, unmatched rules get a warning: they count nothing, and the
   * path that they should protect is open.
   */
  #watchPaths(rules: readonly RateLimitRule[], place: string): void {
    for (const rule of rules) if (rule instanceof PathRateLimit) this.#idle.set(rule, place);
  }

  #markUsed({ method, url, config }: RouteOptions): void {
    const { path = url, rules = this.#common } = config?.viewset ?? {};
    for (const rule of this.#idle.keys()) {
      const isUsed = rules.includes(rule) && [method].flat().some((each) => rule.covers(each, path));
      if (isUsed) this.#idle.delete(rule);
    }
  }
}

function memoryStoreOf(app: FastifyInstance): MemoryStore {
  const store = new MemoryStore();
  app.addHook('onClose', async () => store.close());
  return store;
}

function addUserThrottle(route: RouteOptions, common: RuleList, throttleRate: ResolvedOptions['throttleRate']): void {
  const rules = route.config?.viewset?.rules ?? common;
  if (route.config?.throttle === false || (!rules.has('user') && throttleRate === undefined)) return;
  const others = route.onRequest === undefined ? [] : [route.onRequest].flat();
  const throttle = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (partOf(request)?.isCounted === false) return;
    await rules.check('user', request, reply);
    if (throttleRate !== undefined && !isYes(await throttleRate(request))) throw new TooManyRequests(1);
  };
  route.onRequest = [throttle, ...others];
}
