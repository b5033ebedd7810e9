import type { FastifyInstance, RouteOptions } from 'fastify';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { fastifyRoute, keepResponses, type RouteScope } from '../routes/fastify-route.ts';
import { type PlannedRoute, planView } from '../routes/plan-view.ts';
import { checkOptionNames, checkOptions, checkValues, TEXT, wrongOption } from '../errors/options.ts';
import { templateOf } from '../http/path-template.ts';
import { type Action, actionsOf } from '../view/setup/action.ts';
import { kebabCase } from '../support/kebab-case.ts';
import { declareFileLinks, FILE_LINKS, type LinkedParent } from '../view/files/file-links.ts';
import type { EnvelopeOption } from '../features/envelope/envelope.ts';
import { ENVELOPE } from '../features/envelope/feature.ts';
import type { RecordFormat } from '../view/output/record-format.ts';
import { ModelViewSetBase } from '../view/model-viewset-base.ts';
import type { SendsAll } from '../view/model-viewset.ts';
import { OPERATIONS } from '../view/request/operation.ts';
import { DEFINE } from '../view/setup/view-definition.ts';
import { Parent } from '../view/records/parent.ts';
import { SHOWN_RECORDS } from '../view/records/shown-records.ts';
import { findLostActions } from '../view/setup/lost-actions.ts';
import { checkMembers } from '../view/setup/class-members.ts';
import { ViewSet } from '../view/viewset.ts';
import { prepareWrites } from '../view/write/write-plan.ts';
import { readForms, readJsonOnly, readOtherTypes } from './body-parsers.ts';
import { ignoresTrailingSlash } from './allowed-methods.ts';
import {
  checkPrefix,
  checkViewPath,
  type HasRelation,
  type LastParameter,
  parentInPath,
  type ParentName,
} from './nested-path.ts';
import { hasOptions, optionsRoute } from './options-route.ts';
import { RouteNames } from './route-names.ts';
import { RouterRoot } from './router-root.ts';
import { shareSerializers } from './shared-serializers.ts';
import { UnmountedPaths } from './unmounted-routers.ts';

/** The options of a router. */
export interface RouterOptions<Default extends EnvelopeOption = EnvelopeOption> {
  /** The beginning of every path, without slashes at its ends: `api`, `api/v1`. Default: none. */
  readonly prefix?: string;
  /** The envelope of every view that sets no `envelope`. A view with `envelope: null` has none. Default: none. */
  readonly envelope?: Default;
}

/** The options of a view's registration, besides its path. */
export interface RegisterOptions<Relation extends string = string> {
  /** The first half of the routes' names. Default: the path without its parameters, with hyphens for slashes. */
  readonly basename?: string;
  /**
   * The relation from the view's entity to the record in the path, to one or many to many. Default: the last parameter of the path,
   * `author` of `authors/:author/books`.
   */
  readonly parent?: Relation;
}

/** A view of a router by its path, for the types of clients. Empty if the path is not a literal. */
export type Registered<Path extends string, View, Relation = never, Default = never> = string extends Path
  ? unknown
  : { readonly '~views'?: { readonly [Name in Path]: View & Nested<Relation> & Enveloped<Default> } };

/** The relation in the path of a view, unless an option sets it. */
type NamedInPath<Path extends string, Relation> = [Relation] extends [never] ? LastParameter<Path> : never;

/** The relation of a nested view's records to the record in its path. */
type Nested<Relation> = [Relation] extends [never] ? unknown : { readonly '~parent': Relation };

/** The router's envelope, for views without an `envelope`. */
type Enveloped<Default> = [Default] extends [never] ? unknown : { readonly '~envelope': Default };

/** The registration of a parent view. */
interface RegisteredParent {
  readonly path: string;
  readonly basename: string;
  readonly view: ModelViewSetBase;
  readonly parameter: string;
  readonly relation: string;
}

interface Registration {
  readonly path: string;
  readonly basename: string;
  readonly view: ViewSet;
  readonly parent?: RegisteredParent | undefined;
  /** Warnings of actions without a route. */
  readonly lostActions?: readonly string[];
}

/**
 * Mounts viewsets under paths. An application may have several routers. Two routes with one method and path, or two paths with one name,
 * throw ImproperlyConfigured.
 *
 * Override `actionPath` to change how paths are made from names, and `actions` to give every view further routes.
 *
 * @example
 * const router = new Router({ prefix: 'api' });
 * router.register('products', ProductViewSet);
 * await app.register(router.plugin);
 * router.reverse('products-detail', { pk: 7 });   // '/api/products/7'
 */
export class Router<const Default extends EnvelopeOption = never> {
  readonly #prefix: string;
  readonly #format: RecordFormat | undefined;
  readonly #registrations: Registration[] = [];
  readonly #names = new RouteNames();
  readonly #unmounted = new UnmountedPaths();
  #mounted = false;

  constructor(options: RouterOptions<Default> = {}) {
    checkOptionNames('Router', options, ['prefix', 'envelope']);
    checkValues('Router', options, { envelope: ENVELOPE.rule });
    const { prefix = '', envelope } = options;
    this.#format = envelope && ENVELOPE.format('Router', envelope);
    this.#prefix = prefix === '' ? '' : checkPrefix(prefix);
  }

  /**
   * Adds a view class under a path, `products` or `shops/products`. Call it before `plugin` is registered. Returns the
   * router with the view in its type. Chain the calls: `typeof router` is then the type of a client's API.
   *
   * A path with a parameter, `authors/:author/books`, nests the view in the view that is already registered under
   * `authors`. The nested view shows only the records of that author. It gives 404 if the view of authors would not
   * show the author. Name the parameter after the relation to the parent, or set the option `parent` to the relation.
   * You may register a view under several paths.
   *
   * @example
   * router.register('accounts', AccountViewSet).register('accounts/:owner/products', ProductViewSet);
   * router.reverse('accounts-products-detail', { owner: 1, pk: 7 });   // '/api/accounts/1/products/7'
   */
  register<const Path extends string, View extends new () => ViewSet, const Relation extends ParentName<View> = never>(
    path: Path,
    View: View & SendsAll<View> & HasRelation<View, NamedInPath<Path, Relation>>,
    options: RegisterOptions<Relation> = {},
  ): this & Registered<Path, View, Relation | NamedInPath<Path, Relation>, Default> {
    checkOptions('Router.register()', options, { basename: TEXT, parent: TEXT });
    if (this.#mounted) throw new ImproperlyConfigured(`Router: "${path}" was registered after the router was mounted`);
    const checked = checkViewPath(path);
    const taken = this.#registrationOf(checked);
    if (taken !== undefined) {
      throw new ImproperlyConfigured(
        `Router: path "${checked}" has ${taken.view.name} already, and cannot have ${View.name} too`,
      );
    }
    const given: unknown = View;
    const isView = typeof given === 'function' && given.prototype instanceof ViewSet;
    if (!isView) throw wrongOption('Router.register()', 'view', 'a ViewSet class', View);
    const view = new View();
    checkActionNames(view);
    checkMembers(view, view instanceof ModelViewSetBase);
    this.#registrations.push({
      path: checked,
      basename: options.basename ?? checked.replaceAll(/\/:\w+/g, '').replaceAll('/', '-'),
      view,
      parent: this.#parentOf(checked, options.parent),
      // A router with its own actions may take them from anywhere.
      lostActions: this.actions === Router.prototype.actions ? findLostActions(view.name, view) : [],
    });
    this.#unmounted.add([this.#prefix, checked].filter((part) => part !== '').join('/'));
    return this;
  }

  /** Returns the path of a named route. Works once the router is mounted. */
  reverse(name: string, parameters?: Readonly<Record<string, string | number | bigint>>): string {
    return this.#names.reverse(name, parameters);
  }

  /** Fastify calls this for `app.register(router)`, as for a bundled plugin. It throws, because a router is not a plugin. */
  protected readonly default = async (): Promise<never> => {
    throw new ImproperlyConfigured(
      'Router: a router is not a plugin; register its plugin: await app.register(router.plugin)',
    );
  };

  /** The Fastify plugin that mounts the registered views. Register the `viewset` plugin before it. */
  readonly plugin = async (app: FastifyInstance): Promise<void> => {
    if (!app.hasDecorator('viewset')) {
      throw new ImproperlyConfigured('Router: register the viewset plugin first: await app.register(viewset, { orm })');
    }
    if (this.#mounted) throw new ImproperlyConfigured('Router: a router can be mounted only once');
    this.#mounted = true;
    this.#unmounted.clear();
    this.#declareFileLinks(app);
    for (const { lostActions = [] } of this.#registrations) for (const warning of lostActions) app.log.warn(warning);
    const takenIds = new Set(app.viewset.operations.map(({ operationId }) => operationId));
    const routes = this.#registrations.flatMap((registration) => this.#plan(app, registration, takenIds));
    routes.push(...this.#planRoot(app, takenIds));
    const definitions = new Set(routes.map(({ definition }) => definition));
    readJsonOnly(app);
    const plain = routes.filter(({ declared }) => declared.form === undefined);
    const forms = routes.filter(({ declared }) => declared.form !== undefined);
    const scope: RouteScope = {
      readsOtherTypes: readOtherTypes(app, new Set(plain.flatMap(({ plan }) => plan.body?.contentTypes ?? []))),
      isCompiling: false,
    };
    const planned = new Map(routes.map((route) => [route.plan, route]));
    app.addHook('onRoute', ({ method, schema, config = {} }) => {
      const route = config.viewset && planned.get(config.viewset);
      if (route === undefined) return;
      const needsToken = config.needsToken === true;
      // The route of HEAD may be open on its own.
      if (method === route.plan.method) {
        route.needsToken = needsToken;
        route.needsTokenAt = config.needsTokenAt ?? (() => needsToken);
      }
      if (schema !== undefined) keepResponses(schema, route, scope);
    });
    const shared = shareSerializers(app);
    for (const route of plain) addRoute(app, shared(fastifyRoute(route, scope)), route.view);
    if (forms.length > 0) {
      const ofForms = { ...scope, readsOtherTypes: true };
      await app.register(async (inner) => {
        await readForms(inner);
        for (const route of forms) addRoute(inner, shared(fastifyRoute(route, ofForms)), route.view);
      });
    }
    this.#addOptions(app, routes);
    scope.isCompiling = true;
    const writes = [...definitions].flatMap((definition) => definition.writes ?? []);
    app.addHook('onReady', () => {
      scope.isCompiling = false;
      for (const definition of definitions) definition.findViews?.(app.viewset.shownViews);
      return prepareWrites(app.viewset.orm, writes, app.log);
    });
  };

  /**
   * Returns the path of an action without a `urlPath`, below its collection or record. Override it for another spelling. Default: the
   * action's name in kebab-case.
   *
   * @example
   * class SnakeCaseRouter extends Router {
   *   protected override actionPath(name: string) { return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`); }
   * }
   */
  protected actionPath(name: string): string {
    return kebabCase(name);
  }

  /**
   * Returns the actions of a view, by name. Override it to give every view further routes. Default: the actions that the view declares.
   *
   * @example
   * class AboutRouter extends Router {
   *   protected override actions(view: ViewSet) {
   *     return new Map([...super.actions(view), ['about', action({}, () => ({ view: view.name }))]]);
   *   }
   * }
   */
  protected actions(view: ViewSet): ReadonlyMap<string, Action> {
    return actionsOf(view);
  }

  /** Adds OPTIONS for each path, unless the application answers it. */
  #addOptions(app: FastifyInstance, routes: readonly PlannedRoute[]): void {
    const places = new Map(routes.map(({ plan, view }) => [plan.pattern, { plan, view }]));
    for (const [url, { plan, view }] of places) {
      if (!hasOptions(app, url)) addRoute(app, optionsRoute(app, plan), view);
    }
  }

  /** Plans `GET` on the prefix, unless there is no prefix, or another router or route has that path. */
  #planRoot(app: FastifyInstance, takenIds: Set<string>): PlannedRoute[] {
    const url = this.#fullPath(app, '');
    if (this.#prefix === '' || app.hasRoute({ method: 'GET', url })) return [];
    const basename = `${this.#prefix.replaceAll('/', '-')}-root`;
    return this.#plan(app, { path: '', basename, view: new RouterRoot(app.viewset.operations, url) }, takenIds);
  }

  /** Finds the parent view for a path. */
  #parentOf(path: string, relation: string | undefined): Registration['parent'] {
    const nested = parentInPath(path);
    if (nested === undefined) {
      if (relation === undefined) return undefined;
      throw new ImproperlyConfigured(`Router: "${path}" has the option "parent", but no parameter for the parent`);
    }
    const { parameter } = nested;
    const found = this.#registrationOf(nested.parent);
    if (found?.view instanceof ModelViewSetBase) {
      const view = found.view as RegisteredParent['view'];
      return { path: found.path, basename: found.basename, view, parameter, relation: relation ?? parameter };
    }
    const why = found === undefined ? 'no view is registered there yet' : `${found.view.name} has no entity`;
    throw new ImproperlyConfigured(
      `Router: "${path}" is nested in "${nested.parent}", but ${why}; register a view of an entity there first`,
    );
  }

  /**
   * Registers which view serves each file, so that links can be built. If several views serve a file, a view without a
   * parent in its path wins, and among equals the last.
   */
  #declareFileLinks(app: FastifyInstance): void {
    const nestedFirst = this.#registrations.toSorted(
      (a, b) => Number(a.parent === undefined) - Number(b.parent === undefined),
    );
    for (const { view, path, parent } of nestedFirst) {
      if (!(view instanceof ModelViewSetBase)) continue;
      const parents: LinkedParent[] = [];
      for (let level = parent; level !== undefined; level = this.#registrationOf(level.path)?.parent) {
        parents.push({ view: level.view[FILE_LINKS], parameter: level.parameter, relation: level.relation });
      }
      declareFileLinks(app.viewset.orm, view[FILE_LINKS], templateOf(this.#fullPath(app, path)), parents);
    }
  }

  #registrationOf(path: string): Registration | undefined {
    return this.#registrations.find((registration) => registration.path === path);
  }

  /** Plans the routes of a view, and reserves their names. */
  #plan(app: FastifyInstance, { path, basename, view, parent }: Registration, takenIds: Set<string>): PlannedRoute[] {
    const {
      orm,
      defaults,
      features,
      makeRules,
      store,
      reservedKeys,
      routeNames,
      addRoute: addPlanned,
      shownViews,
    } = app.viewset;
    const context = {
      orm,
      log: app.log,
      defaults: this.#format === undefined ? defaults : { ...defaults, format: this.#format },
      features,
      store,
      reservedKeys,
      path: this.#fullPath(app, path),
      ignoresTrailingSlash: ignoresTrailingSlash(app),
      parent: parent && new Parent({ ...parent, shown: parent.view[SHOWN_RECORDS] }),
    };
    const definition = view[DEFINE](context);
    const routes = planView({
      view,
      definition,
      basename,
      context,
      actions: this.actions(view),
      actionPath: (name) => this.actionPath(name),
      makeRules,
      takenIds,
    });
    if (view instanceof ModelViewSetBase) {
      const shown = (view as RegisteredParent['view'])[SHOWN_RECORDS];
      shown.plan = routes.find(({ plan }) => plan.detail && plan.action === 'retrieve')?.plan;
      shownViews.push(shown);
    }
    for (const route of routes) {
      const { plan } = route;
      this.#names.add(plan.route, plan.path);
      routeNames.add(plan.route, plan.path);
      addPlanned(route);
    }
    return routes;
  }

  /** The path of a view below Fastify's prefix and the router's own. For an empty path, the path of the router. */
  #fullPath(app: FastifyInstance, path: string): string {
    const full = [app.prefix, this.#prefix, path].filter((part) => part !== '').join('/');
    return full.startsWith('/') ? full : `/${full}`;
  }
}

function addRoute(app: FastifyInstance, route: RouteOptions, view: ViewSet): void {
  const url = route.url.slice(app.prefix.length);
  try {
    app.route({ ...withCopiedHooks(route), url });
    if (!ignoresTrailingSlash(app)) app.route({ ...withCopiedHooks(route), url: `${url}/` });
  } catch (error) {
    if ((error as { code?: string }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error;
    const methods = [route.method].flat().join(', ');
    throw new ImproperlyConfigured(`${view.name}: another route has ${methods} ${templateOf(route.url)} already`, {
      cause: error,
    });
  }
}

/** Copies the lists of hooks, because the onRoute hooks of plugins append to them. */
function withCopiedHooks(route: RouteOptions): RouteOptions {
  const entries = Object.entries(route).map(([name, value]: [string, unknown]) => [
    name,
    Array.isArray(value) ? [...(value as unknown[])] : value,
  ]);
  return Object.fromEntries(entries) as RouteOptions;
}

/** The names of all options of a view. They are fields, so the prototype does not have them. */
const OPTIONS = Object.keys(new (class extends ViewSet {})());

function checkActionNames(view: ViewSet): void {
  const taken = new Set<string>([...OPERATIONS, ...OPTIONS]);
  for (const name of actionsOf(view).keys()) {
    if (!taken.has(name) && !(name in Object.getPrototypeOf(view))) continue;
    throw new ImproperlyConfigured(
      `${view.constructor.name}: action "${name}" hides the view's own ${name}; rename the property, and set its path by "urlPath"`,
    );
  }
}
