import { Type, type TSchema } from 'typebox';
import { wrongOption } from '../options.ts';
import type { ParameterDeclaration } from '../parameters.ts';
import { templateOf, templateParameters } from '../path-template.ts';
import { AllowAny } from '../permissions/built-in-permissions.ts';
import { HIDES_RECORDS, makePermissions, type Permission, type PermissionClass } from '../permissions/permission.ts';
import { compileValidator } from '../shapes/validator.ts';
import type { RateLimitRule } from '../throttle/rate-limit-rule.ts';
import type { RuleList } from '../throttle/rule-list.ts';
import { type Action, type ActionHooks, type ActionOptions, kebabCase, URL_PATH_RULE } from '../viewset/action.ts';
import { inTransaction } from '../viewset/transaction.ts';
import type { Operation, ViewContext, ViewDefinition } from '../viewset/view-definition.ts';
import { type OperationHandler, ViewSet } from '../viewset/viewset.ts';
import { operationIdOf, summaryOf } from './operation-names.ts';
import type {
  OperationBody,
  OperationDocumentation,
  OperationMethod,
  OperationParameter,
  OperationPlan,
  OperationView,
} from './operation-plan.ts';
import { operationResponses } from './operation-responses.ts';

/** Rules that a view or an action declares, and the scope of their counters. */
export interface DeclaredRules {
  readonly scope: string;
  readonly rules: readonly RateLimitRule[];
}

/** Makes the rules that a route is held to: the application's and those declared. */
export type RuleListFactory = (declared: readonly DeclaredRules[]) => RuleList;

/** A view at its place: everything that its plans are made of. */
export interface MountedView {
  readonly view: ViewSet;
  readonly definition: ViewDefinition;
  /** First half of its routes' names, `products`. */
  readonly basename: string;
  readonly context: ViewContext;
  /** The actions of the view and those that its router adds, by name. */
  readonly actions: ReadonlyMap<string, Action>;
  /** Makes the path of an action that declares none. */
  readonly actionPath: (name: string) => string;
  readonly makeRules: RuleListFactory;
  /** True if an operation of the application has this operationId. */
  readonly isTaken: (operationId: string) => boolean;
}

/** A plan, and the parts of its route that only the request needs. */
export interface PlannedRoute {
  readonly plan: OperationPlan;
  readonly view: ViewSet;
  readonly definition: ViewDefinition;
  /** The view's permissions whose scopes narrow an action that has permissions of its own. */
  readonly scopes: readonly Permission[];
  readonly validateBody: ((body: unknown) => unknown) | undefined;
  readonly validateQuery: ((query: unknown) => unknown) | undefined;
  readonly ignoredParameters: boolean | readonly string[];
  readonly hooks: ActionHooks;
}

/** An operation or an action as its view declares it: everything in which the two differ. */
interface Declared {
  readonly action: string;
  readonly method: OperationMethod;
  readonly detail: boolean;
  /** The path below the collection or the record, `/recount`; empty for the five operations. */
  readonly suffix: string;
  readonly urlName: string;
  readonly options: ActionOptions;
  readonly body: { readonly schema: TSchema; readonly validate: (body: unknown) => unknown } | undefined;
  readonly responses: Readonly<Record<number, TSchema | null>>;
  readonly takesListParameters: boolean;
  /** True if the handler runs in a transaction that it has not begun itself. */
  readonly transaction: boolean;
  readonly handler: OperationHandler;
}

/** The five operations, each with its method; `update` has two. */
const OPERATION_ROUTES: readonly { operation: Operation; method: OperationMethod; detail: boolean }[] = [
  { operation: 'list', method: 'GET', detail: false },
  { operation: 'create', method: 'POST', detail: false },
  { operation: 'retrieve', method: 'GET', detail: true },
  { operation: 'update', method: 'PUT', detail: true },
  { operation: 'update', method: 'PATCH', detail: true },
  { operation: 'destroy', method: 'DELETE', detail: true },
];

const JSON_ONLY: readonly string[] = Object.freeze(['application/json']);

/** Plans every route of a view. Throws ImproperlyConfigured for a wrong declaration of the view. */
export function planView(mounted: MountedView): PlannedRoute[] {
  const { view, context } = mounted;
  const permissions = makePermissions(view.permissionClasses ?? context.defaults.permissionClasses, view.name);
  const declared = [...declaredOperations(mounted), ...declaredActions(mounted)];
  const ids = new Set<string>();
  return declared.map((each) => {
    const planned = planRoute(mounted, permissions, declared, each, (id) => ids.has(id) || mounted.isTaken(id));
    ids.add(planned.plan.operationId);
    return planned;
  });
}

function declaredOperations({ view, definition }: MountedView): Declared[] {
  return OPERATION_ROUTES.filter(({ operation }) => definition.operations.includes(operation)).map(
    ({ operation, method, detail }) => {
      const { body, response = {}, validateBody } = definition.schemasOf(operation, method === 'PATCH');
      const summary = view.documentation.summaries?.[operation];
      return {
        action: operation,
        method,
        detail,
        suffix: '',
        urlName: detail ? 'detail' : 'list',
        options: summary === undefined ? {} : { summary },
        body: body === undefined || validateBody === undefined ? undefined : { schema: body, validate: validateBody },
        responses: response,
        takesListParameters: operation === 'list',
        transaction: false,
        handler: view[operation]!.bind(view),
      };
    },
  );
}

/** Each method of an action is a route of its own. */
function declaredActions({ view, definition, actions, actionPath }: MountedView): Declared[] {
  return [...actions].flatMap(([name, { options, methods, detail, handler }]) => {
    const path = options.urlPath ?? actionPath(name);
    const [expected, fits] = URL_PATH_RULE;
    if (!fits(path)) throw wrongOption(`${view.name}.${name}`, 'urlPath', expected, path);
    const { body, response } = options;
    return methods.map((method) => {
      const transaction = hasTransaction(definition, detail, method, options);
      return {
        action: name,
        method: method.toUpperCase() as OperationMethod,
        detail,
        suffix: `/${path}`,
        urlName: options.urlName ?? kebabCase(name),
        options,
        body: body === undefined ? undefined : { schema: body, validate: compileValidator(body, 'body') },
        responses: { ...(response === undefined ? {} : { 200: response }), ...options.responses },
        takesListParameters: options.listParameters ?? (method === 'get' && !detail),
        transaction,
        handler: actionHandler(definition, detail, transaction, handler),
      };
    });
  });
}

/**
 * An action that writes one record has a transaction unless it says otherwise: its record is then locked, so that no other
 * write comes between what the handler reads and what it stores.
 */
function hasTransaction(
  definition: ViewDefinition,
  detail: boolean,
  method: Action['methods'][number],
  options: ActionOptions,
): boolean {
  const writesRecord = detail && method !== 'get' && definition.prepareDetailAction !== undefined;
  return options.transaction ?? writesRecord;
}

/** A detail action acts on a record that exists and that the request may touch, even if the handler does not ask. */
function actionHandler(
  definition: ViewDefinition,
  detail: boolean,
  transaction: boolean,
  handler: OperationHandler,
): OperationHandler {
  const prepare = detail ? definition.prepareDetailAction?.bind(definition) : undefined;
  const handle: OperationHandler =
    prepare === undefined
      ? handler
      : async (request, reply) => {
          await prepare(request);
          return handler(request, reply);
        };
  if (!transaction) return handle;
  // An answer that says that the action failed undoes it, thrown or not.
  return (request, reply) =>
    inTransaction(
      request,
      async () => handle(request, reply),
      () => reply.statusCode < 400,
    );
}

function planRoute(
  mounted: MountedView,
  viewPermissions: readonly Permission[],
  all: readonly Declared[],
  declared: Declared,
  isTaken: (operationId: string) => boolean,
): PlannedRoute {
  const { view, definition, basename, context } = mounted;
  const { action, method, detail, options } = declared;
  const own = options.permissionClasses;
  const pattern = detail ? recordPath(mounted, all, declared.suffix) : context.path + declared.suffix;
  const path = templateOf(pattern);
  const rules = mounted.makeRules([
    { scope: basename, rules: view.throttles },
    { scope: `${basename}.${action}`, rules: options.throttles ?? [] },
  ]);
  const named = { action, method, detail, basename, entity: view.meta?.className };
  const plan: Omit<OperationPlan, 'responses'> = {
    action,
    operationId: freeId(operationIdOf(named), method, isTaken),
    route: `${basename}-${declared.urlName}`,
    method,
    path,
    pattern,
    detail,
    pathParameters: pathParametersOf(path, detail ? definition.pkSchema : undefined),
    queryParameters: queryParametersOf(definition, declared),
    body: bodyOf(declared),
    allowsAnonymous: isOpen(view, options),
    permissions: own === undefined ? viewPermissions : makePermissions(own, `${view.name}.${action}`),
    rules,
    transaction: declared.transaction,
    bodyLimit: options.bodyLimit,
    documentation: documentationOf(mounted, options, summaryOf(named)),
    view: viewOf(mounted),
    handler: declared.handler,
  };
  const isNarrowed = own !== undefined && options.scope !== 'unrestricted';
  const ignoredParameters = view.ignoreUnknownParameters ?? context.defaults.ignoreUnknownParameters;
  return {
    plan: Object.freeze({ ...plan, responses: responsesOf(mounted, declared, plan, ignoredParameters) }),
    view,
    definition,
    scopes: isNarrowed ? viewPermissions.filter((permission) => permission[HIDES_RECORDS]) : [],
    validateBody: declared.body?.validate,
    validateQuery: options.querystring === undefined ? undefined : compileValidator(options.querystring, 'query'),
    ignoredParameters,
    hooks: options.hooks ?? {},
  };
}

function responsesOf(
  { view, context }: MountedView,
  { action, responses }: Declared,
  plan: Omit<OperationPlan, 'responses'>,
  ignoredParameters: boolean | readonly string[],
): OperationPlan['responses'] {
  const { rules, permissions } = plan;
  return operationResponses(responses, action === 'create', {
    isSafe: plan.method === 'GET',
    hasPathParameters: plan.pathParameters.length > 0,
    checksInput: plan.queryParameters.length > 0 || ignoredParameters !== true,
    allowsAnonymous: plan.allowsAnonymous,
    asksPermissions: permissions.some((permission) => !(permission instanceof AllowAny)),
    hasEntity: view.meta !== undefined,
    mayThrottle: context.defaults.hasThrottleRate || view.throttleRate !== ViewSet.prototype.throttleRate,
    hasRules: rules.has('address') || rules.has('user'),
  });
}

function documentationOf(
  { view: { documentation }, basename }: MountedView,
  options: ActionOptions,
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

function viewOf({ view, basename }: MountedView): OperationView {
  const { name, documentation, meta } = view;
  return Object.freeze({ name, basename, description: documentation.description, entity: meta?.className });
}

/** True if the action, or else the view, says that its routes need no token. Nobody else opens a route. */
function isOpen(view: ViewSet, { allowAnonymous, permissionClasses }: ActionOptions): boolean {
  if (allowAnonymous !== undefined) return allowAnonymous;
  if (permissionClasses !== undefined) return isAllowAny(permissionClasses);
  return view.allowAnonymous ?? isAllowAny(view.permissionClasses);
}

function isAllowAny(classes: readonly PermissionClass[] | undefined): boolean {
  return classes?.length === 1 && classes[0] === AllowAny;
}

/**
 * The path of a record, or of an action on it. A collection action beats the pk of the same depth for every method, so the
 * parameter is kept from matching one; nor does it match nothing, if the router tells `/products/` from `/products`.
 */
function recordPath({ context }: MountedView, all: readonly Declared[], suffix: string): string {
  const reserved = all
    .filter((other) => !other.detail && other.suffix.endsWith(suffix))
    .map((other) => other.suffix.slice(1, other.suffix.length - suffix.length))
    .filter((segment) => segment !== '' && !segment.includes('/'))
    .map((segment) => segment.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (!context.ignoresTrailingSlash) reserved.push('');
  const expression = reserved.length === 0 ? '' : `(^(?!(?:${[...new Set(reserved)].join('|')})$).*$)`;
  return `${context.path}/:pk${expression}${suffix}`;
}

function pathParametersOf(path: string, pkSchema: TSchema | undefined): OperationParameter[] {
  return templateParameters(path).map((name) => {
    const schema = name === 'pk' && pkSchema !== undefined ? pkSchema : Type.String();
    return Object.freeze({ name, required: true, schema });
  });
}

/** An action's own parameters come before the list's of the same names. */
function queryParametersOf(definition: ViewDefinition, declared: Declared): OperationParameter[] {
  const { properties = {}, required = [] } = (declared.options.querystring ?? {}) as {
    properties?: Record<string, TSchema>;
    required?: readonly string[];
  };
  const own = Object.entries(properties).map(([name, schema]) => ({ name, required: required.includes(name), schema }));
  const ofList: readonly ParameterDeclaration[] = declared.takesListParameters ? definition.listParameters : [];
  const rest = ofList.filter(({ name }) => !Object.hasOwn(properties, name));
  return [...own, ...rest.map(({ name, schema }) => ({ name, required: false, schema }))];
}

function bodyOf({ body, options }: Declared): OperationBody | undefined {
  if (body === undefined && options.contentTypes === undefined) return undefined;
  return Object.freeze({
    schema: body?.schema,
    required: body !== undefined,
    contentTypes: options.contentTypes ?? JSON_ONLY,
  });
}

/** The second method of an action is named by the method, and what is taken even then by a number. */
function freeId(wanted: string, method: OperationMethod, isTaken: (id: string) => boolean): string {
  if (!isTaken(wanted)) return wanted;
  const byMethod = wanted + method.charAt(0) + method.slice(1).toLowerCase();
  let id = byMethod;
  for (let number = 2; isTaken(id); number++) id = `${byMethod}${number}`;
  return id;
}
