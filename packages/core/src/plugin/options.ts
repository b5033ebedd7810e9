import type { MikroORM } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { CurrentUser } from '../current-user.ts';
import { ImproperlyConfigured } from '../errors.ts';
import { DEFAULT_FILTERS } from '../filters/default-filters.ts';
import type { FilterClass } from '../filters/filter.ts';
import { HealthRegistry } from '../health/health-registry.ts';
import { checkOptionNames, checkValues, STORE, TEXT, wrongOption } from '../options.ts';
import { PageNumberPagination } from '../pagination/counted-pagination.ts';
import type { PaginatorClass } from '../pagination/paginator.ts';
import type { PermissionClass } from '../permissions/permission.ts';
import type { Store } from '../stores/store.ts';
import type { RateLimitRule } from '../throttle/rate-limit-rule.ts';
import { checkFilters, checkIgnoredParameters, checkPagination } from '../viewset/list-options.ts';
import type { ViewDefaults } from '../viewset/view-definition.ts';

/** Answers with the user of a request, or null, from what the application knows of it by then. */
export type UserSource = (request: FastifyRequest) => CurrentUser | null | undefined;

/** The options of the `viewset` plugin. Only `orm` is required. */
export interface ViewsetOptions {
  /** The initialised ORM. The plugin never closes it. */
  readonly orm: MikroORM;
  /**
   * The source of a request's user. `'own'`: from `request.user`, which the `auth` plugin or a hook of yours sets.
   * Default: `'own'`; to be said where the application's requests have a `user` already.
   */
  readonly user?: 'own' | UserSource;
  /**
   * The source of a request's entity manager. `'own'`: `request.em` is a fork of `orm`, whatever the application
   * sets. `'existing'`: it is the application's, of the same MikroORM. Default: a fork, unless a hook has set another of the same
   * MikroORM; to be said where the application's requests have an `em` already.
   */
  readonly em?: 'own' | 'existing';
  /** False: the errors of this scope are answered by the application's own error handler. Default: true. */
  readonly errorHandler?: boolean;
  /** False: unknown paths and methods are left to the application's not-found handler. Default: true. */
  readonly notFoundHandler?: boolean;
  /** Rules that count every request to a route. Default: none. */
  readonly throttles?: readonly RateLimitRule[];
  /** Asked on every request to a route, after the rules; false answers 429. */
  readonly throttleRate?: (request: FastifyRequest) => boolean | Promise<boolean>;
  /** The store in which the throttles count. Default: a MemoryStore of the application's own. */
  readonly store?: Store;
  /** The checks that `/health/` answers with, beside `/health/live` and `/health/ready`; false: no such routes. Default: no checks. */
  readonly health?: HealthRegistry | false;
  /** The path of the health routes. Default: `/health`. */
  readonly healthPath?: string;
  /** The permissions of views that declare none. Default: none, which lets everybody in whom the authentication let pass. */
  readonly permissionClasses?: readonly PermissionClass[];
  /** The filters of views that declare none. Default: `DEFAULT_FILTERS`. */
  readonly filters?: readonly FilterClass[];
  /** The pagination of views that declare none; null: off. Default: `PageNumberPagination`. */
  readonly pagination?: PaginatorClass | null;
  /** Query parameters to let pass though nothing declares them: true for all, or their names. Default: false. */
  readonly ignoreUnknownParameters?: boolean | readonly string[];
  /** Encrypts the cursors of cursor pagination; at least 32 bytes, the same in every process. */
  readonly secret?: string;
  /**
   * A longer URL, query string included, is a 414, in characters. Default: 16,384, which is what Node takes for the URL
   * and the headers together (`http.maxHeaderSize`) unless it is told otherwise.
   */
  readonly maxUrlLength?: number;
  /** While so many requests are in flight in this process, further ones are a 503; Infinity: never. Default: 2000. */
  readonly maxRequestsInFlight?: number;
  /** A request that has not been answered by then is a 503, in milliseconds; Infinity: never. Default: 30,000. */
  readonly handlerTimeoutMs?: number;
}

/** The options with their defaults, checked and frozen. */
export interface ResolvedOptions {
  readonly orm: MikroORM;
  readonly user: ViewsetOptions['user'];
  readonly em: ViewsetOptions['em'];
  readonly errorHandler: boolean;
  readonly notFoundHandler: boolean;
  readonly throttles: readonly RateLimitRule[];
  readonly throttleRate: ViewsetOptions['throttleRate'];
  readonly store: Store | undefined;
  readonly health: HealthRegistry | false | undefined;
  readonly healthPath: string;
  readonly defaults: ViewDefaults;
  readonly maxUrlLength: number;
  readonly maxRequestsInFlight: number;
  readonly handlerTimeoutMs: number;
}

const MAX_URL_LENGTH = 16_384;
const MAX_REQUESTS_IN_FLIGHT = 2000;
const HANDLER_TIMEOUT_MS = 30_000;

const OPTION_NAMES: readonly (keyof ViewsetOptions)[] = [
  'orm',
  'user',
  'em',
  'errorHandler',
  'notFoundHandler',
  'throttles',
  'throttleRate',
  'store',
  'health',
  'healthPath',
  'permissionClasses',
  'filters',
  'pagination',
  'ignoreUnknownParameters',
  'secret',
  'maxUrlLength',
  'maxRequestsInFlight',
  'handlerTimeoutMs',
];

/** Throws ImproperlyConfigured, which names the option, what was expected and what came. */
export function resolveOptions(options: ViewsetOptions): ResolvedOptions {
  checkOptionNames('viewset', options, OPTION_NAMES);
  if (typeof options.orm?.em?.fork !== 'function') {
    throw wrongOption('viewset', 'orm', 'an initialised MikroORM', options.orm);
  }
  checkArrays(options);
  checkFilters('viewset', options.filters);
  checkPagination('viewset', options.pagination);
  checkIgnoredParameters('viewset', options.ignoreUnknownParameters);
  checkPlace(options);
  if (options.throttleRate !== undefined && typeof options.throttleRate !== 'function') {
    throw wrongOption('viewset', 'throttleRate', 'a function', options.throttleRate);
  }
  const { secret } = options;
  checkValues('viewset', options, { secret: TEXT, store: STORE, healthPath: TEXT });
  if (secret !== undefined && Buffer.byteLength(secret) < 32) {
    throw new ImproperlyConfigured('viewset: option "secret" must have at least 32 bytes');
  }
  checkHealth(options);
  return Object.freeze({
    orm: options.orm,
    user: options.user,
    em: options.em,
    errorHandler: options.errorHandler ?? true,
    notFoundHandler: options.notFoundHandler ?? true,
    throttles: options.throttles ?? [],
    throttleRate: options.throttleRate,
    store: options.store,
    health: options.health,
    healthPath: options.healthPath ?? '/health',
    defaults: Object.freeze({
      permissionClasses: options.permissionClasses ?? [],
      filters: options.filters ?? DEFAULT_FILTERS,
      pagination: options.pagination === undefined ? PageNumberPagination : options.pagination,
      ignoreUnknownParameters: options.ignoreUnknownParameters ?? false,
      hasThrottleRate: options.throttleRate !== undefined,
      secret: options.secret,
    }),
    maxUrlLength: limit(options, 'maxUrlLength', MAX_URL_LENGTH),
    maxRequestsInFlight: limit(options, 'maxRequestsInFlight', MAX_REQUESTS_IN_FLIGHT),
    handlerTimeoutMs: limit(options, 'handlerTimeoutMs', HANDLER_TIMEOUT_MS),
  });
}

type LimitName = 'maxUrlLength' | 'maxRequestsInFlight' | 'handlerTimeoutMs';

function limit(options: ViewsetOptions, name: LimitName, fallback: number): number {
  const value: unknown = options[name];
  if (value === undefined) return fallback;
  if (value === Infinity || (Number.isSafeInteger(value) && (value as number) > 0)) return value as number;
  throw wrongOption('viewset', name, 'a positive integer, or Infinity for none', value);
}

function checkHealth({ health, healthPath }: ViewsetOptions): void {
  if (health !== undefined && health !== false && !(health instanceof HealthRegistry)) {
    throw wrongOption('viewset', 'health', 'a HealthRegistry, or false for no health routes', health);
  }
  if (healthPath !== undefined && !/^(\/[^/:*?#\s]+)+$/.test(healthPath)) {
    throw wrongOption('viewset', 'healthPath', 'a path such as "/health"', healthPath);
  }
}

/** Checks what fits the plugin into an application that is there already. */
function checkPlace({ user, em, errorHandler, notFoundHandler }: ViewsetOptions): void {
  if (user !== undefined && user !== 'own' && typeof user !== 'function') {
    throw wrongOption('viewset', 'user', '"own" or a function of the request', user);
  }
  if (em !== undefined && em !== 'own' && em !== 'existing') {
    throw wrongOption('viewset', 'em', '"own" or "existing"', em);
  }
  for (const [name, value] of Object.entries({ errorHandler, notFoundHandler })) {
    if (value !== undefined && typeof value !== 'boolean') throw wrongOption('viewset', name, 'true or false', value);
  }
}

function checkArrays(options: ViewsetOptions): void {
  for (const name of ['throttles', 'permissionClasses'] as const) {
    const value: unknown = options[name];
    if (value !== undefined && !Array.isArray(value)) throw wrongOption('viewset', name, 'an array', value);
  }
}
