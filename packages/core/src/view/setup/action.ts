import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { isRecord } from '../../support/json.ts';
import {
  ANYTHING,
  BOOLEAN,
  checkOptions,
  isListOf,
  type OptionRule,
  TEXT,
  TEXTS,
  wrongOption,
} from '../../errors/options.ts';
import type { PermissionClass, RequestBehind } from '../../permissions/permission.ts';
import { isSchema } from '../../schema/compile-schema.ts';
import { RATE_LIMIT_RULES, type RateLimitRuleInstance } from '../../throttle/rate-limit-rule.ts';
import type { Operation } from '../request/operation.ts';
import { IDEMPOTENCY_RULE, type IdempotencyMode } from './idempotency.ts';

const ACTION_METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
/** An HTTP method of an action. */
export type ActionMethod = (typeof ACTION_METHODS)[number];

/** The schemas of an action's responses, by status. null: a response without a body. */
export type ActionResponses = Readonly<Record<number, TSchema | null>>;

const HOOKS = [
  'onRequest',
  'preParsing',
  'preValidation',
  'preHandler',
  'preSerialization',
  'onSend',
  'onResponse',
  'onTimeout',
  'onError',
  'onRequestAbort',
] as const;
/** The kinds of responses that contain records of the action's view. */
export type ActionAnswer = 'record' | 'page';

/** Fastify's hooks of one route. */
export type ActionHooks = Pick<RouteShorthandOptions, (typeof HOOKS)[number]>;

/** The texts about a field or a parameter, for documents. */
export interface Words {
  readonly description?: string;
  /** True: clients should no longer use it. */
  readonly deprecated?: boolean;
  readonly examples?: readonly unknown[];
}

/** Example values of the body, and of responses by status, for documents. */
export interface Examples {
  readonly body?: unknown;
  readonly responses?: Readonly<Record<number, unknown>>;
}

type StaticOr<Schema, Otherwise> = Schema extends TSchema ? Static<Schema> : Otherwise;

/** The options of an action. Every option has a default. */
export interface ActionOptions<
  Body extends TSchema | undefined = TSchema | undefined,
  Query extends TSchema | undefined = TSchema | undefined,
  Response extends TSchema | undefined = TSchema | undefined,
  Responses extends ActionResponses | undefined = ActionResponses | undefined,
  Method extends ActionMethod = ActionMethod,
  Detail extends boolean = boolean,
  UrlPath extends string | undefined = string | undefined,
  Listed extends boolean | undefined = boolean | undefined,
  Answers extends ActionAnswer | undefined = ActionAnswer | undefined,
  Classes extends readonly PermissionClass[] = readonly PermissionClass[],
> {
  /** The HTTP methods of the action. Default: `['get']`, which includes HEAD. */
  readonly methods?: readonly Method[];
  /** False (default): acts on the collection. True: acts on one record, `request.params.pk`. */
  readonly detail?: Detail;
  /**
   * The path below the collection or the record. In a view without an entity, `'/'` is the path of the view itself.
   * Default: the result of the router's `actionPath`, which is the name in kebab-case.
   */
  readonly urlPath?: UrlPath & {};
  /** The second half of the route's name. Default: the action's name in kebab-case. */
  readonly urlName?: string;
  /** The schema of the JSON body, and the type of `request.body`. The body is checked before the handler runs. */
  readonly body?: Body;
  /** The schema of the query string. Its properties are the parameters of the action. Values are coerced from text. */
  readonly querystring?: Query;
  /**
   * True: the action also accepts the parameters of the view's lists, for `filterQueryset` and `paginate`. Default:
   * true for GET on the collection, else false.
   */
  readonly listParameters?: Listed & {};
  /**
   * The schema of the response, for 200 and every other 2xx. The handler must return a value of it. Other fields are
   * not sent.
   */
  readonly response?: Response;
  /**
   * What the handler returns for 200. `page`: the result of `paginate`. `record`: the result of `represent`, which is
   * wrapped in the view's envelope. Use this option instead of `response` to get the view's own response schema. Needs
   * a view with an entity.
   */
  readonly answers?: Answers & {};
  /**
   * The schemas of several responses, by status. null: no body. If the handler sends a 2xx status that is not listed,
   * the client gets 500 without the response.
   */
  readonly responses?: Responses;
  /**
   * Permission classes that replace the checks of the view's classes. The view's scope still applies: records that the
   * view's permissions hide are hidden from the action, unless `scope` is `unrestricted`. If a class always refuses
   * anonymous requests (`IsAuthenticated`, `IsRoleAdminUser`, or a composition of them), `request.user` is not null in
   * the handler.
   */
  readonly permissionClasses?: Classes;
  /** `unrestricted`: the action also sees records that the view's permissions hide. Default: `view`. */
  readonly scope?: 'view' | 'unrestricted';
  /**
   * True: the route needs no token. Default: true if AllowAny is the only class of `permissionClasses`, false for other
   * classes. Without `permissionClasses`, the view's value.
   */
  readonly allowAnonymous?: boolean;
  /** Rules that limit requests to this action, in addition to the view's rules. */
  readonly throttles?: readonly RateLimitRuleInstance[];
  /**
   * True: the handler runs in one transaction of `request.em`. It begins before the handler, and in a `detail` action
   * before the record is looked up: `getObject` locks the record and reads it again. After the handler has returned,
   * `request.em` is flushed and the transaction is committed. Then the work of `afterCommit` runs. The transaction is
   * rolled back if the handler throws or sets a status of 400 or more. On MongoDB the handler runs again if the
   * transaction lost a race. Within a transaction of the request, such as a batch, it is a savepoint.
   *
   * False: nothing flushes `request.em`. If the handler leaves changes of entities unflushed, the response is 500, and
   * the log names the entities.
   *
   * Default: true for POST, PUT, PATCH and DELETE in a view with an entity, else false.
   */
  readonly transaction?: boolean;
  /**
   * How POST and PATCH requests to the action handle `Idempotency-Key`. A request with a key runs in a transaction.
   * Default: the view's mode; with `transaction: false`, off.
   */
  readonly idempotency?: IdempotencyMode;
  /**
   * True: the action can be an operation of a batch (`@viewset/batch`). It then runs in the transaction of the batch,
   * and must respond with JSON. Cookies and streams are not possible there. Default: false.
   */
  readonly batchable?: boolean;
  /** The maximum size of the body, in bytes. Larger bodies give 413. Default: the application's limit, 1 MiB. */
  readonly bodyLimit?: number;
  /**
   * The media types of the body. Bodies other than JSON arrive as a Buffer and are not checked by a schema. Default:
   * `['application/json']`.
   */
  readonly contentTypes?: readonly string[];
  /** Fastify hooks of the route. `onRequest` runs after the request has passed the permissions. */
  readonly hooks?: ActionHooks;
  /** One line about the action, for documents. Default: made from its name. */
  readonly summary?: string;
  /** A longer text about the action, for documents. */
  readonly description?: string;
  /** The tags of the action in documents. Default: the view's. */
  readonly tags?: readonly string[];
  /** True: clients should no longer use the action. For documents. Default: the view's. */
  readonly deprecated?: boolean;
  /** Example values, for documents. */
  readonly examples?: Examples;
}

/** The request of an action's handler, typed by the action's schemas. In a `detail` action it identifies a record. */
export type ActionRequest<Body, Query, Detail extends boolean = true, Classes = undefined> = FastifyRequest<{
  Body: StaticOr<Body, unknown>;
  Querystring: StaticOr<Query, Record<string, unknown>>;
  Params: true extends Detail ? { pk: string } : unknown;
}> & { readonly '~record'?: Detail | undefined } & RequestBehind<Classes>;

/** A request that identifies one record, in contrast to a request to the collection. */
export type RecordRequest = FastifyRequest & { readonly '~record'?: true | undefined };

/** The types of an action's responses, by status. `response` is the type of 200. */
type AnswersByStatus<Response, Responses> = (Response extends TSchema ? { readonly 200: Static<Response> } : unknown) &
  (Responses extends ActionResponses
    ? { readonly [Status in keyof Responses]: StaticOr<Responses[Status], undefined> }
    : unknown);

type AnswersOf<Responses> = Responses extends ActionResponses
  ? { [Status in keyof Responses]: StaticOr<Responses[Status], undefined> }[keyof Responses]
  : never;

/** The values that a handler may return, according to `response` and `responses`. */
type Answer<Response, Responses, Answers> = Response extends TSchema
  ? Static<Response> | AnswersOf<Responses>
  : Responses extends ActionResponses
    ? // The option `answers` adds records of the view.
      AnswersOf<Responses> | (Answers extends ActionAnswer ? object & AnswerOfView : never)
    : Answers extends ActionAnswer
      ? object & AnswerOfView
      : unknown;

/** A record or a page: an object, but neither a list nor a promise, which would also be objects for the compiler. */
interface AnswerOfView {
  readonly then?: never;
  readonly [Symbol.iterator]?: never;
}

/**
 * The handler of an action. It gets the request, typed by the action's schemas, and returns a value of one of the
 * declared responses.
 */
export type ActionHandler<
  Body,
  Query,
  Response,
  Responses = undefined,
  Detail extends boolean = true,
  Classes = undefined,
  Answers = undefined,
> = (
  request: ActionRequest<Body, Query, Detail, Classes>,
  reply: FastifyReply,
) => Answer<Response, Responses, Answers> | Reply | Promise<Answer<Response, Responses, Answers> | Reply>;

/** A short name for compiler messages, which would otherwise show FastifyReply with all its type parameters. */
interface Reply extends FastifyReply {}

const ACTION = Symbol('viewset.action');

/** A route of a view, made by `action()`. The router finds it among the properties of the view. */
export interface Action<Declared = unknown> {
  readonly [ACTION]: true;
  /** Only for the types of clients: the declarations that define the requests and responses of the action. */
  readonly '~declared'?: Declared;
  readonly methods: readonly ActionMethod[];
  readonly detail: boolean;
  readonly options: ActionOptions;
  /** @internal */
  readonly traits?: ActionTraits;
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => unknown;
}

/**
 * Makes a route of a view besides the five operations. Assign it to a property of the view; the property's name is the
 * action's name. Before the handler of a detail action runs, the record is looked up and its object permissions are
 * checked.
 *
 * Throws ImproperlyConfigured for an unknown or wrong option.
 *
 * @example
 * class ProductViewSet extends ModelViewSet(Product, { read }) {
 *   // GET /api/products/featured
 *   featured = action({}, async (request) => ({ results: await this.rows(this.getQueryset(request).slice(0, 10)) }));
 * }
 */
export function action<
  Body extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
  Response extends TSchema | undefined = undefined,
  Responses extends ActionResponses | undefined = undefined,
  Method extends ActionMethod = 'get',
  Detail extends boolean = false,
  UrlPath extends string | undefined = undefined,
  Listed extends boolean | undefined = undefined,
  Answers extends ActionAnswer | undefined = undefined,
  const Classes extends readonly PermissionClass[] = readonly [],
>(
  options: ActionOptions<Body, Query, Response, Responses, Method, Detail, UrlPath, Listed, Answers, Classes>,
  // Only the schemas infer the types. Inferring them from the handler too would expand every possible schema type.
  handler: NoInfer<ActionHandler<Body, Query, Response, Responses, Detail, Classes, Answers>>,
): Action<{
  readonly methods: Method;
  readonly detail: Detail;
  readonly urlPath: UrlPath;
  readonly listParameters: Listed;
  readonly body: StaticOr<Body, undefined>;
  readonly query: StaticOr<Query, undefined>;
  readonly answers: AnswersByStatus<Response, Responses>;
  readonly records: Answers;
}> {
  checkOptions('action()', options, RULES);
  const methods = checkMethods(options.methods ?? ['get']);
  checkTogether(options, methods);
  if (typeof handler !== 'function') throw wrongOption('action()', 'handler', 'a function', handler);
  return Object.freeze({
    [ACTION]: true as const,
    methods,
    detail: options.detail ?? false,
    options,
    handler: handler as Action['handler'],
  });
}

/** What an option of the library declares about an action that it makes. */
export interface ActionTraits {
  /** The operation whose permissions the action has. Undefined: those of actions. */
  readonly permissionsOf?: Operation;
  /** True if the response is the bytes of a record's file, with its own tag and date. */
  readonly sendsFile?: true;
  /** Throws the error of a request that the action would refuse, for OPTIONS. Default: `getObject` finds the record. */
  readonly permit?: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
}

export function withTraits<Declared>(made: Action<Declared>, traits: ActionTraits): Action<Declared> {
  return Object.freeze({ ...made, traits });
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

/** Segments without characters that have a meaning in route patterns. */
const URL_PATH = /^[^/?#\s:*(){}%]+(?:\/[^/?#\s:*(){}%]+)*$/;
const MEDIA_TYPE = /^[a-z\d!#$&^_.+-]+\/[a-z\d!#$&^_.+-]+$/;

/** The rule for the path of an action, whether declared or made by `actionPath`. */
export const URL_PATH_RULE: OptionRule = [
  'a path that is not empty, without slashes at its ends, parameters, wildcards, parentheses, braces or percent signs (left out, it is the ' +
    "action's name; the view's own path belongs to list, create, retrieve, update and destroy)",
  (value) => typeof value === 'string' && URL_PATH.test(value),
];

/** The `urlPath` of an action at the path of its view. */
export const ROOT_PATH = '/';

const RULES: Readonly<Record<keyof ActionOptions, OptionRule>> = {
  methods: ANYTHING,
  detail: BOOLEAN,
  urlPath: [URL_PATH_RULE[0], (value) => value === ROOT_PATH || URL_PATH_RULE[1](value)],
  urlName: TEXT,
  body: ['a schema', isSchema],
  querystring: ['a Type.Object()', (value) => isRecord(value) && 'properties' in value],
  response: ['a schema', isSchema],
  permissionClasses: ANYTHING,
  throttles: RATE_LIMIT_RULES,
  summary: TEXT,
  responses: ['schemas, or null for no body, by status', isResponses],
  listParameters: BOOLEAN,
  scope: ['"view" or "unrestricted"', (value) => value === 'view' || value === 'unrestricted'],
  allowAnonymous: BOOLEAN,
  transaction: BOOLEAN,
  idempotency: IDEMPOTENCY_RULE,
  batchable: BOOLEAN,
  bodyLimit: ['a positive integer, in bytes', (value) => Number.isSafeInteger(value) && (value as number) > 0],
  contentTypes: [
    'a list of media types, like "text/csv"',
    (value) => isListOf(value, (type) => typeof type === 'string' && MEDIA_TYPE.test(type)) && value.length > 0,
  ],
  hooks: [`functions by the names of Fastify's hooks (${HOOKS.join(', ')})`, isHooks],
  description: TEXT,
  tags: TEXTS,
  deprecated: BOOLEAN,
  examples: ['an object of "body" and "responses"', isRecord],
  answers: ['"record" or "page"', (value) => value === 'record' || value === 'page'],
};

function checkTogether(options: ActionOptions, methods: readonly ActionMethod[]): void {
  for (const name of ['body', 'contentTypes', 'bodyLimit'] as const) {
    if (options[name] === undefined || !methods.includes('get')) continue;
    throw new ImproperlyConfigured(`action(): option "${name}" needs methods that take one, but "methods" has get`);
  }
  const { idempotency = 'off', transaction } = options;
  if (idempotency !== 'off' && !methods.some((method) => method === 'post' || method === 'patch')) {
    throw new ImproperlyConfigured(`action(): option "idempotency" needs "methods" with post or patch`);
  }
  if (idempotency !== 'off' && transaction === false) {
    throw new ImproperlyConfigured(
      'action(): option "idempotency" stores the answer in a transaction, but "transaction" is false',
    );
  }
  if (options.batchable === true && transaction === false && methods.some((method) => method !== 'get')) {
    throw new ImproperlyConfigured(
      'action(): option "batchable" lets the action run in the transaction of a batch, but "transaction" is false',
    );
  }
  if (options.batchable === true && options.contentTypes !== undefined) {
    throw new ImproperlyConfigured(
      'action(): option "batchable" needs a body of JSON, but "contentTypes" says otherwise',
    );
  }
  if (options.answers !== undefined && (options.response ?? options.responses?.[200]) !== undefined) {
    throw new ImproperlyConfigured('action(): option "answers" says what 200 answers, and so does a schema');
  }
  if (options.response !== undefined && options.responses?.[200] !== undefined) {
    throw new ImproperlyConfigured('action(): options "response" and "responses" both say what 200 answers');
  }
}

function isResponses(value: unknown): boolean {
  const entries = isRecord(value) ? Object.entries(value) : [];
  return (
    entries.length > 0 &&
    entries.every(([status, schema]) => /^[2-5]\d\d$/.test(status) && (schema === null || isSchema(schema)))
  );
}

function isHooks(value: unknown): boolean {
  if (!isRecord(value)) return false;
  return Object.entries(value).every(
    ([name, hook]) =>
      (HOOKS as readonly string[]).includes(name) && [hook].flat().every((each) => typeof each === 'function'),
  );
}

export function isAction(value: unknown): value is Action {
  return typeof value === 'object' && value !== null && ACTION in value;
}

/** Returns the actions of a view by name, in the order of declaration. */
export function actionsOf(view: object): Map<string, Action> {
  const actions = new Map<string, Action>();
  for (const [name, value] of Object.entries(view)) {
    if (isAction(value)) actions.set(name, value);
  }
  return actions;
}
