import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { templateFiller, templateOf, templateParameters, unnamed } from '../http/path-template.ts';
import { type PermittedAt, permittedOperations } from '../routes/permitted-operations.ts';
import type { PlannedRoute } from '../routes/plan-view.ts';
import { stateOf } from '../view/request/request-state.ts';
import { allowedMethods, pathOf, sendAllowed } from './allowed-methods.ts';

/** The path of routes: as it is documented, and as Fastify matches it. */
interface Place {
  readonly path: string;
  readonly pattern: string;
}

/**
 * Reports whether a path has an OPTIONS route, whatever the names and expressions of its parameters. A wildcard route
 * does not count.
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
 * Makes the OPTIONS route of a path with operations. It responds with 204 and `Allow`. `Permitted-Methods` and
 * `Permitted-Operations` list what the sender may do. If a view chooses write shapes, `Permitted-Shapes` lists them:
 * `createBook=staff`. A preflight request has no user, so it gets only `Allow`.
 */
export function optionsRoute(app: FastifyInstance, { path, pattern }: Place): RouteOptions {
  const { plannedRoutes, makeRules } = app.viewset;
  let permitted: PermittedAt | undefined;
  return {
    method: 'OPTIONS',
    url: pattern,
    // Not an operation in documents.
    schema: { hide: true } as FastifySchema,
    config: { public: true, identifies: true },
    // Answered before the body is read, because the body does not matter.
    onRequest: async (request, reply) => {
      // A sender with a bad token is anonymous.
      const { challenge } = request;
      if (typeof challenge === 'string') void reply.header('www-authenticate', challenge);
      const url = pathOf(request.raw.url ?? '/');
      const allowed = allowedMethods(app, url);
      if (request.headers['access-control-request-method'] === undefined) {
        // Computed on the first request, because other routers may be registered after this one.
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
 * Makes the registration of an application's OPTIONS route fail if it comes after the router's. The message explains
 * the mistake better than Fastify's error about a duplicate route. Fastify cannot remove routes, nor add any after the
 * start. Only the paths of views are checked.
 *
 * @throws ImproperlyConfigured from the registration of the route
 */
export function refuseLateOptions(app: FastifyInstance, planned: readonly PlannedRoute[]): void {
  app.addHook('onRoute', ({ method, url, constraints = {} }) => {
    if (![method].flat().includes('OPTIONS')) return;
    // A route for certain hosts only does not conflict with the route for all hosts.
    if (Object.keys(constraints).length > 0 || !hasOptions(app, url)) return;
    const path = unnamed(templateOf(url)).replace(/(?<=.)\/$/, '');
    if (!planned.some(({ plan }) => unnamed(plan.path) === path)) return;
    throw new ImproperlyConfigured(
      `OPTIONS ${url} already has a route; a router adds one to each of its paths without one, so register yours before the router`,
    );
  });
}
