import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { hasTransactions, lacksTransactions } from '../mikro/transactions.ts';
import { prefixErrors, wrongOption } from '../errors/options.ts';
import type { ParameterDeclaration } from '../http/parameters.ts';
import type { BodyMode } from '../shapes/write/bound-input.ts';
import { checkSpelling } from '../schema/compile-schema.ts';
import { compileValidator } from '../schema/validator.ts';
import type { RateLimitRule } from '../throttle/rate-limit-rule.ts';
import type { RuleList } from '../throttle/request-limiter.ts';
import { type Action, type ActionOptions, ROOT_PATH, URL_PATH_RULE } from '../view/setup/action.ts';
import { kebabCase } from '../support/kebab-case.ts';
import { fillingDeferred } from '../view/request/deferred-records.ts';
import { inTransaction } from '../view/write/transaction.ts';
import { isOutputOperation, isWrite, OPERATION, type Operation, OPERATIONS } from '../view/request/operation.ts';
import type { DeclaredRoute, OperationHandler, OperationMethod } from '../view/setup/declared-route.ts';
import type { ViewContext, ViewDefinition } from '../view/setup/view-definition.ts';
import type { ViewSet } from '../view/viewset.ts';

/** Makes the throttles of a route, the application's and the declared ones, with the scopes of their counters. */
export type RuleListFactory = (
  declared: readonly { readonly scope: string; readonly rules: readonly RateLimitRule[] }[],
) => RuleList;

/** A registered view, with everything that its plans are made of. */
export interface MountedView {
  readonly view: ViewSet;
  readonly definition: ViewDefinition;
  /** The first half of its route names, `products`. */
  readonly basename: string;
  readonly context: ViewContext;
  /** The actions of the view and of its router, by name. */
  readonly actions: ReadonlyMap<string, Action>;
  /** Makes the path of an action without `urlPath`. */
  readonly actionPath: (name: string) => string;
  readonly makeRules: RuleListFactory;
  /** The operationIds of the application. The view adds its own. */
  readonly takenIds: Set<string>;
}

/** The five operations, once for each method. */
const OPERATION_ROUTES = OPERATIONS.flatMap((operation) =>
  OPERATION[operation].methods.map((method) => ({ operation, method })),
);

/** The modes of bodies, by method. */
const MODES: Readonly<Partial<Record<OperationMethod, BodyMode>>> = { PUT: 'replace', PATCH: 'change' };

/** The default media types of bodies. */
export const JSON_ONLY: readonly string[] = Object.freeze(['application/json']);

/** The media type of bodies with files. */
export const FORM_TYPE = 'multipart/form-data';

/** Lists the routes that a view declares. Throws ImproperlyConfigured for a wrong declaration. */
export function declaredRoutes(mounted: MountedView): DeclaredRoute[] {
  const { features } = mounted.definition;
  const extended = (route: DeclaredRoute): DeclaredRoute => features?.extend(route) ?? route;
  const operations = declaredOperations(mounted).map(extended);
  const ofView = [...operations, ...ofFeatures(mounted, operations).map(extended)];
  const routes = [...ofView, ...declaredActions(mounted)];
  if (!hasTransactions(mounted.context.orm)) {
    for (const route of routes) requireNoTransaction(mounted.view, route);
  }
  return routes;
}

/** @throws ImproperlyConfigured for a route that may need a transaction */
function requireNoTransaction({ name }: ViewSet, { action, transactionReasons }: DeclaredRoute): void {
  const reasons = transactionReasons();
  if (reasons.length > 0) throw lacksTransactions(`${name}.${action} (${reasons.join('; ')})`);
}

function declaredOperations({ view, definition }: MountedView): DeclaredRoute[] {
  const { operations, updateMethods, lists } = definition;
  const isOffered = ({ operation, method }: (typeof OPERATION_ROUTES)[number]): boolean => {
    if (!operations.includes(operation)) return false;
    if (method === 'QUERY') return lists?.takesQuery === true;
    return operation !== 'update' || (updateMethods as readonly string[] | undefined)?.includes(method) !== false;
  };
  return OPERATION_ROUTES.filter(isOffered).map(({ operation, method }): DeclaredRoute => {
    const { detail, returns, proof } = OPERATION[operation];
    const { body, response, ...further } = definition.schemas.of(operation, MODES[method] ?? 'create');
    const { summaries, descriptions, examples } = view.documentation;
    const { overrides } = definition;
    // Built-in operations write everything or nothing.
    const isGenerated = overrides !== undefined && !overrides.handles[operation];
    const handled = view[operation]!.bind(view);
    const handler = definition.features?.around(operation, handled) ?? handled;
    return {
      action: operation,
      method,
      detail,
      suffix: '',
      urlName: detail || definition.key.singleton !== undefined ? 'detail' : 'list',
      permissionsOf: operation,
      options: {
        body,
        contentTypes: further.form && [...JSON_ONLY, FORM_TYPE],
        responses: response,
        listParameters: returns === 'list',
        summary: summaries?.[operation],
        description: descriptions?.[operation],
        examples: examples?.[operation],
      },
      recordsAs: isOutputOperation(operation) ? operation : undefined,
      recordsMember: returns === 'record' ? definition.format?.one : undefined,
      pageMembers: returns === 'list' ? definition.lists?.pageMembers : undefined,
      sendsPage: returns === 'list',
      ...further,
      outputParameters: outputParametersOf(definition, operation),
      transaction: isWrite(operation) && isGenerated,
      isBuiltIn: isGenerated,
      transactionReasons: () => (isWrite(operation) ? (definition.transactionReasons?.(operation) ?? []) : []),
      handler: isGenerated ? handler : fillingDeferred(handler),
      proof: isGenerated && !overrides.findsRecord ? proof : 'none',
    };
  });
}

/** The parameters that determine an operation's response. */
function outputParametersOf(
  { outputs, features }: ViewDefinition,
  operation: Operation,
): readonly ParameterDeclaration[] | undefined {
  if (outputs === undefined || !isOutputOperation(operation)) return undefined;
  return [...outputs.parametersOf(operation), ...(features?.parametersOf(operation) ?? [])];
}

/**
 * Lists the routes of a view's features.
 *
 * @throws ImproperlyConfigured if the view declares an action with the name of such a route
 */
function ofFeatures(
  { view, definition: { features }, actions }: MountedView,
  operations: readonly DeclaredRoute[],
): readonly DeclaredRoute[] {
  const routes = features?.routes(operations) ?? [];
  const taken = routes.find(({ action }) => actions.has(action));
  if (taken === undefined) return routes;
  throw new ImproperlyConfigured(
    `${view.name}: its options make a route "${taken.action}", and the view has another action of this name; rename it`,
  );
}

/** Declares a route for each method of an action. */
function declaredActions({ view, definition, actions, actionPath }: MountedView): DeclaredRoute[] {
  return [...actions, ...(definition.actions ?? [])].flatMap(
    ([name, { options, methods, detail, handler, traits }]) => {
      const path = options.urlPath ?? actionPath(name);
      const [expected, fits] = URL_PATH_RULE;
      const isRootPath = path === ROOT_PATH && !detail && view.meta === undefined;
      if (!isRootPath && !fits(path)) throw wrongOption(`${view.name}.${name}`, 'urlPath', expected, path);
      const { body, querystring } = options;
      const compiled = (schema: TSchema | undefined, place: 'body' | 'query') =>
        schema && prefixErrors(`${view.name}.${name}`, () => compileValidator(schema, place));
      for (const [status, schema] of Object.entries({ 200: options.response, ...options.responses })) {
        if (schema) prefixErrors(`${view.name}.${name}: the answer ${status}`, () => checkSpelling(schema));
      }
      const records = recordsOf(definition, options, `${view.name}.${name}`);
      const validateBody = compiled(body, 'body');
      const validateQuery = compiled(querystring, 'query');
      const prepare = detail ? definition.getObject : undefined;
      return methods.map((method): DeclaredRoute => {
        // Its end flushes, so that no change is lost. A detail action locks its record in it.
        const transaction = options.transaction ?? (view.meta !== undefined && method !== 'get');
        return {
          action: name,
          method: method.toUpperCase() as OperationMethod,
          detail,
          suffix: isRootPath ? '' : `/${path}`,
          urlName: options.urlName ?? kebabCase(name),
          permissionsOf: traits?.permissionsOf,
          sendsFile: traits?.sendsFile,
          ...records,
          options: {
            ...options,
            responses: { ...records.responses, ...options.responses },
            listParameters: options.listParameters ?? (method === 'get' && !detail),
          },
          validateBody,
          validateQuery,
          transaction,
          transactionReasons: () =>
            transaction
              ? [`an action by ${method.toUpperCase()} runs in one, unless it says "transaction: false"`]
              : [],
          handler: actionHandler(recorded(handler, definition, transaction), prepare, transaction),
          proof: prepare !== undefined && definition.overrides?.findsRecord === false ? 'record' : 'none',
        };
      });
    },
  );
}

/** Declares the response of an action that contains records of its view. */
function recordsOf(
  { schemas, format, lists, outputs }: ViewDefinition,
  { answers: kind, responses }: ActionOptions,
  owner: string,
): Pick<DeclaredRoute, 'recordsAs' | 'recordsMember' | 'pageMembers' | 'documented' | 'readShapes' | 'schemaFor'> & {
  readonly responses?: Readonly<Record<number, TSchema | null>> | undefined;
} {
  if (kind === undefined) return {};
  if (outputs === undefined) throw new ImproperlyConfigured(`${owner}: option "answers" needs a view of an entity`);
  if (kind === 'page' && lists?.isPaged !== true) {
    throw new ImproperlyConfigured(`${owner}: option "answers" is "page", but the view has no pagination`);
  }
  const recordsAs = kind === 'page' ? 'list' : 'retrieve';
  const { response, documented, readShapes, schemaFor } = schemas.of(recordsAs, 'create');
  return {
    recordsAs,
    responses: response,
    documented: documented && { ...documented, ...responses },
    readShapes,
    schemaFor,
    ...(kind === 'page' ? { pageMembers: lists?.pageMembers } : { recordsMember: format?.one }),
  };
}

/** Makes the handler of an action that records what it changes, if a feature of the view does. */
function recorded(handler: OperationHandler, { features }: ViewDefinition, transaction: boolean): OperationHandler {
  const recorder = features?.recorder;
  if (recorder === undefined || !transaction) return handler;
  return (request, reply) =>
    recorder.of(request).action(
      async () => handler(request, reply),
      () => reply.statusCode < 400,
    );
}

/**
 * Makes the handler of an action. For a detail action, it first checks that the record exists and that the request may
 * access it.
 */
function actionHandler(
  handler: OperationHandler,
  prepare: ViewDefinition['getObject'],
  transaction: boolean,
): OperationHandler {
  const handle = fillingDeferred(
    prepare === undefined
      ? handler
      : async (request, reply) => {
          await prepare(request);
          return handler(request, reply);
        },
  );
  if (!transaction) return handle;
  // A status of 400 or more rolls the transaction back, like an error.
  return (request, reply) =>
    inTransaction(
      request,
      async () => handle(request, reply),
      () => reply.statusCode < 400,
    );
}
