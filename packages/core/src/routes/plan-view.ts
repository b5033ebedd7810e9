import type { FastifyRequest } from 'fastify';
import { Type, type TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { mayHaveBody, SAFE_METHODS } from '../http/methods.ts';
import { checkOptionNames } from '../errors/options.ts';
import { templateOf, templateParameters } from '../http/path-template.ts';
import { AllowAny, isAllowAny } from '../permissions/built-in-permissions.ts';
import { HIDES_RECORDS, makePermissions, type Permission, REFUSES_ANONYMOUS } from '../permissions/permission.ts';
import type { ParameterDeclaration } from '../http/parameters.ts';
import type { ActionHooks, Words } from '../view/setup/action.ts';
import type { Parent } from '../view/records/parent.ts';
import { isOutputOperation, OPERATIONS } from '../view/request/operation.ts';
import type { Idempotency } from '../view/setup/idempotency.ts';
import type { ViewDefinition } from '../view/setup/view-definition.ts';
import { hasThrottleRate, type ViewSet } from '../view/viewset.ts';
import type { DeclaredRoute, OperationMethod } from '../view/setup/declared-route.ts';
import { declaredRoutes, JSON_ONLY, type MountedView } from './declared-routes.ts';
import { operationIdOf, summaryOf } from './operation-names.ts';
import type {
  OperationBody,
  OperationDocumentation,
  OperationParameter,
  OperationPlan,
  OperationView,
} from './operation-plan.ts';
import { type DeclaredResponses, operationResponses } from './operation-responses.ts';
import { querySchema } from './query-body.ts';
import { withRejections } from './database-rejections.ts';
import type { QueryDeclaration } from './query-check.ts';

/** A plan, with the parts of its route that only requests need. */
export interface PlannedRoute {
  readonly plan: OperationPlan;
  readonly view: ViewSet;
  readonly definition: ViewDefinition;
  /** The parent of a nested view. */
  readonly parent: Parent | undefined;
  /** The responses that the view declares. */
  readonly responses: DeclaredResponses;
  /** The view's permissions whose scopes apply to an action with its own permissions. */
  readonly scopes: readonly Permission[];
  /** The route as its view declares it. */
  readonly declared: DeclaredRoute;
  /** True if only the 2xx statuses of `responses` may be sent. */
  readonly restrictsStatuses: boolean;
  readonly query: QueryDeclaration;
  /** The plugin's option `idempotency`. */
  readonly idempotency: Idempotency | undefined;
  readonly hooks: ActionHooks;
  /** True if a request needs a token. The authentication decides it after the route is registered. */
  needsToken: boolean;
  /** Reports whether a request to a URL of the route needs a token. */
  needsTokenAt: (url: string) => boolean;
}

/** Plans every route of a view. Throws ImproperlyConfigured for a wrong declaration of the view. */
export function planView(mounted: MountedView): PlannedRoute[] {
  const { view } = mounted;
  const declared = declaredRoutes(mounted);
  // A view of an entity may have no routes, for nested views and for views that refer to its records.
  if (declared.length === 0 && mounted.definition.overrides === undefined) {
    throw new ImproperlyConfigured(`${view.name} has no route: it has no action, and none of ${OPERATIONS.join(', ')}`);
  }
  const routes = declared.map((each) => planRoute(mounted, declared, each));
  warnOfContradictions(mounted, routes);
  for (const option of ['summaries', 'descriptions', 'examples'] as const) {
    checkOptionNames(`${view.name}.${option}`, view.documentation[option] ?? {}, mounted.definition.operations);
  }
  const parameters = routes.flatMap(({ plan }) => plan.queryParameters.map(({ name }) => name));
  checkOptionNames(`${view.name}.parameterWords`, view.documentation.parameterWords ?? {}, [...new Set(parameters)]);
  return routes;
}

/** Returns the responses of a route as documents describe them. */
function describedResponses(
  { lists }: ViewDefinition,
  { documented, isBuiltIn, sendsPage }: DeclaredRoute,
  responses: DeclaredResponses,
): DeclaredResponses {
  const described = documented === undefined ? responses : Object.entries(documented);
  if (lists === undefined || !isBuiltIn || sendsPage !== true) return described;
  return described.map(([status, schema]) => [status, schema && lists.documentPage(schema)]);
}

function planRoute(mounted: MountedView, all: readonly DeclaredRoute[], declared: DeclaredRoute): PlannedRoute {
  const { view, definition, context } = mounted;
  const { options } = declared;
  const ofAction = options.permissionClasses;
  const ofView = definition.permissions.of(declared.permissionsOf);
  const permissions =
    ofAction === undefined ? ofView : makePermissions(ofAction, `${view.name}.${declared.action}`, view.meta);
  const isNarrowed = ofAction !== undefined && options.scope !== 'unrestricted';
  const responses = Object.entries(options.responses ?? {});
  if (options.response !== undefined) responses.unshift(['200', options.response]);
  const documented = describedResponses(definition, declared, responses);
  const ignoredParameters = view.ignoreUnknownParameters ?? context.defaults.ignoreUnknownParameters;
  const responsesOf = (plan: OperationPlan): OperationPlan['responses'] =>
    operationResponses(documented, {
      headers: declared.recordsAs === 'list' ? (definition.lists?.headers ?? {}) : {},
      locatesRecord:
        plan.action === 'create' && plan.variant === undefined && definition.operations.includes('retrieve'),
      isSafe: SAFE_METHODS.has(plan.method),
      takesBody: mayHaveBody(plan.method),
      namesRecords: declared.namesRecords === true || plan.detail || plan.pathParameters.length > 0,
      checksInput: plan.queryParameters.length > 0 || ignoredParameters !== true,
      needsToken: route.needsToken,
      checksPermissions: permissions.some((permission) => !(permission instanceof AllowAny)),
      sendsTag: declared.tags === 'sent',
      sendsFile: declared.sendsFile === true,
      refusesTags: declared.tags === 'refused',
      headerParameters: plan.headerParameters,
      mayThrottle: context.defaults.hasThrottleRate || hasThrottleRate(view),
      errorFormat: context.defaults.errorFormat,
      hasRules: plan.rules.has('address') || plan.rules.has('user'),
    });
  const parameters = queryParametersOf(definition, declared, view.documentation.parameterWords ?? {});
  const route: PlannedRoute = {
    plan: operationPlan(mounted, permissions, pathOf(mounted, all, declared), { declared, parameters }, responsesOf),
    view,
    definition,
    parent: context.parent,
    responses,
    scopes: isNarrowed ? ofView.filter((permission) => permission[HIDES_RECORDS]) : [],
    declared,
    // An action's `response`, and the schema of an operation, apply to every 2xx.
    restrictsStatuses: mounted.actions.has(declared.action) && (options.response ?? options.answers) === undefined,
    query: {
      validate: declared.validateQuery,
      select: selectionOf(definition, declared),
      ofBody: declared.method === 'QUERY' ? parameters : undefined,
      listParameters: listParametersOf(definition, declared).map(({ name }) => name),
      ignored: ignoredParameters,
    },
    idempotency: context.defaults.idempotency,
    hooks: options.hooks ?? {},
    needsToken: false,
    needsTokenAt: () => false,
  };
  return route;
}

/** @param responsesOf makes the responses when they are first read; only documents read them */
function operationPlan(
  mounted: MountedView,
  permissions: readonly Permission[],
  pattern: string,
  { declared, parameters }: { readonly declared: DeclaredRoute; readonly parameters: readonly OperationParameter[] },
  responsesOf: (plan: OperationPlan) => OperationPlan['responses'],
): OperationPlan {
  const { view, definition, basename, context, makeRules, takenIds } = mounted;
  const { key, overrides, lists, features } = definition;
  const { action, variant, words, method, detail, urlName, options, transaction, handler, proof } = declared;
  const { meta } = view;
  const { parent } = context;
  const idempotency = idempotencyOf(view, context.defaults.idempotency, declared);
  const path = templateOf(pattern);
  const isSingleton = key.singleton !== undefined;
  const named = { action, variant, words, method, detail, basename, isSingleton, entity: meta?.className, parent };
  const guarded = parent?.guard(handler, proof, declared.pageMembers?.['results'] ?? 'results') ?? handler;
  let responses: OperationPlan['responses'] | undefined;
  return Object.freeze({
    action,
    variant,
    operationId: freeId(operationIdOf(named), method, takenIds),
    route: `${basename}-${urlName}`,
    method,
    path,
    pattern,
    detail,
    pathParameters: pathParametersOf(path, { ...parent?.keySchemas, pk: key.schema }),
    queryParameters: method === 'QUERY' ? [] : parameters,
    headerParameters: [...(declared.headerParameters ?? []), ...keyParameters(idempotency)],
    body: method === 'QUERY' ? queryBody(parameters) : bodyOf(declared),
    envelope: declared.recordsMember,
    pageMembers: declared.pageMembers ?? {},
    readShapes: declared.readShapes ?? [],
    writeShapes: declared.writeShapes ?? [],
    get responses() {
      return (responses ??= responsesOf(this));
    },
    allowsAnonymous: isOpen(mounted, declared),
    permissions,
    refusesAnonymous: permissions.some((permission) => permission[REFUSES_ANONYMOUS](method)),
    rules: makeRules([
      { scope: basename, rules: view.throttles },
      { scope: `${basename}.${action}`, rules: options.throttles ?? [] },
    ]),
    transaction,
    idempotency,
    batchable: mayBePart(view, declared),
    bodyLimit: options.bodyLimit,
    documentation: operationDocumentation(mounted, options, summaryOf(named)),
    view: operationView(view, basename, key.column?.key),
    list: action === 'list' ? lists?.declared : undefined,
    isLive: action === 'list' && variant === undefined && features?.isLive === true,
    handler: overrides === undefined ? guarded : withRejections(guarded, { meta, key, parent }),
  });
}

function operationDocumentation(
  { view: { documentation }, basename }: MountedView,
  options: DeclaredRoute['options'],
  summary: string,
): OperationDocumentation {
  return Object.freeze({
    summary: options.summary ?? summary,
    description: options.description,
    tags: options.tags ?? documentation.tags ?? [basename],
    deprecated: options.deprecated ?? documentation.deprecated ?? false,
    examples: options.examples ?? {},
  });
}

function operationView(
  { name, documentation, meta }: ViewSet,
  basename: string,
  key: string | undefined,
): OperationView {
  const { description, fieldWords = {} } = documentation;
  return Object.freeze({ name, basename, description, entity: meta?.className, key, fieldWords });
}

/** True if the action, or otherwise the view, allows requests without a token. */
function isOpen({ view, definition: { permissions } }: MountedView, declared: DeclaredRoute): boolean {
  const { allowAnonymous, permissionClasses } = declared.options;
  if (allowAnonymous !== undefined) return allowAnonymous;
  if (permissionClasses !== undefined) return isAllowAny(permissionClasses);
  return view.allowAnonymous ?? isAllowAny(permissions.declaredFor(declared.permissionsOf));
}

/**
 * Warns of `allowAnonymous: true` whose every route refuses anonymous requests. It is no error, because a hook of the
 * application may find the user of a request without a token. A route of a feature does not count: the library has set
 * its options.
 */
function warnOfContradictions({ view, actions, context }: MountedView, routes: readonly PlannedRoute[]): void {
  const check = (owner: string, opened: readonly PlannedRoute[]): void => {
    if (opened.length === 0 || opened.some(({ plan }) => !plan.refusesAnonymous)) return;
    const refusing = opened.flatMap(({ plan: { permissions, method } }) =>
      permissions
        .filter((permission) => permission[REFUSES_ANONYMOUS](method))
        .map((permission) => permission.constructor.name),
    );
    const classes = [...new Set(refusing)];
    context.log.warn(
      { view: owner, permissionClasses: classes },
      `${owner}: option "allowAnonymous" is true, but permissionClasses has ${classes.join(', ')}, which refuses every ` +
        'request without a user. To open the routes, add AllowAny or IsSafeMethodOnly.or(…); if a hook of yours finds ' +
        'the user, set the option "user" of the plugin viewset',
    );
  };
  if (context.defaults.findsUser) return;
  if (view.allowAnonymous === true) {
    check(
      view.name,
      routes.filter(({ declared: { options } }) => (options.allowAnonymous ?? options.permissionClasses) === undefined),
    );
  }
  for (const [name, { options }] of actions) {
    if (options.allowAnonymous !== true) continue;
    check(
      `${view.name}.${name}`,
      routes.filter(({ declared }) => declared.action === name),
    );
  }
}

/**
 * Makes the path of a route for Fastify. For every method, a collection action takes precedence over a pk at the same
 * place, so the parameter does not match the names of such actions. It does not match an empty pk either, if the router
 * distinguishes `/products/` from `/products`.
 */
function pathOf(
  { context, definition }: MountedView,
  all: readonly DeclaredRoute[],
  { detail, suffix }: DeclaredRoute,
): string {
  if (!detail || definition.key.singleton !== undefined) return context.path + suffix;
  const reserved = all
    .filter((other) => !other.detail && other.suffix.startsWith('/') && other.suffix.endsWith(suffix))
    .map((other) => other.suffix.slice(1, other.suffix.length - suffix.length))
    .filter((segment) => segment !== '' && !segment.includes('/'))
    .map((segment) => segment.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (!context.ignoresTrailingSlash) reserved.push('');
  // A key may contain line breaks.
  const expression = reserved.length === 0 ? '' : `(^(?!(?:${[...new Set(reserved)].join('|')})$)[^]*$)`;
  return `${context.path}/:pk${expression}${suffix}`;
}

function pathParametersOf(path: string, schemas: Readonly<Record<string, TSchema>>): OperationParameter[] {
  return templateParameters(path).map((name) => {
    return Object.freeze({ name, required: true, schema: schemas[name] ?? Type.String() });
  });
}

/**
 * Makes the function that selects the response by the parameters of a request. Undefined if the operation has no such
 * parameters.
 */
function selectionOf(
  definition: ViewDefinition,
  { action, outputParameters = [] }: DeclaredRoute,
): ((request: FastifyRequest) => void) | undefined {
  if (!isOutputOperation(action) || outputParameters.length === 0) return undefined;
  return (request) => definition.outputs?.select(request, action);
}

interface QuerySchema {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
}

/** Returns the list parameters that a route accepts. An action's own parameters replace those of the same name. */
function listParametersOf(
  { lists }: ViewDefinition,
  { variant, isNarrowed, options: { querystring = {}, listParameters } }: DeclaredRoute,
): readonly ParameterDeclaration[] {
  if (listParameters !== true || lists === undefined) return [];
  const { properties = {} } = querystring as QuerySchema;
  const ofKind = variant === undefined ? lists.parameters : lists.unpagedParameters;
  const parameters = isNarrowed === true ? lists.narrowingParameters : ofKind;
  return parameters.filter(({ name }) => !Object.hasOwn(properties, name));
}

function queryParametersOf(
  definition: ViewDefinition,
  declared: DeclaredRoute,
  words: Readonly<Record<string, Words>>,
): OperationParameter[] {
  const { options, outputParameters = [], isCommaSeparated = false } = declared;
  const { properties = {}, required = [] } = (options.querystring ?? {}) as QuerySchema;
  const worded = (name: string, schema: TSchema): TSchema => ({ ...schema, ...words[name] });
  const declaredNames = Object.entries(properties).map(([name, schema]) => {
    const list = isCommaSeparated ? { isCommaSeparated } : {};
    return { name, required: required.includes(name), schema: worded(name, schema), ...list };
  });
  const ofView = [...outputParameters, ...listParametersOf(definition, declared)].map((parameter) => {
    const schema = worded(parameter.name, parameter.schema);
    return { ...parameter, required: false, schema, isCommaSeparated: true };
  });
  return [...declaredNames, ...ofView];
}

const IDEMPOTENCY_KEY = Type.String({
  minLength: 1,
  maxLength: 257,
  examples: ['"8e03978e-40d5-43dd-bc93-6894a57f9324"'],
  description:
    'A key of 1 to 255 characters, as a rule in double quotes, new for each write: if the request is sent again under its key, it is answered as the first time',
});

/** The methods that repeat their effect if a request is sent twice. */
const TAKES_KEY: ReadonlySet<string> = new Set(['POST', 'PATCH']);

/**
 * Returns how a route handles a key: the action's mode, else the view's, else the plugin's. Undefined if it ignores
 * keys.
 */
function idempotencyOf(
  view: ViewSet,
  idempotency: Idempotency | undefined,
  { action, method, options }: DeclaredRoute,
): OperationPlan['idempotency'] {
  if (!TAKES_KEY.has(method)) return undefined;
  const declared = options.idempotency ?? view.idempotency;
  if (idempotency === undefined && declared !== undefined && declared !== 'off') {
    throw new ImproperlyConfigured(
      `${view.name}.${action}: option "idempotency" needs the option "idempotency" of the plugin viewset, such as new IdempotencyKeys()`,
    );
  }
  // A response can only be stored in a transaction.
  const mode = options.transaction === false ? options.idempotency : (declared ?? idempotency?.mode);
  return mode === 'off' ? undefined : mode;
}

/**
 * Reports whether an operation can be a part of a batch. An action must set `batchable`. An operation must send JSON;
 * by default it must also be built in, and the view's `batchable` overrides that default.
 */
function mayBePart(view: ViewSet, { isBuiltIn, sendsJson, options }: DeclaredRoute): boolean {
  if (isBuiltIn === undefined) return options.batchable === true;
  return sendsJson !== false && (view.batchable ?? isBuiltIn);
}

function keyParameters(mode: OperationPlan['idempotency']): OperationParameter[] {
  if (mode === undefined) return [];
  return [{ name: 'idempotency-key', required: mode === 'required', schema: IDEMPOTENCY_KEY }];
}

function bodyOf({ options: { body, contentTypes }, form }: DeclaredRoute): OperationBody | undefined {
  if (body === undefined && contentTypes === undefined) return undefined;
  return Object.freeze({
    schema: body,
    form: form?.schema,
    required: body !== undefined,
    contentTypes: contentTypes ?? JSON_ONLY,
  });
}

/** The body of a QUERY request, with the parameters of the list as properties. */
function queryBody(parameters: readonly OperationParameter[]): OperationBody {
  return Object.freeze({ schema: querySchema(parameters), required: true, contentTypes: JSON_ONLY });
}

/** Reserves an operationId. If it is taken, adds the method; if that is taken too, adds a number. */
function freeId(wanted: string, method: OperationMethod, taken: Set<string>): string {
  const byMethod = wanted + method.charAt(0) + method.slice(1).toLowerCase();
  let id = taken.has(wanted) ? byMethod : wanted;
  for (let number = 2; taken.has(id); number++) id = `${byMethod}${number}`;
  taken.add(id);
  return id;
}
