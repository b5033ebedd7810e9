import type { OperationPlan } from '@viewset/core';
import type { FastifyInstance, RouteOptions } from 'fastify';

/**
 * Once the application listens, writes a table of the routes that are registered from now on: method, path, and who may
 * call. Call it before any plugin is registered.
 *
 * @example
 * const app = fastify();
 * printRoutes(app, (text) => process.stdout.write(text));
 */
export function printRoutes(app: FastifyInstance, write: (text: string) => unknown): void {
  const routes = collectRoutes(app);
  app.addHook('onListen', async () => void write(routeTable(routes)));
}

/** Returns a list that collects each route registered from now on. */
export function collectRoutes(app: FastifyInstance): readonly RouteOptions[] {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => void routes.push(route));
  return routes;
}

/** Formats routes as a table. */
export function routeTable(routes: readonly RouteOptions[]): string {
  const lines = new Map<string, readonly [method: string, path: string, who: string]>();
  for (const route of routes) {
    const { url, config, schema } = route;
    // Routes without a schema or with `hide`, such as the explorer's page, are not part of the API.
    if (schema === undefined || (schema as { readonly hide?: unknown }).hide === true) continue;
    const plan: OperationPlan | undefined = config?.viewset;
    const path = (plan?.path ?? url).replace(/(?<=.)\/$/, '');
    for (const method of [route.method].flat()) {
      if (method !== 'HEAD') lines.set(`${method} ${path}`, [method, path, whoMayCall(route, method)]);
    }
  }
  const width = Math.max(...[...lines.values()].map(([, path]) => path.length));
  const texts = [...lines.values()].map(
    ([method, path, who]) => `  ${method.padEnd(6)}  ${path.padEnd(width)}  ${who}`,
  );
  return `\n${texts.join('\n')}\n`;
}

/** Says who may call a route: the authentication's requirement, and permissions that require more. */
function whoMayCall({ config }: RouteOptions, method: string): string {
  const names = (config?.viewset?.permissions ?? []).flatMap(({ constructor: { name } }) => {
    const unlessRead = /^\(IsSafeMethodOnly or (.*)\)$/.exec(name)?.[1];
    return unlessRead !== undefined && method === 'GET' ? [] : [unlessRead ?? name];
  });
  const others = names.filter((name) => name !== 'IsAuthenticated');
  if (others.length > 0) return others.join(' and ');
  const needsToken = config?.needsToken === true || names.length > 0;
  return needsToken ? 'logged-in users' : 'anybody';
}
