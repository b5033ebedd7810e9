import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify';
import { ImproperlyConfigured } from '../errors.ts';
import { templateFiller, templateOf, templateParameters, unnamed } from '../path-template.ts';
import { type PermittedAt, permittedOperations } from '../operations/permitted-operations.ts';
import type { PlannedRoute } from '../operations/plan-view.ts';
import { stateOf } from '../viewset/request/request-state.ts';
import { allowedMethods, pathOf, sendAllowed } from './allowed-methods.ts';

/** The place of routes: their path as it is documented, and as Fastify matches it. */
interface Place {
  readonly path: string;
  readonly pattern: string;
}

/**
 * Tells if a path has an OPTIONS route, whatever that calls its parameters and lets them match. One with a wildcard is of another path.
 *
 * @param pattern the path as Fastify matches it
 */
export function hasOptions(app: FastifyInstance, pattern: string): boolean {
  const template = templateOf(pattern);
  const found = app.findRoute({ method: 'OPTIONS', url: templateFiller(template)(() => 0) });
  if (found === null || '*' in found.params) return false;
  return Object.keys(found.params).length === templateParameters(template).length;
}

/**
 * Makes the OPTIONS route of a path with operations: 204, `Allow` as any path has it, and what the person who asks may do there, in
 * `Permitted-Methods` and `Permitted-Operations`. `Permitted-Shapes` says by which write shapes, where a view chooses one:
 * `createBook=staff`. A preflight request is nobody's, and is told `Allow` alone.
 */
export function optionsRoute(app: FastifyInstance, { path, pattern }: Place): RouteOptions {
  const { plannedRoutes, makeRules } = app.viewset;
  let permitted: PermittedAt | undefined;
  return {
    method: 'OPTIONS',
    url: pattern,
    // No operation of documents.
    schema: { hide: true } as FastifySchema,
    config: { public: true, identifies: true },
    // Before the body, of which nothing is asked.
    onRequest: async (request, reply) => {
      // A token that was not good has made nobody of the sender.
      const { challenge } = request;
      if (typeof challenge === 'string') void reply.header('www-authenticate', challenge);
      const url = pathOf(request.raw.url ?? '/');
      const allowed = allowedMethods(app, url);
      if (request.headers['access-control-request-method'] === undefined) {
        // Other routers may be registered after this one; by now they are.
        permitted ??= permittedOperations(path, plannedRoutes, makeRules([]));
        stateOf(request).reply = reply;
        const { methods, operationIds, writeShapes } = await permitted(request, reply, url);
        const hasMethod = (method: string): boolean =>
          method === 'OPTIONS' || methods.has(method === 'HEAD' ? 'GET' : method);
        void reply
          .header('permitted-methods', allowed.filter(hasMethod).join(', '))
          .header('permitted-operations', operationIds.join(', '));
        const shapes = writeShapes.map(([id, shape]) => `${id}=${encodeURIComponent(shape)}`);
        if (shapes.length > 0) void reply.header('permitted-shapes', shapes.join(', '));
      }
      return sendAllowed(reply, allowed);
    },
    handler: () => undefined,
  };
}

/**
 * Has the start of an application say, in the place of Fastify's word for a route that is there twice, that its own OPTIONS route comes too
 * late: Fastify takes none away, and none once it has started. Only a path of a view is looked at.
 *
 * @throws ImproperlyConfigured from the registration of the route
 */
export function refuseLateOptions(app: FastifyInstance, planned: readonly PlannedRoute[]): void {
  app.addHook('onRoute', ({ method, url, constraints = {} }) => {
    if (![method].flat().includes('OPTIONS')) return;
    // A route for some hosts alone stands beside that of all.
    if (Object.keys(constraints).length > 0 || !hasOptions(app, url)) return;
    const path = unnamed(templateOf(url)).replace(/(?<=.)\/$/, '');
    if (!planned.some(({ plan }) => unnamed(plan.path) === path)) return;
    throw new ImproperlyConfigured(
      `OPTIONS ${url} already has a route; a router adds one to each of its paths without one, so register yours before the router`,
    );
  });
}
