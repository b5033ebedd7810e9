import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors.ts';
import { checkOptionNames, wrongOption } from '../options.ts';
import type { PermissionClass } from '../permissions/permission.ts';
import type { RateLimitRule } from '../throttle/rate-limit-rule.ts';

export const ACTION_METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
/** An HTTP method, as an action names it. */
export type ActionMethod = (typeof ACTION_METHODS)[number];

type StaticOr<Schema, Otherwise> = Schema extends TSchema ? Static<Schema> : Otherwise;

/** What an action is declared by; every option has a default. */
export interface ActionOptions<
  Body extends TSchema | undefined = TSchema | undefined,
  Query extends TSchema | undefined = TSchema | undefined,
  Response extends TSchema | undefined = TSchema | undefined,
> {
  /** HTTP methods it answers to; default `['get']`, which brings HEAD along. */
  readonly methods?: readonly ActionMethod[];
  /** False (default): acts on the collection. True: acts on one record, `request.params.pk`. */
  readonly detail?: boolean;
  /** Path below the collection or the record; default: the action's name in kebab-case. */
  readonly urlPath?: string;
  /** Second half of the route's name; default: the action's name in kebab-case. */
  readonly urlName?: string;
  /** Schema of the JSON body; checked before the handler runs, and the type of `request.body`. */
  readonly body?: Body;
  /** Schema of the query string, coerced from text; its properties are the parameters that the action declares. */
  readonly querystring?: Query;
  /** Schema of the answer: what the handler must return, and what is sent of it. */
  readonly response?: Response;
  /**
   * Instead of the view's own, their scopes included: a class of the view that decides which records there are has to be
   * named again, unless the action is meant to see the others too.
   */
  readonly permissionClasses?: readonly PermissionClass[];
  /** Beside the view's own. */
  readonly throttles?: readonly RateLimitRule[];
  /** For the documentation. */
  readonly summary?: string;
}

/** The request that an action's handler gets, typed by the action's schemas. */
export type ActionRequest<Body, Query> = FastifyRequest<{
  Body: StaticOr<Body, unknown>;
  Querystring: StaticOr<Query, Record<string, unknown>>;
  Params: { pk: string };
}>;

/** What an action does: gets the request, typed by the action's schemas, and answers what its `response` schema says. */
export type ActionHandler<Body, Query, Response> = (
  request: ActionRequest<Body, Query>,
  reply: FastifyReply,
) => StaticOr<Response, unknown> | FastifyReply | Promise<StaticOr<Response, unknown> | FastifyReply>;

const ACTION = Symbol('viewset.action');

/** What `action()` makes and the router finds on a view. */
export interface Action {
  readonly [ACTION]: true;
  readonly methods: readonly ActionMethod[];
  readonly detail: boolean;
  readonly options: ActionOptions;
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => unknown;
}

const OPTION_NAMES: readonly (keyof ActionOptions)[] = [
  'methods',
  'detail',
  'urlPath',
  'urlName',
  'body',
  'querystring',
  'response',
  'permissionClasses',
  'throttles',
  'summary',
];

/**
 * A route of a view beyond the five operations. Assign it to a property of the view; the property's name is the
 * action's. A detail action's record is looked up, and its object permission asked, before the handler runs.
 *
 * Throws ImproperlyConfigured for an unknown option, method or path.
 *
 * @example
 * class ProductViewSet extends ModelViewSet(Product, { … }) {
 *   // GET /api/products/featured
 *   featured = action({}, async (request) => ({ results: await this.rows(this.getQueryset(request).slice(0, 10)) }));
 * }
 */
export function action<
  Body extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
  Response extends TSchema | undefined = undefined,
>(options: ActionOptions<Body, Query, Response>, handler: ActionHandler<Body, Query, Response>): Action {
  checkOptionNames('action()', options, OPTION_NAMES);
  const methods = checkMethods(options.methods ?? ['get']);
  if (options.body !== undefined && methods.includes('get')) {
    throw new ImproperlyConfigured('action(): option "body" needs methods that take one, but "methods" has get');
  }
  if (options.urlPath !== undefined) checkUrlPath(options.urlPath);
  if (typeof handler !== 'function') throw wrongOption('action()', 'handler', 'a function', handler);
  return Object.freeze({
    [ACTION]: true as const,
    methods,
    detail: options.detail ?? false,
    options,
    handler: handler as Action['handler'],
  });
}

function checkMethods(methods: readonly ActionMethod[]): readonly ActionMethod[] {
  const given: unknown = methods;
  const entries: readonly unknown[] = Array.isArray(given) ? given : [];
  const wrong = entries.findIndex((entry) => !(ACTION_METHODS as readonly unknown[]).includes(entry));
  if (entries.length > 0 && wrong === -1) return methods;
  throw wrongOption(
    'action()',
    'methods',
    `a list of ${ACTION_METHODS.join(', ')}`,
    wrong === -1 ? given : entries[wrong],
  );
}

/** Segments of ordinary characters: the path becomes part of a route's pattern, where the others mean something. */
const URL_PATH = /^[^/?#\s:*(){}%]+(?:\/[^/?#\s:*(){}%]+)*$/;

function checkUrlPath(path: unknown): void {
  if (typeof path === 'string' && URL_PATH.test(path)) return;
  const expected = 'a path without slashes at its ends, parameters, wildcards, parentheses, braces or percent signs';
  throw wrongOption('action()', 'urlPath', expected, path);
}

/** The actions of a view by their names, in the order declared. */
export function actionsOf(view: object): Map<string, Action> {
  const actions = new Map<string, Action>();
  for (const [name, value] of Object.entries(view)) {
    if (typeof value === 'object' && value !== null && ACTION in value) actions.set(name, value as Action);
  }
  return actions;
}

/** `mostPopular` → `most-popular`, `HTMLPage` → `html-page`, `top_ten` → `top-ten`. */
export function kebabCase(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .replaceAll(/_+/g, '-')
    .toLowerCase();
}
