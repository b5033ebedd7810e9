import { checkOptionNames, wrongOption } from '@viewset/core';
import type { DocumentInfo, JsonObject } from './document.ts';

/**
 * The options of the `openapi` plugin. Only `info` is required, unless the application already has `@fastify/swagger`.
 */
export interface OpenapiOptions {
  /** The title and version of the API, and other fields of OpenAPI's Info Object. */
  readonly info?: DocumentInfo;
  /** The servers of the API. Default: the server that sends the document. */
  readonly servers?: readonly { readonly url: string; readonly description?: string }[];
  /** Descriptions by tag name, for tags that no view describes. */
  readonly tags?: Readonly<Record<string, string>>;
  /** The security scheme of routes that need a token. Default: HTTP Bearer with a JWT. */
  readonly securityScheme?: JsonObject;
  /**
   * The path of the document without its extension. With null the routes do not exist. Default: `/openapi`, for `.json`
   * and `.yaml`.
   */
  readonly path?: string | null;
  /** The path of the reference page. With null there is no page. Default: `/docs`. */
  readonly docsPath?: string | null;
}

/** The options with their defaults. */
export interface ResolvedOptions extends Required<Omit<OpenapiOptions, 'info'>> {
  /** Undefined if the application's own document has it. */
  readonly info: DocumentInfo | undefined;
}

const OPTION_NAMES: readonly (keyof OpenapiOptions)[] = [
  'info',
  'servers',
  'tags',
  'securityScheme',
  'path',
  'docsPath',
];

const BEARER: JsonObject = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'A token from the response to a login.',
};

/**
 * Fills in the defaults.
 *
 * @throws ImproperlyConfigured if an option is unknown or wrong
 */
export function resolveOptions(options: OpenapiOptions, needsInfo: boolean): ResolvedOptions {
  checkOptionNames('openapi', options, OPTION_NAMES);
  const { info, path = '/openapi', docsPath = '/docs' } = options;
  if (info === undefined ? needsInfo : !isInfo(info)) {
    throw wrongOption('openapi', 'info', 'an object with "title" and "version"', info);
  }
  for (const [name, value] of Object.entries({ path, docsPath })) {
    if (value !== null && !isPath(value)) throw wrongOption('openapi', name, 'a path such as "/docs", or null', value);
  }
  if (docsPath !== null && path === null) {
    throw wrongOption('openapi', 'docsPath', 'null, if "path" is null: the page reads the document', docsPath);
  }
  return Object.freeze({
    info,
    servers: options.servers ?? [{ url: '/' }],
    tags: options.tags ?? {},
    securityScheme: options.securityScheme ?? BEARER,
    path,
    docsPath,
  });
}

function isInfo(info: unknown): boolean {
  const { title, version } = (info ?? {}) as { title?: unknown; version?: unknown };
  return typeof title === 'string' && title !== '' && typeof version === 'string' && version !== '';
}

function isPath(path: unknown): boolean {
  return typeof path === 'string' && /^(?:\/[\w.~-]+)+$/.test(path);
}
