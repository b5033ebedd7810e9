import type { EntityManager, MikroORM } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import type { TSchema } from 'typebox';
import type { ErrorFormat } from '../error-format.ts';
import { ImproperlyConfigured } from '../errors.ts';
import { healthRoutes } from '../health/health-routes.ts';
import { limitExports } from '../exports/export-slots.ts';
import type { LiveSupport } from '../live/live-list.ts';
import { HealthRegistry } from '../health/health-registry.ts';
import type { Store } from '../stores/store.ts';
import { refuseLateOptions } from '../router/options-route.ts';
import { RouteNames } from '../router/route-names.ts';
import { admitsSender } from '../viewset/request/sender-question.ts';
import type { ShownRecords } from '../viewset/visible/shown-records.ts';
import { Providers } from '../viewset/setup/providers.ts';
import type { ViewDefaults } from '../viewset/setup/view-definition.ts';
import type { OperationPlan } from '../operations/operation-plan.ts';
import { routeResponses } from '../operations/operation-responses.ts';
import type { RuleListFactory } from '../operations/declared-routes.ts';
import { writeShapeOf } from '../operations/permitted-operations.ts';
import type { PlannedRoute } from '../operations/plan-view.ts';
import { admitRequests } from './admission.ts';
import type { RateLimitRule } from '../throttle/rate-limit-rule.ts';
import { errorHandler } from './error-handler.ts';
import { findBackend } from '../query/backend-of.ts';
import { hearTransactions } from '../mikro/transaction-ends.ts';
import { answerNotFound } from './not-found.ts';
import { decorateRequests } from './request-decorators.ts';
import { resolveOptions, type ViewsetOptions } from './options.ts';
import { Throttles } from './throttles.ts';

/** The part of the plugin that an application reaches, as `app.viewset`. */
export interface ViewsetInstance {
  readonly orm: MikroORM;
  readonly defaults: ViewDefaults;
  /** The rules of the option `throttles`, which apply to every route. */
  readonly throttles: readonly RateLimitRule[];
  /** The plans of all routers' routes, in the order of their registration. */
  readonly operations: readonly OperationPlan[];
  /** The names of all routers' routes. */
  readonly routeNames: RouteNames;
  /**
   * Serves an option that views have: `emits`, `history` or `live`. A plugin calls it before the routers are registered.
   *
   * @throws ImproperlyConfigured if another plugin serves the option
   */
  readonly provide: Providers['provide'];
  /** What a plugin needs whose answers last. */
  readonly live: LiveSupport;
  /**
   * Lists the responses of a route that belongs to no view, by status, for documents. It has the responses that the route's schema
   * declares, without their schemas, and the errors that the library sends. Both come with their headers.
   */
  readonly responsesOf: (route: RouteOptions) => OperationPlan['responses'];
  /** Makes the `response` of a route's schema for errors with these statuses, in the format of `formatError`. */
  readonly errorResponses: (statuses: readonly number[]) => Readonly<Record<number, TSchema>>;
  /**
   * Tells if an operation may let the sender of a request in, before its record, query string and body are known. False if it needs a token
   * and nobody is logged in, or if its permission classes refuse this user. True is no promise: the request itself is judged again.
   */
  readonly admitsSender: (request: FastifyRequest, plan: OperationPlan) => Promise<boolean>;
  /**
   * Names the one of `plan.writeShapes` that the view chooses for the sender of a request, before its record, query string and body are known.
   * Undefined if there is no choice, or if it depends on these. Ask it of an operation that lets the sender in.
   */
  readonly writeShapeOf: (request: FastifyRequest, plan: OperationPlan) => Promise<string | undefined>;
  /** @internal */
  readonly plannedRoutes: readonly PlannedRoute[];
  /** @internal */
  readonly addRoute: (route: PlannedRoute) => void;
  /** @internal What `provide` was given. */
  readonly providers: Providers;
  /** @internal */
  readonly shownViews: ShownRecords[];
  /** @internal */
  readonly makeRules: RuleListFactory;
  /** @internal That of the option `store`, or this process's own. */
  readonly store: Store;
}

// Here and not beside the accessors: the published types lead from index.ts to this file.
declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The entity manager of the request. It is forked when it is first read, unless the application has set one. Within
     * `em.transactional()` it is that of the transaction.
     */
    em: EntityManager;
    /** The entity manager that rows are read with: `em` if it has been made, else the ORM's global one. */
    readonly reader: EntityManager;
    /** True for a request that may write. Its views read the last committed state, so they use no replica. */
    readonly readsPrimary: boolean;
  }
  interface FastifyInstance {
    readonly viewset: ViewsetInstance;
  }
}

/**
 * The Fastify plugin that every viewset needs. It adds `request.em` and `request.user`, one format for all errors, 405 and OPTIONS,
 * throttling and health routes. Register it before `auth` and the routers.
 *
 * It applies to the scope in which you register it. On the root instance that is the whole application. In a scope with a prefix, it is the
 * requests below the prefix, with their errors and unknown paths. An application may register it in several scopes, one for each MikroORM;
 * docs/existing-application.md has an example.
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
    if (app.hasDecorator('viewset')) {
      throw new ImproperlyConfigured(
        'viewset: this scope or an outer one already has the plugin; register each in its own scope',
      );
    }
    decorateRequests(app, options);
    hearTransactions(options.orm);
    app.addHook('onReady', () => startDatabase(app, options.orm));
    if (options.errorHandler) orSay('errorHandler', () => app.setErrorHandler(errorHandler));
    if (options.notFoundHandler) orSay('notFoundHandler', () => answerNotFound(app));
    const throttles = new Throttles(app, options);
    const freeSlot = admitRequests(app, options, throttles);
    limitExports(app, options.maxExports);
    const { orm, defaults, health, healthPath } = options;
    const operations: OperationPlan[] = [];
    const plannedRoutes: PlannedRoute[] = [];
    const routeOf = new Map<OperationPlan, PlannedRoute>();
    const addRoute = (route: PlannedRoute): void => {
      routeOf.set(route.plan, route);
      plannedRoutes.push(route);
      operations.push(route.plan);
    };
    const routeNames = new RouteNames();
    const live: LiveSupport = { identify: new Set(), freeSlot };
    const providers = new Providers();
    refuseLateOptions(app, plannedRoutes);
    const responsesOf = (route: RouteOptions): OperationPlan['responses'] =>
      routeResponses(route, throttles.makeRules([]), defaults);
    app.decorate(
      'viewset',
      Object.freeze({
        orm,
        defaults,
        throttles: options.throttles,
        operations,
        routeNames,
        responsesOf,
        errorResponses: errorResponsesIn(defaults.errorFormat),
        admitsSender: async (request: FastifyRequest, plan: OperationPlan) => {
          const route = routeOf.get(plan);
          return route !== undefined && admitsSender(route, request);
        },
        writeShapeOf: async (request: FastifyRequest, plan: OperationPlan) => {
          const route = routeOf.get(plan);
          return route && writeShapeOf(route, request);
        },
        plannedRoutes,
        addRoute,
        provide: providers.provide,
        providers,
        live,
        shownViews: [],
        makeRules: throttles.makeRules,
        store: throttles.store,
      }),
    );
    if (health !== false) healthRoutes(app, health ?? new HealthRegistry(), healthPath);
  },
  { name: '@viewset/core', fastify: '5.x' },
);

function errorResponsesIn(format: ErrorFormat): ViewsetInstance['errorResponses'] {
  return (statuses) =>
    Object.fromEntries(
      statuses.flatMap((status) => format.statusesFor(status)).map((status) => [status, format.schema]),
    );
}

/** An ORM that no backend serves is refused by the views alone. */
async function startDatabase(app: FastifyInstance, orm: MikroORM): Promise<void> {
  const warnings = (await findBackend(orm.em)?.start(orm)) ?? [];
  for (const { message, details } of warnings) app.log.warn(details, message);
  const searches = new Set(app.viewset.operations.flatMap(({ list }) => list?.target.search ?? []));
  for (const search of searches) await search.check?.();
}

/** Names the option for an application that has a handler of its own in the same scope. */
function orSay(option: 'errorHandler' | 'notFoundHandler', set: () => void): void {
  try {
    set();
  } catch (cause) {
    throw new ImproperlyConfigured(
      `viewset: this scope already has its own handler (${(cause as Error).message}); set option "${option}" to false ` +
        'to keep it, or register the plugin in a scope with a prefix',
      { cause },
    );
  }
}
