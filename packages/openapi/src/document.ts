import { ImproperlyConfigured, type OperationPlan } from '@viewset/core';
import { documentSchema, isObject, type JsonObject } from './json-schema.ts';
import { hoistDefinitions } from './definitions.ts';
import { plansByPath } from './links.ts';
import { completeOperation, describeOperation, SECURITY_SCHEME } from './operation.ts';
import { withOperationIds } from './operation-ids.ts';
import type { ResolvedOptions } from './options.ts';
import { withoutLostReferences } from './references.ts';
import { type DescribedOperation, schemaNames } from './schema-names.ts';
import { shareComponents } from './shared-components.ts';

export type { JsonObject } from './json-schema.ts';

/** The title and version of an API, and other fields of OpenAPI's Info Object. */
export interface DocumentInfo {
  readonly title: string;
  readonly version: string;
  readonly summary?: string;
  readonly description?: string;
  readonly termsOfService?: string;
  readonly contact?: { readonly name?: string; readonly url?: string; readonly email?: string };
  readonly license?: { readonly name: string; readonly url?: string; readonly identifier?: string };
}

/** A route of the application: its plan, or, without a view, its path and the library's responses. */
export interface DocumentedRoute {
  /** In OpenAPI's form, `/api/products/{pk}`. */
  readonly path: string;
  readonly methods: readonly string[];
  readonly plan: OperationPlan | undefined;
  /** Undefined if nothing says so; a plan always does. */
  readonly needsToken: boolean | undefined;
  readonly responses: OperationPlan['responses'];
  /** True: a route of the application works without its body. */
  readonly hasOptionalBody: boolean;
}

/**
 * Completes a document of `@fastify/swagger`, which contains the application's own routes. It adds the operations of
 * plans, adds the library's responses to the other operations, and makes repeated parts components.
 */
export function completeDocument(
  base: JsonObject,
  routes: readonly DocumentedRoute[],
  options: ResolvedOptions,
): JsonObject {
  const described: DescribedOperation[] = [];
  const plans = routes.flatMap(({ plan }) => plan ?? []);
  const byPath = plansByPath(plans);
  const planned = new Set(plans.map(({ operationId }) => operationId));
  const applicationRoutes = applicationPaths((base['paths'] ?? {}) as Paths, routes);
  const paths = withOperationIds(applicationRoutes, planned) as Record<string, Record<string, unknown>>;
  for (const route of routes) {
    const { path, methods, plan, needsToken } = route;
    const there = paths[path];
    if (plan !== undefined) {
      const operation = describeOperation(plan, needsToken === true, byPath);
      described.push({ plan, operation });
      paths[path] = { ...there, [plan.method.toLowerCase()]: operation };
      continue;
    }
    for (const method of methods) {
      const operation = there?.[method];
      if (isObject(operation)) there![method] = completeOperation(operation, route);
    }
  }
  return assemble(base, paths, described, options);
}

function assemble(
  base: JsonObject,
  paths: JsonObject,
  described: readonly DescribedOperation[],
  options: ResolvedOptions,
): JsonObject {
  const taken = (base['components'] ?? {}) as JsonObject;
  // Definitions come first, so that schemas already contain their final references when they are compared.
  const hoisted = hoistDefinitions(paths, (taken['schemas'] ?? {}) as JsonObject);
  const operations = described.map(({ plan, operation }) => ({ plan, operation: hoisted.copyOf(operation) }));
  const names = schemaNames(hoisted.document, operations);
  const shared = shareComponents(hoisted.document, hoisted.definitions, names, taken);
  const plans = described.map(({ plan }) => plan);
  const components = mergeComponents(taken, shared.components);
  return withoutLostReferences({
    ...base,
    servers: base['servers'] ?? options.servers,
    tags: tagsOf(shared.paths, plans, (base['tags'] ?? []) as readonly JsonObject[], options.tags),
    paths: shared.paths,
    components: usesScheme(base, shared.paths) ? withScheme(components, options.securityScheme) : components,
  });
}

type Paths = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The methods that OpenAPI 3.1 supports. */
const METHODS: ReadonlySet<string> = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']);

/**
 * Copies the paths. Leaves out operations of plans, methods that OpenAPI does not know, and duplicates that differ only
 * by a trailing slash.
 */
function applicationPaths(paths: Paths, routes: readonly DocumentedRoute[]): Paths {
  const planned = new Set(
    routes.flatMap(({ path, plan }) => (plan === undefined ? [] : [`${plan.method.toLowerCase()} ${path}`])),
  );
  const kept = Object.entries(paths).map(([path, methods]) => {
    const withoutSlash = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
    const others = Object.entries(methods).filter(
      ([method]) =>
        METHODS.has(method) &&
        !planned.has(`${method} ${withoutSlash}`) &&
        (path === withoutSlash || paths[withoutSlash]?.[method] === undefined),
    );
    return [path, Object.fromEntries(others)] as const;
  });
  return Object.fromEntries(kept.filter(([, methods]) => Object.keys(methods).length > 0));
}

function mergeComponents(taken: JsonObject, components: JsonObject): JsonObject {
  const kinds = [...new Set([...Object.keys(taken), ...Object.keys(components)])];
  const merged = kinds.map(
    (kind) => [kind, { ...(taken[kind] as object | undefined), ...(components[kind] as object | undefined) }] as const,
  );
  return Object.fromEntries(merged.filter(([, entries]) => Object.keys(entries).length > 0));
}

/** Tells if the document or one of its operations refers to the security scheme. */
function usesScheme(base: JsonObject, paths: JsonObject): boolean {
  return [base, ...operationsOf(paths)].some(
    ({ security }) => Array.isArray(security) && security.some((each: object) => Object.hasOwn(each, SECURITY_SCHEME)),
  );
}

function withScheme(components: JsonObject, scheme: JsonObject): JsonObject {
  const schemes = (components['securitySchemes'] ?? {}) as JsonObject;
  return { ...components, securitySchemes: { [SECURITY_SCHEME]: scheme, ...schemes } };
}

/** Lists all tags with descriptions. A description comes from the options, else the base document, else the view. */
function tagsOf(
  paths: JsonObject,
  plans: readonly OperationPlan[],
  known: readonly JsonObject[],
  described: Readonly<Record<string, string>>,
): JsonObject[] {
  const words = new Map<string, string | undefined>();
  for (const { documentation, view } of plans) {
    const [first] = documentation.tags;
    for (const tag of documentation.tags) {
      const text = tag === first || documentation.tags.length === 1 ? view.description : undefined;
      words.set(tag, words.get(tag) ?? text);
    }
  }
  const used = operationsOf(paths).flatMap(({ tags }) => (Array.isArray(tags) ? (tags as string[]) : []));
  const names = [...known.map(({ name }) => String(name)), ...new Set(used)];
  return [...new Set(names)].map((name) => {
    const before = known.find((tag) => tag['name'] === name);
    const description = described[name] ?? before?.['description'] ?? words.get(name) ?? `Operations on ${name}.`;
    return { ...before, name, description };
  });
}

function operationsOf(paths: JsonObject): JsonObject[] {
  return Object.values(paths).flatMap((methods) => Object.values(methods as JsonObject).filter(isObject));
}

/**
 * Converts an OpenAPI 3.0 document to 3.1, and the schemas of both versions to the form of plans.
 *
 * @throws ImproperlyConfigured for a document of Swagger 2
 */
export function asOpenapi31(document: JsonObject): JsonObject {
  const version = document['openapi'];
  if (typeof version !== 'string') {
    throw new ImproperlyConfigured(
      'openapi: the application has @fastify/swagger, but for a document of Swagger 2; register it with ' +
        'option "openapi": { openapi: "3.1.1", info: { … } }',
    );
  }
  const { paths = {}, components = {} } = document;
  const schemas = { paths: documentSchema(paths), components: documentSchema(components) };
  return { ...document, ...schemas, openapi: version.startsWith('3.0') ? OPENAPI_VERSION : version };
}

export const OPENAPI_VERSION = '3.1.1';
