import swagger from '@fastify/swagger';
import { type OperationPlan, sendStaticFile, type StaticFile, staticFile } from '@viewset/core';
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  RouteOptions,
} from 'fastify';
import fp from 'fastify-plugin';
import { stringify } from 'yaml';
import { asOpenapi31, completeDocument, type JsonObject, OPENAPI_VERSION, type DocumentedRoute } from './document.ts';
import { isObject } from './json-schema.ts';
import { type OpenapiOptions, resolveOptions, type ResolvedOptions } from './options.ts';
import { addReferencePage } from './reference-page.ts';
import { referenceNames } from './references.ts';

/**
 * Serves the OpenAPI 3.1 document of an application (`GET /openapi.json`, `GET /openapi.yaml`) and a page that shows it
 * (`GET /docs`). The document describes all views, and the application's own routes by their schemas. These routes need
 * no token and contact no other server.
 *
 * Register it before all routes that it should describe, ideally before all other plugins. If the application uses
 * `@fastify/swagger`, register that first. This plugin then completes its document, and `app.swagger()` returns the
 * complete one.
 *
 * Throws ImproperlyConfigured if an option is wrong.
 *
 * @example
 * const app = fastify(serverOptions());
 * await app.register(openapi, { info: { title: 'Shop', version: '1.0.0' } });
 * await app.register(viewset, { orm });
 */
export const openapi = fp(
  async (app: FastifyInstance, given: OpenapiOptions): Promise<void> => {
    const isRegisteredHere = !app.hasDecorator('swagger');
    const options = resolveOptions(given, isRegisteredHere);
    const routes = rememberRoutes(app);
    warnOfEarlierViews(app, routes);
    if (isRegisteredHere) await app.register(swagger, swaggerOptions(options));
    const describeApplication = app.swagger;
    if (!isRegisteredHere) {
      app.addHook('onReady', async () => void asOpenapi31(describeApplication() as unknown as JsonObject));
    }
    let document: JsonObject | undefined;
    const complete = (): JsonObject =>
      (document ??= completeDocument(
        asOpenapi31(describeApplication() as unknown as JsonObject),
        documentedRoutes(routes),
        options,
      ));
    // Other pages that use `app.swagger()`, such as @fastify/swagger-ui, then show the complete document.
    app.swagger = ((format?: { yaml?: boolean }) =>
      format?.yaml === true ? yamlOf(complete()) : complete()) as unknown as FastifyInstance['swagger'];
    if (options.path !== null) addDocument(app, options.path, complete);
    if (options.path !== null && options.docsPath !== null) {
      addReferencePage(app, options.docsPath, `${app.prefix}${options.path}.json`, options.info?.title);
    }
  },
  { name: '@viewset/openapi', fastify: '5.x' },
);

/** A route and its scope. */
interface ScopedRoute {
  readonly scope: FastifyInstance;
  readonly route: RouteOptions;
}

/** Collects the routes that are registered from now on. */
function rememberRoutes(app: FastifyInstance): readonly ScopedRoute[] {
  const routes: ScopedRoute[] = [];
  app.addHook('onRoute', function (route) {
    routes.push({ scope: this, route });
  });
  return routes;
}

/**
 * Warns at start if the application has views but the document has none of their routes, because the plugin was
 * registered after them.
 */
function warnOfEarlierViews(app: FastifyInstance, routes: readonly ScopedRoute[]): void {
  app.addHook('onReady', async () => {
    if (!app.hasDecorator('viewset') || app.viewset.operations.length === 0) return;
    if (routes.some(({ route }) => route.config?.viewset !== undefined)) return;
    app.log.warn('openapi: the document has no route of a view; register openapi before the routers');
  });
}

/**
 * The routes to document. Each plan appears once, under its path without a trailing slash. HEAD is left out, and so is
 * QUERY, which OpenAPI 3.1 does not support.
 */
function documentedRoutes(routes: readonly ScopedRoute[]): DocumentedRoute[] {
  const seen = new Set<OperationPlan>();
  return routes.flatMap(({ scope, route }) => {
    const { config, url } = route;
    const methods = [route.method].flat().map((method) => method.toLowerCase());
    const plan = config?.viewset;
    if (methods[0] === 'head' || plan?.method === 'QUERY' || (plan !== undefined && seen.has(plan))) return [];
    if (plan !== undefined) seen.add(plan);
    const path = swagger.formatParamUrl(plan?.path ?? url);
    const responses = plan?.responses ?? (scope.hasDecorator('viewset') ? scope.viewset.responsesOf(route) : {});
    const hasOptionalBody = config?.optionalBody === true;
    return [{ path, methods, plan, needsToken: needsToken(config), responses, hasOptionalBody }];
  });
}

/**
 * Tells if a route needs a token, according to the authentication or, for a view, its permissions. Without either, no
 * token is needed. Undefined for a route of the application if nothing says so; its own `security` then applies.
 */
function needsToken({ viewset: plan, needsToken: isStated, public: isOpen }: FastifyContextConfig = {}):
  | boolean
  | undefined {
  if (plan !== undefined) return isStated === true || plan.refusesAnonymous;
  return isStated ?? (isOpen === true ? false : undefined);
}

/** Leaves out routes of plans, which are added later, and routes without a schema. */
function swaggerOptions({ info, servers }: ResolvedOptions): swagger.FastifyDynamicSwaggerOptions {
  return {
    openapi: { openapi: OPENAPI_VERSION, info: { ...info! }, servers: servers.map((server) => ({ ...server })) },
    convertConstToEnum: false,
    stripBasePath: false,
    refResolver: referenceNames(),
    transform: ({ schema, url, route }) => ({
      schema:
        (schema as object | undefined) === undefined || route.config?.viewset !== undefined
          ? { hide: true }
          : withoutForeignSchemas(schema),
      url,
    }),
  };
}

/** Removes schemas that are not JSON Schema, such as another library's validators for a custom compiler. */
function withoutForeignSchemas(schema: FastifySchema): FastifySchema {
  const entries = Object.entries(schema).map(([part, value]: [string, unknown]) => [
    part,
    part === 'response' && isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([status, answer]) => [status, isForeign(answer) ? {} : answer]))
      : value,
  ]);
  return Object.fromEntries(entries.filter(([, value]) => !isForeign(value))) as FastifySchema;
}

function isForeign(value: unknown): boolean {
  if (typeof value === 'function') return true;
  return isObject(value) && ![Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);
}

function addDocument(app: FastifyInstance, path: string, complete: () => JsonObject): void {
  const formats = [
    [
      'json',
      'application/json; charset=utf-8',
      (document: JsonObject) => `${JSON.stringify(document, undefined, 2)}\n`,
    ],
    ['yaml', 'application/yaml; charset=utf-8', yamlOf],
  ] as const;
  for (const [ending, type, write] of formats) {
    let file: StaticFile | undefined;
    app.get(`${path}.${ending}`, DOCUMENT_ROUTE, async (request: FastifyRequest, reply: FastifyReply) => {
      file ??= staticFile(type, write(complete()));
      return sendStaticFile(request, reply, file);
    });
  }
}

const DOCUMENT_ROUTE = { schema: { hide: true }, config: { public: true } };

function yamlOf(document: JsonObject): string {
  return stringify(document, { aliasDuplicateObjects: false, lineWidth: 120 });
}
