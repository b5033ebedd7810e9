import { MikroORM } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { CurrentUser } from '../http/current-user.ts';
import { tagsBy } from '../http/entity-tag.ts';
import { ErrorFormat, type FormatError } from '../errors/error-format.ts';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { DEFAULT_FILTERS } from '../filters/default-filters.ts';
import type { FilterClass } from '../filters/filter.ts';
import { HealthRegistry } from '../health/health-registry.ts';
import { BOOLEAN, checkOptions, FUNCTION, LIST, type OptionRule, STORE, TEXT, wrongOption } from '../errors/options.ts';
import { isSchema } from '../schema/compile-schema.ts';
import { PageNumberPagination } from '../pagination/counted-pagination.ts';
import type { PaginatorClass } from '../pagination/paginator.ts';
import type { PermissionClass } from '../permissions/permission.ts';
import type { Store } from '../stores/store.ts';
import { RATE_LIMIT_RULES, type RateLimitRuleInstance } from '../throttle/rate-limit-rule.ts';
import type { Feature } from '../view/setup/feature.ts';
import { FEATURES_RULE } from '../view/setup/features.ts';
import type { Idempotency } from '../view/setup/idempotency.ts';
import { LIST_RULES } from '../view/setup/list-options.ts';
import type { ViewDefaults } from '../view/setup/view-defaults.ts';

/** Returns the user of a request, or null, from the data that the application has at that time. */
export type UserSource = (request: FastifyRequest) => CurrentUser | null | undefined;

/** The options of the `viewset` plugin. Only `orm` is required. */
export interface ViewsetOptions {
  /** The initialised ORM. The plugin never closes it. */
  readonly orm: MikroORM;
  /**
   * The source of a request's user. `'own'`: from `request.user`, which the `auth` plugin or a hook of yours sets.
   * Default: `'own'`. Required if the application's requests already have a `user`. If it is set, no warning says that
   * `allowAnonymous` contradicts permission classes, because hooks may find users who send no token.
   */
  readonly user?: 'own' | UserSource;
  /**
   * The source of a request's entity manager. `'own'`: `request.em` is a fork of `orm`, even if the application sets
   * another. `'existing'`: the application sets it, from the same MikroORM. Default: a fork, unless a hook has set an
   * entity manager of the same MikroORM. Required if the application's requests already have an `em`.
   */
  readonly em?: 'own' | 'existing';
  /** If false, the application's own error handler answers the errors of this scope. Default: true. */
  readonly errorHandler?: boolean;
  /**
   * Makes the bodies of all errors, from every layer, and optionally their statuses. Requires `errorSchema`. Default:
   * an `ErrorBody` with the status of the error.
   */
  readonly formatError?: FormatError;
  /** The schema of the bodies that `formatError` makes, for documents. */
  readonly errorSchema?: TSchema;
  /** If false, the application's not-found handler answers unknown paths and methods. Default: true. */
  readonly notFoundHandler?: boolean;
  /** Rules that limit all requests to routes. Default: none. */
  readonly throttles?: readonly RateLimitRuleInstance[];
  /** Called for every request to a route, after the rules. Any answer but true gives 429. */
  readonly throttleRate?: (request: FastifyRequest) => boolean | Promise<boolean>;
  /**
   * Further options of views, each from its name to what it adds to a view. Plugins such as `outbox`, `history` and
   * `live` add their own. Default: none.
   */
  readonly features?: readonly Feature[];
  /** Stores the counts of the throttles, and the used direct uploads. Default: a MemoryStore for this application. */
  readonly store?: Store;
  /**
   * The checks of `/health/`. False: no health routes, neither `/health/` nor `/health/live` nor `/health/ready`.
   * Default: no checks.
   */
  readonly health?: HealthRegistry | false;
  /** The path of the health routes. Default: `/health`. */
  readonly healthPath?: string;
  /** The permissions of views without `permissionClasses`. Default: none, so every authenticated request is allowed. */
  readonly permissionClasses?: readonly PermissionClass[];
  /**
   * Stores the answers of POST and PATCH by `Idempotency-Key`, so that a repeated request writes nothing:
   * `IdempotencyKeys` of `@viewset/idempotency`. Default: none, and the header is ignored.
   */
  readonly idempotency?: Idempotency;
  /** The filters of views without `filters`. Default: `DEFAULT_FILTERS`. */
  readonly filters?: readonly FilterClass[];
  /** The pagination of views without `pagination`. Null: no pagination. Default: `PageNumberPagination`. */
  readonly pagination?: PaginatorClass | null;
  /** Unknown query parameters to ignore instead of rejecting them: true for all, or their names. Default: false. */
  readonly ignoreUnknownParameters?: boolean | readonly string[];
  /**
   * Encrypts the cursors of cursor pagination, and keys the hashes of entity tags. At least 32 bytes, the same in every
   * process. Without it, views with cursors fail at start, and entity tags are plain hashes.
   */
  readonly secret?: string;
  /**
   * The longest URL, with its query string, in characters. A longer one gives 414. Default: 16,384, which is also
   * Node's default for the URL and the headers together (`http.maxHeaderSize`).
   */
  readonly maxUrlLength?: number;
  /**
   * The most requests that this process handles at once. Further requests give 503. Infinity: no limit. Default: 2000.
   */
  readonly maxRequestsInFlight?: number;
  /**
   * The time for the response to a request, in milliseconds. After that the client gets 503, or 408 if the request's
   * body is still incomplete. Infinity: no limit. Default: 30,000.
   */
  readonly handlerTimeoutMs?: number;
  /**
   * The time that requests in flight may take once the application closes, in milliseconds. After that their connections
   * are cut off. Infinity: no limit. Default: `handlerTimeoutMs`.
   */
  readonly closeTimeoutMs?: number;
  /**
   * The period over which `minReadRate` is measured, in milliseconds. A client that reads a response more slowly loses
   * its connection. Infinity: never. Default: 60,000.
   */
  readonly readerTimeoutMs?: number;
  /**
   * The slowest rate at which a client may read a response, in bytes per second, measured over `readerTimeoutMs`.
   * Default: 1024.
   */
  readonly minReadRate?: number;
  /** The most exports that this process sends at once. Further exports give 503. Infinity: no limit. Default: 50. */
  readonly maxExports?: number;
  /**
   * True: after the application listens, the log warns of entities whose table or column the database lacks. It also
   * warns of columns whose type, length, nullability, enum or unique constraint differs from the entity, and of names in the option
   * `constraints` of views that the database does not have. It costs a few small queries for each entity. Default: true, unless NODE_ENV is `production` or `test`, or
   * `node --test` runs.
   */
  readonly checkTables?: boolean;
}

/** The options with their defaults, validated and frozen. */
export interface ResolvedOptions
  extends
    Pick<ViewsetOptions, 'orm' | 'user' | 'em' | 'throttleRate' | 'store' | 'health'>,
    Readonly<Required<Pick<ViewsetOptions, keyof typeof DEFAULTS | 'closeTimeoutMs'>>> {
  readonly defaults: ViewDefaults;
}

const DEFAULTS = {
  errorHandler: true,
  notFoundHandler: true,
  throttles: [],
  healthPath: '/health',
  maxUrlLength: 16_384,
  maxRequestsInFlight: 2000,
  handlerTimeoutMs: 30_000,
  readerTimeoutMs: 60_000,
  minReadRate: 1024,
  maxExports: 50,
  features: [],
};

const LIMIT: OptionRule = [
  'a positive integer, or Infinity for none',
  (value) => value === Infinity || (Number.isSafeInteger(value) && (value as number) > 0),
];

const RULES: Readonly<Record<keyof ViewsetOptions, OptionRule>> = {
  orm: ['an initialised MikroORM', (orm) => typeof (orm as Partial<MikroORM> | null)?.em?.fork === 'function'],
  user: ['"own" or a function of the request', (user) => user === 'own' || typeof user === 'function'],
  em: ['"own" or "existing"', (em) => em === 'own' || em === 'existing'],
  errorHandler: BOOLEAN,
  formatError: FUNCTION,
  errorSchema: ['a schema', isSchema],
  notFoundHandler: BOOLEAN,
  throttles: RATE_LIMIT_RULES,
  throttleRate: FUNCTION,
  store: STORE,
  health: [
    'a HealthRegistry, or false for no health routes',
    (health) => health === false || health instanceof HealthRegistry,
  ],
  healthPath: ['a path such as "/health"', (path) => typeof path === 'string' && /^(\/[^/:*?#\s]+)+$/.test(path)],
  permissionClasses: LIST,
  idempotency: [
    'an IdempotencyKeys of @viewset/idempotency, or an object like it',
    (value) => typeof (value as Partial<Idempotency> | null)?.answer === 'function',
  ],
  ...LIST_RULES,
  secret: TEXT,
  maxUrlLength: LIMIT,
  maxRequestsInFlight: LIMIT,
  handlerTimeoutMs: LIMIT,
  closeTimeoutMs: LIMIT,
  readerTimeoutMs: LIMIT,
  minReadRate: ['a positive integer', (value) => Number.isSafeInteger(value) && (value as number) > 0],
  features: FEATURES_RULE,
  checkTables: BOOLEAN,
  maxExports: LIMIT,
};

/** Validates the options. Throws ImproperlyConfigured, which names the option, what was expected and what was received. */
export function resolveOptions(options: ViewsetOptions): ResolvedOptions {
  checkOptions('viewset', options, RULES);
  if (options.orm === undefined) throw wrongOption('viewset', 'orm', RULES.orm[0], undefined);
  if (!(options.orm instanceof MikroORM)) {
    // With another copy, the error classes differ, and a duplicate unique value gives 500.
    throw new ImproperlyConfigured(
      'viewset: option "orm" comes from another copy of @mikro-orm/core than @viewset/core imports; install all ' +
        '@mikro-orm/* packages in one version',
    );
  }
  if (options.secret !== undefined && Buffer.byteLength(options.secret) < 32) {
    throw new ImproperlyConfigured('viewset: option "secret" must have at least 32 bytes');
  }
  if ((options.formatError === undefined) !== (options.errorSchema === undefined)) {
    throw new ImproperlyConfigured(
      'viewset: options "formatError" and "errorSchema" need each other: the schema describes the errors in documents',
    );
  }
  const { permissionClasses = [], filters = DEFAULT_FILTERS, pagination = PageNumberPagination } = options;
  const { ignoreUnknownParameters = false, throttleRate, secret, idempotency } = options;
  idempotency?.check(options.orm);
  const hasThrottleRate = throttleRate !== undefined;
  const findsUser = options.user !== undefined;
  const tagOf = tagsBy(secret);
  const errorFormat = new ErrorFormat(options);
  const defaults = {
    permissionClasses,
    filters,
    pagination,
    ignoreUnknownParameters,
    hasThrottleRate,
    findsUser,
    secret,
    tagOf,
    errorFormat,
    idempotency,
  };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const chosen = Object.fromEntries(given) as unknown as ViewsetOptions;
  const { handlerTimeoutMs = DEFAULTS.handlerTimeoutMs, closeTimeoutMs = handlerTimeoutMs } = chosen;
  return Object.freeze({
    ...DEFAULTS,
    ...chosen,
    closeTimeoutMs,
    defaults: Object.freeze(defaults),
  }) as ResolvedOptions;
}
