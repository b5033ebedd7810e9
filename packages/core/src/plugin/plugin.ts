import type { EntityManager, MikroORM } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { healthRoutes } from '../health/health-routes.ts';
import { HealthRegistry } from '../health/health-registry.ts';
import { RouteNames } from '../router/route-names.ts';
import { knownStateOf, REQUEST_STATE, stateOf } from '../viewset/request-state.ts';
import { transactionalManager } from '../viewset/transaction.ts';
import type { ViewDefaults } from '../viewset/view-definition.ts';
import type { RuleListFactory } from '../viewset/view-routes.ts';
import { admitRequests } from './admission.ts';
import { errorHandler } from './error-handler.ts';
import { releaseLostConnections } from '../mikro/lost-connections.ts';
import { answerNotFound } from './not-found.ts';
import { resolveOptions, type ViewsetOptions } from './options.ts';
import { addThrottles } from './throttles.ts';

/** What the plugin keeps for its application, as `app.viewset`. */
export interface ViewsetInstance {
  readonly orm: MikroORM;
  readonly defaults: ViewDefaults;
  /** The names of all routers' routes. */
  readonly routeNames: RouteNames;
  /** @internal */
  readonly makeRules: RuleListFactory;
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly viewset: ViewsetInstance;
  }
  interface FastifyRequest {
    /** The request's own entity manager, forked when first read; within `em.transactional()`, the transaction's. */
    readonly em: EntityManager;
    /** What rows are read with: `em` where it has been made, else the ORM's global entity manager. */
    readonly reader: EntityManager;
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
    app.addHook('onReady', () => releaseLostConnections(options.orm));
    app.setErrorHandler(errorHandler);
    answerNotFound(app);
    const { makeRules, address } = addThrottles(app, options);
    admitRequests(app, options, address);
    const { orm, defaults } = options;
    app.decorate('viewset', Object.freeze({ orm, defaults, routeNames: new RouteNames(), makeRules }));
    if (options.health !== false) healthRoutes(app, options.health ?? new HealthRegistry());
  },
  { name: '@viewset/core', fastify: '5.x' },
);

function decorateRequests(app: FastifyInstance, orm: MikroORM): void {
  app.decorateRequest(REQUEST_STATE, null);
  app.decorateRequest('user', {
    getter(this: FastifyRequest) {
      return knownStateOf(this)?.user ?? null;
    },
    setter(this: FastifyRequest, user) {
      stateOf(this).user = user;
    },
  });
  app.decorateRequest('challenge', {
    getter(this: FastifyRequest) {
      return knownStateOf(this)?.challenge ?? null;
    },
    setter(this: FastifyRequest, challenge) {
      stateOf(this).challenge = challenge;
    },
  });
  app.decorateRequest('em', {
    getter(this: FastifyRequest) {
      return transactionalManager(orm) ?? (stateOf(this).em ??= orm.em.fork());
    },
  });
  app.decorateRequest('reader', {
    getter(this: FastifyRequest) {
      return transactionalManager(orm) ?? knownStateOf(this)?.em ?? orm.em;
    },
  });
}
