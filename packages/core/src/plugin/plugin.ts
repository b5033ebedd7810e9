import type { EntityManager, MikroORM } from '@mikro-orm/core';
import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import { TooManyRequests } from '../errors.ts';
import { healthRoutes } from '../health/health-routes.ts';
import { HealthRegistry } from '../health/health-registry.ts';
import { RouteNames } from '../router/route-names.ts';
import { MemoryStore } from '../stores/memory-store.ts';
import { RequestLimiter } from '../throttle/request-limiter.ts';
import { REQUEST_STATE } from '../viewset/request-state.ts';
import type { ViewDefaults } from '../viewset/view-context.ts';
import type { LimiterFactory } from '../viewset/view-routes.ts';
import { errorHandler } from './error-handler.ts';
import { notFoundHandler } from './not-found.ts';
import { type ResolvedOptions, resolveOptions, type ViewsetOptions } from './options.ts';

/** What the plugin keeps for its application, as `app.viewset`. */
export interface ViewsetInstance {
  readonly orm: MikroORM;
  readonly defaults: ViewDefaults;
  /** The names of all routers' routes. */
  readonly routeNames: RouteNames;
  /** @internal */
  readonly makeLimiter: LimiterFactory;
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly viewset: ViewsetInstance;
  }
  interface FastifyRequest {
    /** The request's own entity manager, forked when first read. */
    readonly em: EntityManager;
  }
}

/**
 * The Fastify plugin under every viewset: `request.em` and `request.user`, one shape for every error, 405 and OPTIONS,
 * throttling, health routes. Register it on the root instance, before `auth` and the routers.
 *
 * Throws ImproperlyConfigured for a wrong option.
 *
 * @example
 * const app = fastify(serverOptions({ logger: true }));
 * await app.register(viewset, { orm, throttles: [new IPRateLimit(100, 60)] });
 */
export const viewset = fp(
  async (app: FastifyInstance, given: ViewsetOptions): Promise<void> => {
    const options = resolveOptions(given);
    decorateRequests(app, options.orm);
    app.setErrorHandler(errorHandler);
    app.setNotFoundHandler(notFoundHandler);
    const makeLimiter = addThrottles(app, options);
    const { orm, defaults } = options;
    app.decorate('viewset', Object.freeze({ orm, defaults, routeNames: new RouteNames(), makeLimiter }));
    if (options.health !== false) healthRoutes(app, options.health ?? new HealthRegistry());
  },
  { name: '@viewset/core', fastify: '5.x' },
);

const ENTITY_MANAGER = Symbol('viewset.em');

function decorateRequests(app: FastifyInstance, orm: MikroORM): void {
  app.decorateRequest('user', null);
  app.decorateRequest(REQUEST_STATE, null);
  app.decorateRequest(ENTITY_MANAGER, null);
  app.decorateRequest('em', {
    getter(this: FastifyRequest & { [ENTITY_MANAGER]?: EntityManager | null }) {
      return (this[ENTITY_MANAGER] ??= orm.em.fork());
    },
  });
}

/**
 * Rules on addresses run before authentication, for the application and for the route alike; rules on users after it,
 * which is why they hang on each route. Where no rule of a kind exists, nothing is paid for it.
 */
function addThrottles(app: FastifyInstance, options: ResolvedOptions): LimiterFactory {
  const store = options.store ?? ownStore(app);
  const makeLimiter: LimiterFactory = (scope, rules) =>
    rules.length === 0 ? undefined : new RequestLimiter({ scope, rules, store, log: app.log });
  const limiter = makeLimiter('app', options.throttles);
  app.addHook('onRequest', addressThrottle(limiter));
  if (limiter?.has('user') || options.throttleRate !== undefined) {
    app.addHook('onRoute', (route) => prependUserThrottle(route, limiter, options.throttleRate));
  }
  return makeLimiter;
}

function ownStore(app: FastifyInstance): MemoryStore {
  const store = new MemoryStore();
  app.addHook('onClose', async () => store.close());
  return store;
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void;

function addressThrottle(limiter: RequestLimiter | undefined): Hook {
  return (request, reply, done) => {
    const { config } = request.routeOptions;
    if (request.is404 || config.throttle === false) return done();
    const limiters = config.viewset?.limiters ?? [];
    checkAll(limiter === undefined ? limiters : [limiter, ...limiters], 'address', request, reply).then(() => done(), done);
  };
}

async function checkAll(
  limiters: readonly RequestLimiter[],
  phase: 'address' | 'user',
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  for (const limiter of limiters) await limiter.check(phase, request, reply);
}

function prependUserThrottle(
  route: RouteOptions,
  limiter: RequestLimiter | undefined,
  throttleRate: ViewsetOptions['throttleRate'],
): void {
  if (route.config?.throttle === false) return;
  const own = route.onRequest === undefined ? [] : [route.onRequest].flat();
  const throttle = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    await limiter?.check('user', request, reply);
    if (throttleRate !== undefined && !(await throttleRate(request))) throw new TooManyRequests(1);
  };
  route.onRequest = [throttle, ...own];
}
