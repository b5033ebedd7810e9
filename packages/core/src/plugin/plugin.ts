import type { EntityManager, MikroORM } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import type { TSchema } from 'typebox';
import type { ErrorFormat } from '../errors/error-format.ts';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { healthRoutes } from '../health/health-routes.ts';
import { limitExports } from '../features/exports/export-slots.ts';
import type { LiveSupport } from '../features/live/live-list.ts';
import { HealthRegistry } from '../health/health-registry.ts';
import type { Store } from '../stores/store.ts';
import { refuseLateOptions } from '../router/options-route.ts';
import { matchesCase } from '../router/allowed-methods.ts';
import { RouteNames } from '../router/route-names.ts';
import { warnOfUnmountedRouters } from '../router/unmounted-routers.ts';
import { templateOf } from '../http/path-template.ts';
import { admitsSender } from '../view/request/permission-check.ts';
import { ReservedKeys } from '../view/records/reserved-keys.ts';
import type { ShownRecords } from '../view/records/shown-records.ts';
import { BUILT_IN_FEATURES } from '../features/built-in.ts';
import { Features } from '../view/setup/features.ts';
import { MODEL_VIEWSET_RULES } from '../view/setup/model-viewset-options.ts';
import type { ViewDefaults } from '../view/setup/view-defaults.ts';
import type { OperationPlan } from '../routes/operation-plan.ts';
import { routeResponses } from '../routes/operation-responses.ts';
import type { RuleListFactory } from '../routes/declared-routes.ts';
import { readShapeOf, writeShapeOf } from '../routes/permitted-operations.ts';
import type { PlannedRoute } from '../routes/plan-view.ts';
import { warnOfMissingTables } from './check-tables.ts';
import { admitRequests } from './admission.ts';
import type { RateLimitRule } from '../throttle/rate-limit-rule.ts';
import { errorHandler } from './error-handler.ts';
import { closeGracefully } from './graceful-close.ts';
import { findBackend } from '../query/backend-of.ts';
import { hearTransactions } from '../mikro/transaction-ends.ts';
import { respondNotFound } from './not-found.ts';
import { decorateRequests } from './request-decorators.ts';
import { serializeBySchema } from '../schema/scope-serializers.ts';
import { resolveOptions, type ViewsetOptions } from './options.ts';
import { Throttles } from './throttles.ts';
import { requireTenants } from '../tenants/tenant.ts';
import { refuseUnflushed } from './unflushed-requests.ts';

/** The API of the plugin for an application, as `app.viewset`. */
export interface ViewsetInstance {
  readonly orm: MikroORM;
  readonly defaults: ViewDefaults;
  /** The rules of the `throttles` option, which apply to every route. */
  readonly throttles: readonly RateLimitRule[];
  /**
   * The option `checkTables`, or its default. If it is true, plugins may check their own records after the application
   * listens.
   */
  readonly checkTables: boolean;
  /** The plans of all routers' routes, in the order of their registration. */
  readonly operations: readonly OperationPlan[];
  /** The names of all routers' routes. */
  readonly routeNames: RouteNames;
  /**
   * Adds a feature: an option of views, as the plugin's option `features` does. A plugin calls it before the routers are
   * registered.
   *
   * @throws ImproperlyConfigured for something else than a feature, and if another feature has the option
   */
  readonly addFeature: Features['add'];
  /** Support for plugins with long-lasting answers. */
  readonly live: LiveSupport;
  /**
   * Lists the responses of a route without a view, by status, for documents. It returns the responses that the route's
   * schema declares, without their schemas, and the errors that the library sends. Both come with their headers.
   */
  readonly responsesOf: (route: RouteOptions) => OperationPlan['responses'];
  /** Makes the `response` of a route's schema for errors with these statuses, in the format of `formatError`. */
  readonly errorResponses: (statuses: readonly number[]) => Readonly<Record<number, TSchema>>;
  /**
   * Reports whether an operation may admit the sender of a request, before its record, query string and body are known.
   * False if it needs a token and nobody is logged in, or if its permission classes refuse this user. True guarantees
   * nothing, because the request itself is checked again.
   */
  readonly admitsSender: (request: FastifyRequest, plan: OperationPlan) => Promise<boolean>;
  /**
   * Returns the entry of `plan.writeShapes` that the view chooses for the sender of a request, before its record, query
   * string and body are known. Undefined if there is no choice, or if it depends on these. Call it only for an
   * operation that admits the sender.
   */
  readonly writeShapeOf: (request: FastifyRequest, plan: OperationPlan) => Promise<string | undefined>;
  /** Returns the entry of `plan.readShapes` that the view chooses for the sender of a request, as `writeShapeOf` does. */
  readonly readShapeOf: (request: FastifyRequest, plan: OperationPlan) => Promise<string | undefined>;
  /** @internal */
  readonly plannedRoutes: readonly PlannedRoute[];
  /** @internal */
  readonly addRoute: (route: PlannedRoute) => void;
  /** @internal */
  readonly features: Features;
  /** @internal */
  readonly shownViews: ShownRecords[];
  /** @internal */
  readonly reservedKeys: ReservedKeys;
  /** @internal */
  readonly makeRules: RuleListFactory;
  /** The store of the `store` option, or a MemoryStore of this process. Other plugins may count and store in it. */
  readonly store: Store;
}

// Declared in this file, because the published types lead from index.ts to it.
declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The entity manager of the request. It is forked on first use, unless the application has set one. Within
     * `em.transactional()` it is the transaction's entity manager.
     */
    em: EntityManager;
    /**
     * The entity manager for reading rows: the transaction's within `em.transactional()`, else `em` if it exists, else
     * the ORM's global one.
     */
    readonly reader: EntityManager;
    /** True for a request that may write. Its views read the last committed state, so they use no replica. */
    readonly readsPrimary: boolean;
  }
  interface FastifyInstance {
    readonly viewset: ViewsetInstance;
  }
}

/**
 * The Fastify plugin that every viewset needs. It adds `request.em` and `request.user`, one format for all errors, 405
 * and OPTIONS, throttling and health routes. Register it before `auth` and the routers.
 *
 * It applies to the scope in which you register it. On the root instance that is the whole application. In a scope with
 * a prefix, it handles requests below the prefix, including their errors and unknown paths. An application may register
 * it in several scopes, one for each MikroORM; docs/existing-application.md has an example.
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
    const checkTables = checkOnListen(app, given);
    if (options.errorHandler) explainDuplicateHandler('errorHandler', () => app.setErrorHandler(errorHandler));
    if (options.notFoundHandler) explainDuplicateHandler('notFoundHandler', () => respondNotFound(app));
    const throttles = new Throttles(app, options);
    admitRequests(app, options, throttles);
    refuseUnflushed(app);
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
    const live: LiveSupport = { identify: new Set() };
    const features = new Features(Object.keys(MODEL_VIEWSET_RULES), BUILT_IN_FEATURES);
    for (const feature of options.features) features.add(feature);
    refuseLateOptions(app, plannedRoutes);
    const responsesOf = (route: RouteOptions): OperationPlan['responses'] =>
      routeResponses(route, throttles.makeRules([]), defaults);
    app.decorate(
      'viewset',
      Object.freeze({
        orm,
        defaults,
        checkTables,
        throttles: options.throttles,
        operations,
        routeNames,
        responsesOf,
        errorResponses: errorResponsesIn(defaults.errorFormat),
        ...senderFunctions(routeOf),
        plannedRoutes,
        addRoute,
        addFeature: features.add,
        features,
        live,
        shownViews: [],
        reservedKeys: reserveKeys(app, operations),
        makeRules: throttles.makeRules,
        store: throttles.store,
      }),
    );
    if (health !== false) await addHealth(app, health ?? new HealthRegistry(), healthPath);
    closeGracefully(app, options.closeTimeoutMs);
  },
  { name: '@viewset/core', fastify: '5.x' },
);

/** The functions that depend on the sender of a request alone. They know only the routes of the application's routers. */
function senderFunctions(
  routeOf: ReadonlyMap<OperationPlan, PlannedRoute>,
): Pick<ViewsetInstance, 'admitsSender' | 'readShapeOf' | 'writeShapeOf'> {
  const forRoute =
    <Result>(of: (route: PlannedRoute, request: FastifyRequest) => Promise<Result>, unknown: Result) =>
    async (request: FastifyRequest, plan: OperationPlan): Promise<Result> => {
      const route = routeOf.get(plan);
      return route === undefined ? unknown : of(route, request);
    };
  return {
    admitsSender: forRoute(admitsSender, false),
    readShapeOf: forRoute(readShapeOf, undefined),
    writeShapeOf: forRoute(writeShapeOf, undefined),
  };
}

async function addHealth(app: FastifyInstance, registry: HealthRegistry, path: string | undefined): Promise<void> {
  await app.register(async (scope) => {
    serializeBySchema(scope);
    healthRoutes(scope, registry, path);
  });
}

/** Finds the keys that records must not have, once all routes are registered. */
function reserveKeys(app: FastifyInstance, operations: readonly OperationPlan[]): ReservedKeys {
  const reserved = new ReservedKeys();
  const paths = new Set<string>();
  app.addHook('onRoute', ({ url }) => {
    paths.add(templateOf(url));
  });
  app.addHook('onReady', (done) => {
    const { orm } = app.viewset;
    const records = operations.flatMap(({ path, detail, view: { entity, key } }) => {
      if (entity === undefined || key === undefined || !detail || !path.includes('/:pk')) return [];
      return { meta: orm.getMetadata().getByClassName(entity), key, path };
    });
    reserved.collect(records, paths, matchesCase(app));
    done();
  });
  return reserved;
}

function errorResponsesIn(format: ErrorFormat): ViewsetInstance['errorResponses'] {
  return (statuses) =>
    Object.fromEntries(
      statuses.flatMap((status) => format.statusesFor(status)).map((status) => [status, format.schema]),
    );
}

/** Adds the checks that run after the application listens. Returns whether they read the database. */
function checkOnListen(app: FastifyInstance, { orm, checkTables = isDevelopment() }: ViewsetOptions): boolean {
  if (checkTables) warnOfMissingTables(app, orm);
  if (isDevelopment()) warnOfUnmountedRouters(app);
  return checkTables;
}

/** Reports whether the process is neither in production nor a test. */
function isDevelopment(): boolean {
  const { NODE_ENV, NODE_TEST_CONTEXT } = process.env;
  return NODE_ENV !== 'production' && NODE_ENV !== 'test' && NODE_TEST_CONTEXT === undefined;
}

/** If no backend supports an ORM, only the views reject it. */
async function startDatabase(app: FastifyInstance, orm: MikroORM): Promise<void> {
  requireTenants(
    app,
    app.viewset.operations.flatMap(({ view }) => view.entity ?? []),
  );
  const warn = (message: string, details: object): void => app.log.warn(details, message);
  const warnings = (await findBackend(orm.em)?.start(orm, warn)) ?? [];
  for (const { message, details } of warnings) warn(message, details);
  const searches = new Set(app.viewset.operations.flatMap(({ list }) => list?.target.search ?? []));
  for (const search of searches) await search.check?.();
}

/** Names the option in the error, for an application that already has a handler in the same scope. */
function explainDuplicateHandler(option: 'errorHandler' | 'notFoundHandler', set: () => void): void {
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
