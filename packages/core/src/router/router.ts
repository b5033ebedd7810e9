import type { FastifyInstance, RouteOptions } from 'fastify';
import { ImproperlyConfigured } from '../errors.ts';
import { checkOptionNames, wrongOption } from '../options.ts';
import { readJsonOnly } from './json-only.ts';
import { actionsOf } from '../viewset/action.ts';
import { OPERATIONS } from '../viewset/operations.ts';
import { DEFINE } from '../viewset/view-definition.ts';
import { viewRoutes } from '../viewset/view-routes.ts';
import { ViewSet } from '../viewset/viewset.ts';
import { prepareWrites, type WritePlan } from '../viewset/write-plan.ts';
import { RouteNames } from './route-names.ts';
import { shareSerializers } from './shared-serializers.ts';

/** What a router takes. */
export interface RouterOptions {
  /** In front of every path, without slashes at its ends: `api`, `api/v1`. Default: none. */
  readonly prefix?: string;
}

/** How a view is registered, besides its path. */
export interface RegisterOptions {
  /** First half of the routes' names. Default: the path, slashes as hyphens. */
  readonly basename?: string;
}

interface Registration {
  readonly path: string;
  readonly basename: string;
  readonly view: ViewSet;
}

/**
 * Mounts viewsets under paths. An application may have several routers; two routes of one method and path, or two paths
 * of one name, are refused with ImproperlyConfigured.
 *
 * @example
 * const router = new Router({ prefix: 'api' });
 * router.register('products', ProductViewSet);
 * await app.register(router.plugin);
 * router.reverse('products-detail', { pk: 7 });   // '/api/products/7'
 */
export class Router {
  readonly #prefix: string;
  readonly #registrations: Registration[] = [];
  readonly #names = new RouteNames();
  #mounted = false;

  constructor(options: RouterOptions = {}) {
    checkOptionNames('Router', options, ['prefix']);
    this.#prefix = options.prefix === undefined ? '' : checkPath('prefix', options.prefix);
  }

  /** Adds a view class under a path, `products` or `shops/products`. Call it before `plugin` is registered. */
  register(path: string, View: new () => ViewSet, options: RegisterOptions = {}): this {
    checkOptionNames('Router.register()', options, ['basename']);
    if (this.#mounted) throw new ImproperlyConfigured(`Router: "${path}" came after the router was mounted`);
    const checked = checkPath('path', path);
    const taken = this.#registrations.find((registration) => registration.path === checked);
    if (taken !== undefined) {
      throw new ImproperlyConfigured(
        `Router: path "${checked}" has ${taken.view.name} already, and cannot have ${View.name} too`,
      );
    }
    const view = typeof View === 'function' ? new View() : undefined;
    if (!(view instanceof ViewSet)) throw wrongOption('Router.register()', 'view', 'a ViewSet class', View);
    checkActionNames(view);
    this.#registrations.push({ path: checked, basename: options.basename ?? checked.replaceAll('/', '-'), view });
    return this;
  }

  /** The path of a route's name, once the router is mounted. */
  reverse(name: string, parameters?: Readonly<Record<string, string | number | bigint>>): string {
    return this.#names.reverse(name, parameters);
  }

  /** The Fastify plugin that mounts what was registered; needs the `viewset` plugin before it. */
  readonly plugin = async (app: FastifyInstance): Promise<void> => {
    if (!app.hasDecorator('viewset')) {
      throw new ImproperlyConfigured('Router: register the viewset plugin first: await app.register(viewset, { orm })');
    }
    if (this.#mounted) throw new ImproperlyConfigured('Router: a router can be mounted only once');
    this.#mounted = true;
    readJsonOnly(app);
    const shared = shareSerializers(app);
    const writes: WritePlan[] = [];
    for (const registration of this.#registrations) {
      for (const route of this.#bind(app, registration, writes)) addRoute(app, shared(route), registration.view);
    }
    app.addHook('onReady', () => prepareWrites(app.viewset.orm, writes, app.log));
  };

  /** The routes of a view at its place, their names taken. */
  #bind(app: FastifyInstance, { path, basename, view }: Registration, writes: WritePlan[]): RouteOptions[] {
    const { orm, defaults, makeRules, routeNames } = app.viewset;
    const full = [app.prefix, this.#prefix, path].filter((part) => part !== '').join('/');
    const context = {
      orm,
      defaults,
      path: full.startsWith('/') ? full : `/${full}`,
      ignoresTrailingSlash: ignoresTrailingSlash(app),
    };
    const definition = view[DEFINE](context);
    if (definition.writes !== undefined) writes.push(definition.writes);
    const routes = viewRoutes({ view, definition, basename, context, makeRules });
    for (const { config, url } of routes) {
      const name = config!.viewset!.route;
      const template = url.replace(/\(.*\)/, '');
      this.#names.add(name, template);
      routeNames.add(name, template);
    }
    return routes;
  }
}

function addRoute(app: FastifyInstance, route: RouteOptions, view: ViewSet): void {
  const url = route.url.slice(app.prefix.length);
  try {
    app.route({ ...route, url });
    if (!ignoresTrailingSlash(app)) app.route({ ...route, url: `${url}/` });
  } catch (error) {
    if ((error as { code?: string }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error;
    const methods = [route.method].flat().join(', ');
    throw new ImproperlyConfigured(`${view.name}: another route has ${methods} ${route.url} already`, { cause: error });
  }
}

/** The options of every view: fields, which its prototype does not show. */
const OPTIONS = Object.keys(new (class extends ViewSet {})());

function checkActionNames(view: ViewSet): void {
  const taken = new Set<string>([...OPERATIONS, ...OPTIONS]);
  for (const name of actionsOf(view).keys()) {
    if (!taken.has(name) && !(name in Object.getPrototypeOf(view))) continue;
    throw new ImproperlyConfigured(
      `${view.constructor.name}: action "${name}" hides the view's own ${name}; name the property otherwise, and its path with "urlPath"`,
    );
  }
}

function ignoresTrailingSlash(app: FastifyInstance): boolean {
  const { routerOptions, ignoreTrailingSlash } = app.initialConfig;
  return routerOptions?.ignoreTrailingSlash ?? ignoreTrailingSlash ?? false;
}

function checkPath(name: string, path: string): string {
  const trimmed = typeof path === 'string' ? path.replaceAll(/^\/+|\/+$/g, '') : '';
  if (trimmed === '' || /[?#\s:*()]|\/\//.test(trimmed)) {
    throw wrongOption('Router', name, 'a path without parameters, like "products" or "shops/products"', path);
  }
  return trimmed;
}
