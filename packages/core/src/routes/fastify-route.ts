import type {
  FastifyRequest,
  FastifySchema,
  onSendHookHandler,
  preValidationAsyncHookHandler,
  preValidationHookHandler,
  RouteOptions,
} from 'fastify';
import type { TSchema } from 'typebox';
import { type Awaitable, runHook, whenReady, withError } from '../support/awaitable.ts';
import { HttpError, ImproperlyConfigured, ParseError, UnsupportedMediaType } from '../errors/errors.ts';
import { isRecord } from '../support/json.ts';
import { mayHaveBody, sendsContent } from '../http/methods.ts';
import { HTTP_200_OK, isSuccess } from '../http/status.ts';
import { PLAIN_FORMAT, type RecordFormat } from '../view/output/record-format.ts';
import type { ActionHooks } from '../view/setup/action.ts';
import { placedError } from '../view/request/placed-error.ts';
import { stateOf } from '../view/request/request-state.ts';
import type { ResponseHook, OperationHandler } from '../view/setup/declared-route.ts';
import { formReading, isForm } from './form-body.ts';
import { respondByKey, rememberBody } from './keyed-responses.ts';
import { compileGate } from './gate.ts';
import type { OperationParameter, OperationPlan } from './operation-plan.ts';
import { JSON_ONLY } from './declared-routes.ts';
import type { PlannedRoute } from './plan-view.ts';
import { documentedResponses, serializedResponses } from './operation-responses.ts';
import { placedInBody, queryStringCheck } from './query-body.ts';
import { compileQueryCheck } from './query-check.ts';

type RouteHooks = { [Name in keyof ActionHooks]: ActionHooks[Name] | undefined };

/** The Fastify scope of a router's routes. */
export interface RouteScope {
  /** True if any route of the scope reads media types other than JSON. */
  readonly readsOtherTypes: boolean;
  /**
   * True while Fastify reads the schemas to compile serializers. It then sees only the declared responses. At other
   * times it sees all responses of the plan.
   */
  isCompiling: boolean;
}

/** Makes the options of a route from its plan. */
export function fastifyRoute(route: PlannedRoute, scope: RouteScope): RouteOptions {
  const { plan, hooks } = route;
  const { refuseBody, beforeHandler } = route.declared;
  const beforeSerialization = afterHandler(route);
  const routeHooks: RouteHooks = {
    onRequest: compileGate(route),
    preParsing: scope.readsOtherTypes && mayHaveBody(plan.method) ? mediaTypeCheck(plan) : undefined,
    preValidation: [readForm(route) ?? [], rememberBody(route) ?? [], beforeValidation(route) ?? []].flat(),
    preHandler: [refuseBody === undefined ? [] : placedInRequest(route, refuseBody), beforeHandler ?? []].flat(),
    preSerialization: beforeSerialization,
    onSend: responseCheck(route),
  };
  return {
    ...chainHooks(routeHooks, hooks),
    method: plan.method,
    url: plan.pattern,
    config: { viewset: plan, ...(plan.allowsAnonymous ? { public: true } : {}) },
    ...(plan.bodyLimit === undefined ? {} : { bodyLimit: plan.bodyLimit }),
    schema: fastifySchema(route, scope),
    validatorCompiler: validatorCompiler(route),
    handler: respondByKey(route, handlerOf(route), beforeSerialization),
  };
}

/** Makes the handler. Its errors point to places in the request as it was sent. */
function handlerOf(route: PlannedRoute): OperationHandler {
  const { plan, query } = route;
  return query.ofBody === undefined ? placedInRequest(route, plan.handler) : placedInBody(plan.handler);
}

/** Makes the errors of a step point to places in the body as it was sent. */
function placedInRequest<Arguments extends readonly [FastifyRequest, ...unknown[]], Result>(
  { definition, declared: { readBody } }: PlannedRoute,
  step: (...given: Arguments) => Awaitable<Result>,
): (...given: Arguments) => Awaitable<Result> {
  if (readBody === undefined || definition.format === PLAIN_FORMAT) return step;
  return withError(step, (error, [request]) => placedError(error, stateOf(request).input?.path));
}

/**
 * Puts the records of a successful response into the view's format. The paginator has already named the members of a
 * page.
 */
function inFormat(format: RecordFormat, isList: boolean, hasRecords: (status: number) => boolean): ResponseHook {
  return (_request, { statusCode }, payload, done) => {
    if (!hasRecords(statusCode)) return done(null, payload);
    if (Array.isArray(payload)) return done(null, isList ? format.wrapList(payload) : format.wrapMany(payload));
    done(null, isList || !isRecord(payload) ? payload : format.wrapOne(payload));
  };
}

/** Lists the library's hooks that see a response before it is serialized. */
function afterHandler(route: PlannedRoute): ResponseHook[] {
  const { plan, definition } = route;
  const { recordsAs: action, documented, schemaFor, beforeSending } = route.declared;
  const { format = PLAIN_FORMAT } = definition;
  if (action === undefined) return [];
  // Other 2xx responses of an action have their own schemas.
  const hasRecords = plan.action === action ? isSuccess : (status: number): boolean => status === HTTP_200_OK;
  // A HEAD request needs the length of the serialized response, even with a 304.
  return [
    format === PLAIN_FORMAT ? [] : inFormat(format, action === 'list', hasRecords),
    documented === undefined || schemaFor === undefined ? [] : serializeBy(schemaFor, hasRecords),
    beforeSending ?? [],
  ].flat();
}

/** Serializes responses with records by the schema of the request, if there is one. Fastify caches compiled schemas. */
function serializeBy(
  schemaOf: (request: FastifyRequest) => TSchema | undefined,
  hasRecords: (status: number) => boolean,
): ResponseHook {
  return (request, reply, payload, done) => {
    const schema = hasRecords(reply.statusCode) ? schemaOf(request) : undefined;
    if (schema !== undefined) {
      void reply.serializer(reply.compileSerializationSchema(schema as TSchema & Record<string, unknown>));
    }
    done(null, payload);
  };
}

/** Runs the library's hooks before the action's hooks. */
function chainHooks(routeHooks: RouteHooks, hooks: ActionHooks): ActionHooks {
  const names = Object.keys({ ...routeHooks, ...hooks }) as (keyof ActionHooks)[];
  const chains = names.map((name) => [name, [routeHooks[name] ?? [], hooks[name] ?? []].flat()] as const);
  return Object.fromEntries(chains.filter(([, chain]) => chain.length > 0)) as ActionHooks;
}

/** Makes the schema that documents the route. It also makes Fastify call the validators below. */
function fastifySchema(route: PlannedRoute, scope: RouteScope): FastifySchema {
  const { plan } = route;
  const { pathParameters, queryParameters, headerParameters, body, documentation } = plan;
  const { summary, description, tags, deprecated, examples } = documentation;
  const schema = {
    operationId: plan.operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    tags,
    ...(deprecated ? { deprecated } : {}),
    ...(plan.allowsAnonymous && !plan.refusesAnonymous ? { security: [] } : {}),
    ...(pathParameters.length === 0 ? {} : { params: objectOf(pathParameters) }),
    ...(queryParameters.length === 0 ? {} : { querystring: objectOf(queryParameters) }),
    ...(headerParameters.length === 0 ? {} : { headers: objectOf(headerParameters) }),
    ...(body?.schema === undefined
      ? {}
      : { body: examples.body === undefined ? body.schema : { ...body.schema, examples: [examples.body] } }),
    ...(body === undefined ? {} : { consumes: body.contentTypes }),
  } as FastifySchema;
  return defineResponses(schema, route, scope);
}

/** Adds the responses to the schema of a route. They are built when first read. */
function defineResponses(
  schema: FastifySchema,
  { plan, responses }: PlannedRoute,
  scope: RouteScope,
  copied?: unknown,
): FastifySchema {
  let documented = copied;
  return Object.defineProperty(schema, 'response', {
    enumerable: true,
    configurable: true,
    get: () => (scope.isCompiling ? serializedResponses(responses) : (documented ??= documentedResponses(plan))),
    set: (given: unknown) => {
      documented = given;
    },
  });
}

/**
 * Makes Fastify compile the declared responses even if a hook of the application has replaced the route's schema by a
 * copy. The copy contains the responses for documents.
 */
export function keepResponses(schema: FastifySchema, route: PlannedRoute, scope: RouteScope): void {
  const copied = Object.getOwnPropertyDescriptor(schema, 'response');
  if (copied !== undefined && 'value' in copied) defineResponses(schema, route, scope, copied.value);
}

function objectOf(parameters: readonly OperationParameter[]): object {
  const properties = Object.fromEntries(parameters.map(({ name, schema }) => [name, schema]));
  const required = parameters.filter(({ required: isRequired }) => isRequired).map(({ name }) => name);
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) };
}

type Validate = (value: unknown) => { value: unknown } | { error: Error };

/**
 * Makes the validators of a route. Only the body of an action is checked here. Keys, query strings and bodies of
 * operations are checked before.
 */
function validatorCompiler({
  declared: { validateBody },
}: PlannedRoute): NonNullable<RouteOptions['validatorCompiler']> {
  return ({ httpPart }) => {
    if (httpPart !== 'body' || validateBody === undefined) return (value: unknown) => ({ value });
    // Only media types other than JSON arrive as a Buffer.
    return caught((body) => (Buffer.isBuffer(body) ? body : validateBody(body)));
  };
}

/** Returns client errors instead of throwing them, because Fastify treats thrown validator errors as server errors. */
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

/** Reads a form into the body. */
function readForm({ declared: { form } }: PlannedRoute): preValidationAsyncHookHandler | undefined {
  if (form === undefined) return undefined;
  const read = formReading(form);
  return async (request, reply) => {
    if (isForm(request)) request.body = await read(request, reply);
  };
}

/** Checks the query string, rejects a missing body, and reads the body of an operation. */
function beforeValidation({
  plan,
  definition,
  query,
  declared: { readBody },
}: PlannedRoute): preValidationHookHandler | undefined {
  const needsBody = plan.body?.required === true;
  const declared = (query.ofBody ?? plan.queryParameters).map(({ name }) => name);
  const check = compileQueryCheck(
    query,
    declared,
    definition.lists && ((request) => definition.lists!.filters.check(request)),
  );
  const checkQuery = query.ofBody === undefined ? check : check && placedInBody(check);
  const checkUrl = query.ofBody && queryStringCheck(query.ofBody, query.ignored);
  if (!needsBody && checkQuery === undefined) return undefined;
  const read = (request: FastifyRequest): void => {
    if (readBody === undefined) return;
    const input = readBody(request, isForm(request));
    stateOf(request).input = input;
    request.body = input.value;
  };
  return (request, _reply, done) => {
    runHook(() => {
      // Fastify would pass a missing body to the validator as null, which is a valid JSON value.
      if (needsBody && request.body === undefined) throw new ParseError('A JSON body is required');
      checkUrl?.(request);
      return whenReady(checkQuery?.(request), () => read(request));
    }, done);
  };
}

/** Rejects a media type that only other routes of the scope read. */
function mediaTypeCheck({ body }: OperationPlan): NonNullable<RouteOptions['preParsing']> {
  const types = body?.contentTypes ?? JSON_ONLY;
  const allowed = new Set(types);
  return (request, _reply, payload, done) => {
    const type = request.headers['content-type']?.split(';')[0]!.trim().toLowerCase();
    if (type === undefined || allowed.has(type) || !sendsContent(request)) done(null, payload);
    else done(new UnsupportedMediaType(`The media type is not supported; send ${types.join(' or ')}`));
  };
}

/**
 * Makes the check of 2xx responses: the status must be declared, and a status that is declared without a body must have
 * none.
 */
function responseCheck({
  plan: { operationId },
  responses,
  restrictsStatuses,
}: PlannedRoute): onSendHookHandler | undefined {
  const declared = new Map(
    responses.map(([status, schema]) => [Number(status), schema] as const).filter(([status]) => isSuccess(status)),
  );
  if (declared.size < (restrictsStatuses ? 1 : 2)) return undefined;
  const known = [...declared.keys()].join(', ');
  return (_request, { statusCode }, payload, done) => {
    if (!isSuccess(statusCode)) return done(null, payload);
    const schema = declared.get(statusCode);
    if (schema === undefined) {
      return done(new ImproperlyConfigured(`${operationId} answered ${statusCode}, but declares ${known}`));
    }
    // Node drops the body of a 204.
    const hasBody = statusCode !== 204 && payload !== undefined && payload !== null && payload !== '';
    if (schema !== null || !hasBody) return done(null, payload);
    done(new ImproperlyConfigured(`${operationId} sent ${statusCode} with a body, but declares it without one`));
  };
}
