import type { FastifyRequest } from 'fastify';
import { Type, type TSchema } from 'typebox';
import { mayHaveBody, SAFE_METHODS } from '../methods.ts';
import { checkOptionNames, wrongOption } from '../options.ts';
import { templateOf, templateParameters } from '../path-template.ts';
import { AllowAny } from '../permissions/built-in-permissions.ts';
import { HIDES_RECORDS, makePermissions, type Permission, type PermissionClass } from '../permissions/permission.ts';
import type { ParameterDeclaration } from '../parameters.ts';
import type { BodyMode } from '../shapes/bound-input.ts';
import { compileValidator } from '../schema/validator.ts';
import type { RateLimitRule } from '../throttle/rate-limit-rule.ts';
import type { RuleList } from '../throttle/request-limiter.ts';
import {
  type Action,
  type ActionHooks,
  type ActionOptions,
  kebabCase,
  URL_PATH_RULE,
  type Words,
} from '../viewset/action.ts';
import { isAnswering } from '../viewset/answer.ts';
import { ModelViewSetBase } from '../viewset/model-viewset-base.ts';
import type { Parent, ParentProof } from '../viewset/parent.ts';
import { inTransaction } from '../viewset/transaction.ts';
import type {
  FormFields,
  Operation,
  OperationSchemas,
  Preconditions,
  ViewContext,
  ViewDefinition,
} from '../viewset/view-definition.ts';
import { type OperationHandler, ViewSet } from '../viewset/viewset.ts';
import { headerParameters, sendsTag } from './conditional-requests.ts';
import { operationIdOf, summaryOf } from './operation-names.ts';
import type { OperationBody, OperationMethod, OperationParameter, OperationPlan } from './operation-plan.ts';
import { type DeclaredResponses, operationResponses } from './operation-responses.ts';
import { querySchema } from './query-body.ts';
import type { QueryDeclaration } from './query-check.ts';

/** Makes the rules that a route is held to: the application's and those declared, with the scopes of their counters. */
export type RuleListFactory = (
  declared: readonly { readonly scope: string; readonly rules: readonly RateLimitRule[] }[],
) => RuleList;

/** A view at its place: everything that its plans are made of. */
export interface MountedView {
  readonly view: ViewSet;
  readonly definition: ViewDefinition;
  /** First half of its routes' names, `products`. */
  readonly basename: string;
  readonly context: ViewContext;
  /** The permissions of the view. */
  readonly permissions: readonly Permission[];
  /** The actions of the view and those that its router adds, by name. */
  readonly actions: ReadonlyMap<string, Action>;
  /** Makes the path of an action that declares none. */
  readonly actionPath: (name: string) => string;
  readonly makeRules: RuleListFactory;
  /** The operationIds of the application, to which those of the view are added. */
  readonly takenIds: Set<string>;
}

/** A plan, and the parts of its route that only the request needs. */
export interface PlannedRoute {
  readonly plan: OperationPlan;
  readonly view: ViewSet;
  readonly definition: ViewDefinition;
  /** The place of a nested view. */
  readonly parent: Parent | undefined;
  /** The answers that the view declares. */
  readonly answers: DeclaredResponses;
  /** The view's permissions whose scopes narrow an action that has permissions of its own. */
  readonly scopes: readonly Permission[];
  readonly validateBody: ((body: unknown) => unknown) | undefined;
  /** The body as a form; undefined if the route takes none. */
  readonly form: FormFields | undefined;
  /** True if answers that are records have their `ETag`. */
  readonly tagsAnswers: boolean;
  /** True if requests may be answered by more than one schema. */
  readonly variesAnswers: boolean;
  readonly query: QueryDeclaration;
  readonly hooks: ActionHooks;
  /** True if nobody is let in without a token: the word of the authentication, once the route is registered. */
  needsToken: boolean;
}

/** A route as its view declares it: one of the five operations in the terms of an action. */
interface Declared {
  readonly action: string;
  readonly method: OperationMethod;
  readonly detail: boolean;
  /** The path below the collection or the record, `/recount`; empty for the five operations. */
  readonly suffix: string;
  readonly urlName: string;
  readonly options: { readonly [Option in keyof ActionOptions]?: ActionOptions[Option] | undefined };
  /** The answers as documents have them, if requests may be answered in more than one way. */
  readonly documented?: OperationSchemas['documented'];
  readonly readShapes?: readonly string[] | undefined;
  readonly answerParameters?: readonly ParameterDeclaration[] | undefined;
  readonly validateBody: ((body: unknown) => unknown) | undefined;
  readonly form?: FormFields | undefined;
  readonly validateQuery?: ((query: unknown) => unknown) | undefined;
  /** True if a list of the query string comes in one text. */
  readonly isCommaSeparated?: boolean;
  /** True if a body or the query string names records that may not be there. */
  readonly namesRecords?: boolean;
  /** Those of the view's own operations; an action has none, even if it has the name of one. */
  readonly preconditions?: Preconditions | undefined;
  readonly transaction: boolean;
  readonly handler: OperationHandler;
  /** The proof that the handler gives of the parent of a nested view. */
  readonly proof: ParentProof;
}

/** The five operations, each with its method; `update` has two, and `list` too if the view takes QUERY. */
const OPERATION_ROUTES: readonly { operation: Operation; method: OperationMethod; detail: boolean }[] = [
  { operation: 'list', method: 'GET', detail: false },
  { operation: 'list', method: 'QUERY', detail: false },
  { operation: 'create', method: 'POST', detail: false },
  { operation: 'retrieve', method: 'GET', detail: true },
  { operation: 'update', method: 'PUT', detail: true },
  { operation: 'update', method: 'PATCH', detail: true },
  { operation: 'destroy', method: 'DELETE', detail: true },
];

/** The kinds of bodies that methods take. */
const MODES: Readonly<Partial<Record<OperationMethod, BodyMode>>> = { PUT: 'replace', PATCH: 'change' };

/** The media types of a body that declares none. */
export const JSON_ONLY: readonly string[] = Object.freeze(['application/json']);

/** The media type of a body with files. */
export const FORM_TYPE = 'multipart/form-data';

/** Plans every route of a view. Throws ImproperlyConfigured for a wrong declaration of the view. */
export function planView(mounted: MountedView): PlannedRoute[] {
  const { view } = mounted;
  const declared = [...declaredOperations(mounted), ...declaredBulk(mounted), ...declaredActions(mounted)];
  const routes = declared.map((each) => planRoute(mounted, declared, each));
  const parameters = routes.flatMap(({ plan }) => plan.queryParameters.map(({ name }) => name));
  checkOptionNames(`${view.name}.parameterWords`, view.documentation.parameterWords ?? {}, [...new Set(parameters)]);
  return routes;
}

function declaredOperations({ view, definition }: MountedView): Declared[] {
  return OPERATION_ROUTES.filter(
    ({ operation, method }) =>
      definition.operations.includes(operation) && (method !== 'QUERY' || definition.lists?.takesQuery === true),
  ).map(({ operation, method, detail }) => {
    const schemas = definition.schemasOf(operation, MODES[method] ?? 'create');
    const { body, response, documented, readShapes, validateBody, form } = schemas;
    const { summaries, descriptions, examples } = view.documentation;
    // The library's own operations store all that they write or nothing.
    const isOwn = view instanceof ModelViewSetBase && view[operation] === ModelViewSetBase.prototype[operation];
    return {
      action: operation,
      method,
      detail,
      suffix: '',
      urlName: detail ? 'detail' : 'list',
      options: {
        body,
        contentTypes: form && [...JSON_ONLY, FORM_TYPE],
        responses: response,
        listParameters: operation === 'list',
        summary: summaries?.[operation],
        description: descriptions?.[operation],
        examples: examples?.[operation],
      },
      documented,
      readShapes,
      answerParameters: isAnswering(operation) ? definition.answerParameters : undefined,
      validateBody,
      form,
      preconditions: definition.preconditions,
      transaction: !SAFE_METHODS.has(method) && isOwn,
      handler: operation === 'create' ? createHandler(view) : view[operation]!.bind(view),
      proof: isOwn && findsByPath(view) ? PROOFS[operation] : 'none',
    };
  });
}

/** An array creates several records, if the view takes one. */
function createHandler(view: ViewSet): OperationHandler {
  if (!(view instanceof ModelViewSetBase)) return view.create!.bind(view);
  return (request, reply) =>
    Array.isArray(request.body) ? view.createMany(request, reply) : view.create(request, reply);
}

/** The operations on several records of a collection, which some views have. */
function declaredBulk({ view, definition }: MountedView): Declared[] {
  if (!(view instanceof ModelViewSetBase)) return [];
  const operations = [
    { operation: 'update', method: 'PATCH', handler: 'updateMany' },
    { operation: 'destroy', method: 'DELETE', handler: 'destroyMany' },
  ] as const;
  return operations.flatMap(({ operation, method, handler }) => {
    const schemas = definition.bulkSchemas?.(operation);
    if (schemas === undefined) return [];
    const { body, response, documented, readShapes, querystring, validateBody, validateQuery } = schemas;
    return {
      action: operation,
      method,
      detail: false,
      suffix: '',
      urlName: 'list',
      options: { body, responses: response, querystring },
      documented,
      readShapes,
      answerParameters: isAnswering(operation) ? definition.answerParameters : undefined,
      validateBody,
      validateQuery,
      isCommaSeparated: true,
      namesRecords: true,
      transaction: view[handler] === ModelViewSetBase.prototype[handler],
      handler: view[handler].bind(view),
      proof: 'none' as const,
    };
  });
}

/** Each method of an action is a route of its own. */
function declaredActions({ view, definition, actions, actionPath }: MountedView): Declared[] {
  return [...actions, ...(definition.actions ?? [])].flatMap(([name, { options, methods, detail, handler }]) => {
    const path = options.urlPath ?? actionPath(name);
    const [expected, fits] = URL_PATH_RULE;
    if (!fits(path)) throw wrongOption(`${view.name}.${name}`, 'urlPath', expected, path);
    const { body, querystring } = options;
    const validateBody = body === undefined ? undefined : compileValidator(body, 'body');
    const validateQuery = querystring === undefined ? undefined : compileValidator(querystring, 'query');
    const prepare = detail ? definition.prepareDetailAction : undefined;
    return methods.map((method): Declared => {
      // A write of one record locks it, so that no other comes between what the handler reads and what it stores.
      const transaction = options.transaction ?? (prepare !== undefined && method !== 'get');
      return {
        action: name,
        method: method.toUpperCase() as OperationMethod,
        detail,
        suffix: `/${path}`,
        urlName: options.urlName ?? kebabCase(name),
        options: { ...options, listParameters: options.listParameters ?? (method === 'get' && !detail) },
        validateBody,
        validateQuery,
        transaction,
        handler: actionHandler(handler, prepare, transaction),
        proof: prepare !== undefined && findsByPath(view) ? 'record' : 'none',
      };
    });
  });
}

/** The proofs of the library's own operations. A record is created with its parent, which is found for it. */
const PROOFS: Readonly<Record<Operation, ParentProof>> = {
  list: 'list',
  create: 'parent',
  retrieve: 'record',
  update: 'record',
  destroy: 'record',
};

/** True if the records that a view finds are those of the parents in the path. */
function findsByPath(view: ViewSet): boolean {
  return view instanceof ModelViewSetBase && view.getObject === ModelViewSetBase.prototype.getObject;
}

/** A detail action acts on a record that exists and that the request may touch, even if the handler does not ask. */
function actionHandler(
  handler: OperationHandler,
  prepare: ViewDefinition['prepareDetailAction'],
  transaction: boolean,
): OperationHandler {
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

function planRoute(mounted: MountedView, all: readonly Declared[], declared: Declared): PlannedRoute {
  const { view, definition, context } = mounted;
  const { options } = declared;
  const own = options.permissionClasses;
  const permissions = own === undefined ? mounted.permissions : makePermissions(own, `${view.name}.${declared.action}`);
  const isNarrowed = own !== undefined && options.scope !== 'unrestricted';
  const answers = Object.entries(options.responses ?? {});
  if (options.response !== undefined) answers.unshift(['200', options.response]);
  const documented = declared.documented === undefined ? answers : Object.entries(declared.documented);
  const ignoredParameters = view.ignoreUnknownParameters ?? context.defaults.ignoreUnknownParameters;
  const tagsAnswers = sendsTag(declared.preconditions, declared.action);
  const lists = declared.suffix === '' && declared.action === 'list' ? definition.lists : undefined;
  const responsesOf = (plan: OperationPlan): OperationPlan['responses'] =>
    operationResponses(documented, {
      textTypes: lists?.types,
      headers: lists?.headers ?? {},
      locatesRecord: plan.action === 'create',
      isSafe: SAFE_METHODS.has(plan.method),
      takesBody: mayHaveBody(plan.method),
      namesRecords: declared.namesRecords === true || plan.pathParameters.length > 0,
      checksInput: plan.queryParameters.length > 0 || ignoredParameters !== true,
      allowsAnonymous: plan.allowsAnonymous,
      asksPermissions: permissions.some((permission) => !(permission instanceof AllowAny)),
      hasEntity: view.meta !== undefined,
      sendsTag: tagsAnswers,
      headerParameters: plan.headerParameters,
      mayThrottle: context.defaults.hasThrottleRate || view.throttleRate !== ViewSet.prototype.throttleRate,
      hasRules: plan.rules.has('address') || plan.rules.has('user'),
    });
  const parameters = queryParametersOf(definition, declared, view.documentation.parameterWords ?? {});
  return {
    plan: operationPlan(mounted, permissions, pathOf(mounted, all, declared), { declared, parameters }, responsesOf),
    view,
    definition,
    parent: context.parent,
    answers,
    scopes: isNarrowed ? mounted.permissions.filter((permission) => permission[HIDES_RECORDS]) : [],
    validateBody: declared.validateBody,
    form: declared.form,
    tagsAnswers,
    variesAnswers: declared.documented !== undefined,
    query: {
      validate: declared.validateQuery,
      select: selectionOf(definition, declared),
      ofBody: declared.method === 'QUERY' ? parameters : undefined,
      listParameters: listParametersOf(definition, options).map(({ name }) => name),
      ignored: ignoredParameters,
    },
    hooks: options.hooks ?? {},
    needsToken: false,
  };
}

/** @param responsesOf makes the answers, which only documents read, when they are first asked for */
function operationPlan(
  { view, definition, basename, context: { parent }, makeRules, takenIds }: MountedView,
  permissions: readonly Permission[],
  pattern: string,
  { declared, parameters }: { readonly declared: Declared; readonly parameters: readonly OperationParameter[] },
  responsesOf: (plan: OperationPlan) => OperationPlan['responses'],
): OperationPlan {
  const { action, method, detail, urlName, options, transaction, handler, proof } = declared;
  const { name, documentation, meta } = view;
  const path = templateOf(pattern);
  const named = { action, method, detail, basename, entity: meta?.className, parent };
  let responses: OperationPlan['responses'] | undefined;
  return Object.freeze({
    action,
    operationId: freeId(operationIdOf(named), method, takenIds),
    route: `${basename}-${urlName}`,
    method,
    path,
    pattern,
    detail,
    pathParameters: pathParametersOf(path, { ...parent?.keySchemas, ...(detail ? { pk: definition.key.schema } : {}) }),
    queryParameters: method === 'QUERY' ? [] : parameters,
    headerParameters: headerParameters(declared.preconditions, action),
    body: method === 'QUERY' ? queryBody(parameters) : bodyOf(declared),
    readShapes: declared.readShapes ?? [],
    get responses() {
      return (responses ??= responsesOf(this));
    },
    allowsAnonymous: isOpen(view, options),
    permissions,
    rules: makeRules([
      { scope: basename, rules: view.throttles },
      { scope: `${basename}.${action}`, rules: options.throttles ?? [] },
    ]),
    transaction,
    bodyLimit: options.bodyLimit,
    documentation: Object.freeze({
      summary: options.summary ?? summaryOf(named),
      description: options.description,
      tags: options.tags ?? documentation.tags ?? [basename],
      deprecated: options.deprecated ?? documentation.deprecated ?? false,
      examples: options.examples ?? {},
    }),
    view: Object.freeze({
      name,
      basename,
      description: documentation.description,
      entity: meta?.className,
      key: definition.key.column?.key,
      fieldWords: documentation.fieldWords ?? {},
    }),
    handler: parent?.guard(handler, proof) ?? handler,
  });
}

/** True if the action, or else the view, says that its routes need no token. Nobody else opens a route. */
function isOpen(view: ViewSet, { allowAnonymous, permissionClasses }: Declared['options']): boolean {
  if (allowAnonymous !== undefined) return allowAnonymous;
  if (permissionClasses !== undefined) return isAllowAny(permissionClasses);
  return view.allowAnonymous ?? isAllowAny(view.permissionClasses);
}

function isAllowAny(classes: readonly PermissionClass[] | undefined): boolean {
  return classes?.length === 1 && classes[0] === AllowAny;
}

/**
 * The path of a route as Fastify matches it. A collection action beats the pk of the same depth for every method, so the
 * parameter is kept from matching one; nor does it match nothing, if the router tells `/products/` from `/products`.
 */
function pathOf({ context }: MountedView, all: readonly Declared[], { detail, suffix }: Declared): string {
  if (!detail) return context.path + suffix;
  const reserved = all
    .filter((other) => !other.detail && other.suffix.endsWith(suffix))
    .map((other) => other.suffix.slice(1, other.suffix.length - suffix.length))
    .filter((segment) => segment !== '' && !segment.includes('/'))
    .map((segment) => segment.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (!context.ignoresTrailingSlash) reserved.push('');
  const expression = reserved.length === 0 ? '' : `(^(?!(?:${[...new Set(reserved)].join('|')})$).*$)`;
  return `${context.path}/:pk${expression}${suffix}`;
}

function pathParametersOf(path: string, schemas: Readonly<Record<string, TSchema>>): OperationParameter[] {
  return templateParameters(path).map((name) => {
    return Object.freeze({ name, required: true, schema: schemas[name] ?? Type.String() });
  });
}

/** Makes the function that decides on the answer to a request by its parameters; undefined if the operation has none. */
function selectionOf(
  definition: ViewDefinition,
  { action, answerParameters = [] }: Declared,
): ((request: FastifyRequest) => void) | undefined {
  if (!isAnswering(action) || answerParameters.length === 0) return undefined;
  return (request) => definition.selectAnswer?.(request, action);
}

interface QuerySchema {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
}

/** The parameters of lists that a route takes: an action's own come before those of the same names. */
function listParametersOf(
  { lists }: ViewDefinition,
  { querystring = {}, listParameters }: Declared['options'],
): readonly ParameterDeclaration[] {
  if (listParameters !== true || lists === undefined) return [];
  const { properties = {} } = querystring as QuerySchema;
  return lists.parameters.filter(({ name }) => !Object.hasOwn(properties, name));
}

function queryParametersOf(
  definition: ViewDefinition,
  { options, answerParameters = [], isCommaSeparated = false }: Declared,
  words: Readonly<Record<string, Words>>,
): OperationParameter[] {
  const { properties = {}, required = [] } = (options.querystring ?? {}) as QuerySchema;
  const worded = (name: string, schema: TSchema): TSchema => ({ ...schema, ...words[name] });
  const own = Object.entries(properties).map(([name, schema]) => {
    const list = isCommaSeparated ? { isCommaSeparated } : {};
    return { name, required: required.includes(name), schema: worded(name, schema), ...list };
  });
  const ofView = [...answerParameters, ...listParametersOf(definition, options)].map(({ name, schema }) => {
    return { name, required: false, schema: worded(name, schema), isCommaSeparated: true };
  });
  return [...own, ...ofView];
}

function bodyOf({ options: { body, contentTypes }, form }: Declared): OperationBody | undefined {
  if (body === undefined && contentTypes === undefined) return undefined;
  return Object.freeze({
    schema: body,
    form: form?.schema,
    required: body !== undefined,
    contentTypes: contentTypes ?? JSON_ONLY,
  });
}

/** The body of a QUERY request, which has the parameters of a list as properties. */
function queryBody(parameters: readonly OperationParameter[]): OperationBody {
  return Object.freeze({ schema: querySchema(parameters), required: true, contentTypes: JSON_ONLY });
}

/** Takes an operationId. The second method of an action is named by the method, and what is taken even then by a number. */
function freeId(wanted: string, method: OperationMethod, taken: Set<string>): string {
  const byMethod = wanted + method.charAt(0) + method.slice(1).toLowerCase();
  let id = taken.has(wanted) ? byMethod : wanted;
  for (let number = 2; taken.has(id); number++) id = `${byMethod}${number}`;
  taken.add(id);
  return id;
}
