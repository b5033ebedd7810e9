import type { FastifySchema, RouteOptions } from 'fastify';
import { Type, type TSchema } from 'typebox';
import { HttpError, ImproperlyConfigured, ParseError } from '../errors.ts';
import { InvalidUsageCollector } from '../invalid-usage-collector.ts';
import { makePermissions, type Permission } from '../permissions/permission.ts';
import { compileValidator } from '../shapes/validator.ts';
import type { RateLimitRule } from '../throttle/rate-limit-rule.ts';
import type { RuleList } from '../throttle/rule-list.ts';
import { type Action, actionsOf, kebabCase } from './action.ts';
import { compileGate } from './gate.ts';
import { OPERATION_ROUTES } from './operations.ts';
import { queryAsSent, withQueryAsSent } from './request-state.ts';
import { type UnknownParameterCheck, unknownParameterCheck } from './unknown-parameters.ts';
import type { OperationSchemas, ViewContext, ViewDefinition } from './view-definition.ts';
import type { OperationHandler, ViewSet } from './viewset.ts';

/** Rules that a view or an action declares, and whose counters they have. */
export interface DeclaredRules {
  readonly scope: string;
  readonly rules: readonly RateLimitRule[];
}

/** Makes the rules that a route is held to: the application's and those declared. */
export type RuleListFactory = (declared: readonly DeclaredRules[]) => RuleList;

/** A view at its place: everything that its routes are made of. */
export interface MountedView {
  readonly view: ViewSet;
  readonly definition: ViewDefinition;
  /** First half of its routes' names, `products`. */
  readonly basename: string;
  readonly context: ViewContext;
  readonly makeRules: RuleListFactory;
}

/** A route of a view before it is Fastify's: operations and actions alike. */
interface ViewRoute {
  readonly action: string;
  readonly routeName: string;
  readonly method: RouteOptions['method'];
  readonly url: string;
  readonly detail: boolean;
  readonly schemas: OperationSchemas & { readonly querystring?: TSchema; readonly summary?: string };
  readonly permissions: readonly Permission[];
  readonly rules: RuleList;
  readonly handler: OperationHandler;
}

/** The paths that a view's routes begin with, as Fastify's router takes them. */
interface ViewPaths {
  readonly collection: string;
  readonly record: string;
}

/** Every route of a view as Fastify takes it. Throws ImproperlyConfigured for what the view declares wrongly. */
export function viewRoutes(mounted: MountedView): RouteOptions[] {
  const { view, definition, context } = mounted;
  const declared = new Set(definition.parameterNames);
  const permissions = makePermissions(view.permissionClasses ?? context.defaults.permissionClasses, view.name);
  const paths: ViewPaths = { collection: context.path, record: recordPath(mounted) };
  const routes = [...operationRoutes(mounted, paths, permissions), ...actionRoutes(mounted, paths, permissions)];
  for (const route of routes) for (const name of propertyNames(route.schemas.querystring)) declared.add(name);
  const ignored = view.ignoreUnknownParameters ?? context.defaults.ignoreUnknownParameters;
  const checkQuery = unknownParameterCheck([...declared], ignored);
  return routes.map((route) => toFastify(mounted, route, checkQuery));
}

function operationRoutes(mounted: MountedView, paths: ViewPaths, permissions: readonly Permission[]): ViewRoute[] {
  const { view, definition, basename } = mounted;
  const rules = mounted.makeRules([{ scope: basename, rules: view.throttles }]);
  const { operations } = definition;
  return OPERATION_ROUTES.filter(({ operation }) => operations.includes(operation)).map(
    ({ operation, method, detail }) => ({
      action: operation,
      routeName: `${basename}-${detail ? 'detail' : 'list'}`,
      method,
      url: detail ? paths.record : paths.collection,
      detail,
      schemas: definition.schemasOf(operation, method === 'PATCH'),
      permissions,
      rules,
      handler: view[operation]!.bind(view),
    }),
  );
}

/** An action is behind the permissions that it declares, else behind the view's. */
function actionRoutes(mounted: MountedView, paths: ViewPaths, viewPermissions: readonly Permission[]): ViewRoute[] {
  return [...actionsOf(mounted.view)].map(([name, declared]) => {
    const own = declared.options.permissionClasses;
    const permissions = own === undefined ? viewPermissions : makePermissions(own, `${mounted.view.name}.${name}`);
    return actionRoute(mounted, paths, name, declared, permissions);
  });
}

function actionRoute(
  mounted: MountedView,
  paths: ViewPaths,
  name: string,
  { options, methods, detail, handler }: Action,
  permissions: readonly Permission[],
): ViewRoute {
  const { view, definition, basename, makeRules } = mounted;
  const base = detail ? paths.record : paths.collection;
  return {
    action: name,
    routeName: `${basename}-${options.urlName ?? kebabCase(name)}`,
    method: methods.map((method) => method.toUpperCase() as 'GET'),
    url: `${base}/${options.urlPath ?? kebabCase(name)}`,
    detail,
    schemas: actionSchemas(options),
    permissions,
    rules: makeRules([
      { scope: basename, rules: view.throttles },
      { scope: `${basename}.${name}`, rules: options.throttles ?? [] },
    ]),
    handler: detail ? onRecord(definition, handler) : handler,
  };
}

function actionSchemas({ body, querystring, response, summary }: Action['options']): ViewRoute['schemas'] {
  return {
    ...(body === undefined ? {} : { body, validateBody: compileValidator(body, 'body') }),
    ...(querystring === undefined ? {} : { querystring }),
    ...(response === undefined ? {} : { response: { 200: response } }),
    ...(summary === undefined ? {} : { summary }),
  };
}

/** A detail action acts on a record that exists and that the request may touch, whether it asks or not. */
function onRecord(definition: ViewDefinition, handler: OperationHandler): OperationHandler {
  if (definition.prepareDetailAction === undefined) return handler;
  return async (request, reply) => {
    await definition.prepareDetailAction!(request);
    return handler(request, reply);
  };
}

/**
 * The path of a record. A collection action beats the pk of the same depth for every method, so the parameter is kept
 * from matching one; nor does it match nothing, where the router tells `/products/` from `/products`.
 */
function recordPath({ view, context }: MountedView): string {
  const reserved = [...actionsOf(view)]
    .filter(([, { detail }]) => !detail)
    .map(([name, { options }]) => (options.urlPath ?? kebabCase(name)).split('/')[0]!)
    .map((segment) => segment.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (!context.ignoresTrailingSlash) reserved.push('');
  return reserved.length === 0 ? `${context.path}/:pk` : `${context.path}/:pk(^(?!(?:${reserved.join('|')})$).*$)`;
}

function toFastify(
  { view, definition }: MountedView,
  route: ViewRoute,
  checkQuery: UnknownParameterCheck | undefined,
): RouteOptions {
  const gate = compileGate({ view, definition, permissions: route.permissions, detail: route.detail });
  return {
    method: route.method,
    url: route.url,
    config: { viewset: { action: route.action, route: route.routeName, rules: route.rules } },
    ...(gate === undefined ? {} : { onRequest: gate }),
    ...(route.schemas.validateBody === undefined ? {} : { preValidation: requireBody }),
    schema: fastifySchema(route),
    validatorCompiler: validatorCompiler(route.schemas),
    handler: withQueryCheck(definition, route, checkQuery),
  };
}

function withQueryCheck(
  definition: ViewDefinition,
  { action, handler }: ViewRoute,
  check: UnknownParameterCheck | undefined,
): OperationHandler {
  if (check === undefined) return handler;
  const checkRest = action === 'list' ? definition.checkListParameters?.bind(definition) : undefined;
  return (request, reply) => {
    try {
      check(queryAsSent(request));
    } catch (error) {
      throw checkRest === undefined ? error : withOtherProblems(error, () => checkRest(request));
    }
    return handler(request, reply);
  };
}

/** One answer names every offending parameter. */
function withOtherProblems(error: unknown, checkRest: () => void): unknown {
  const problems = new InvalidUsageCollector();
  problems.attempt(() => {
    throw error;
  });
  problems.attempt(checkRest);
  try {
    problems.throwIfAny();
  } catch (all) {
    return all;
  }
  return error;
}

const PK_PARAMS = Type.Object({ pk: Type.String() });

/** For documentation, serialization, and to have Fastify call the validators below. */
function fastifySchema({ schemas, detail, routeName, action }: ViewRoute): FastifySchema {
  const schema: Record<string, unknown> = { operationId: `${routeName}-${action}`, tags: [routeName.split('-')[0]] };
  if (schemas.summary !== undefined) schema['summary'] = schemas.summary;
  if (schemas.body !== undefined) schema['body'] = schemas.body;
  if (schemas.querystring !== undefined) schema['querystring'] = schemas.querystring;
  if (schemas.response !== undefined) schema['response'] = schemas.response;
  if (detail) schema['params'] = PK_PARAMS;
  return schema;
}

type Validate = (value: unknown) => { value: unknown } | { error: Error };

/** Bodies and query strings are checked by the shapes' own validators; the pk was read before the body came in. */
function validatorCompiler(schemas: ViewRoute['schemas']): NonNullable<RouteOptions['validatorCompiler']> {
  const readQuery = schemas.querystring === undefined ? undefined : compileValidator(schemas.querystring, 'query');
  return ({ httpPart }) => {
    if (httpPart === 'body' && schemas.validateBody !== undefined) return caught(schemas.validateBody);
    if (httpPart === 'querystring' && readQuery !== undefined) {
      return caught((sent) => withQueryAsSent(readQuery(sent) as object, sent as object));
    }
    return (value: unknown) => ({ value });
  };
}

/** Fastify hands a missing body to the validator as null, which is JSON of another kind: the two are told apart before. */
const requireBody: NonNullable<RouteOptions['preValidation']> = (request, _reply, done) => {
  if (request.body === undefined) done(new ParseError('A JSON body is required'));
  else done();
};

/** Fastify takes what a validator throws for a fault of the server; what it returns, for one of the client. */
function caught(validate: (value: unknown) => unknown): Validate {
  return (value) => {
    try {
      return { value: validate(value) };
    } catch (error) {
      if (error instanceof HttpError) return { error };
      throw error;
    }
  };
}

function propertyNames(schema: TSchema | undefined): string[] {
  if (schema === undefined) return [];
  const { properties } = schema as { properties?: object };
  if (properties === undefined) throw new ImproperlyConfigured("An action's querystring schema must be a Type.Object");
  return Object.keys(properties);
}
