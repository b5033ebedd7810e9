import { checkOptionNames, isOrigin, wrongOption } from '@viewset/core';
import { isLoopback } from './loopback.ts';

/** Where the users of clients log in, for clients that know only OAuth. */
export interface McpOAuth {
  /** The URL of the MCP server as clients see it: `https://api.example.com/mcp`. */
  readonly url: string;
  /** The issuers whose access tokens the application accepts: `['https://login.example.com']`. */
  readonly authorizationServers: readonly string[];
}

/** The options of the `mcp` plugin. Only `resources` is required. */
export interface McpOptions {
  /**
   * The resources that the tools reach, by the basename of their routes: `['products', 'orders']`. `'all'` means every
   * view of the application, including later ones. The tools never reach other routes, such as those of
   * `@viewset/auth`.
   */
  readonly resources: readonly string[] | 'all';
  /**
   * Resources (by basename) and operations (by operationId, such as `destroyProduct`) that the tools must not reach.
   * Default: none.
   */
  readonly exclude?: readonly string[];
  /** True: the tools only reach GET requests. Default: false. */
  readonly readOnly?: boolean;
  /**
   * True: allows requests without a token, with the permissions of anonymous requests. Default: false, which gives 401.
   */
  readonly anonymous?: boolean;
  /**
   * The origins of pages that may send requests: `['https://app.example.com']`. Other pages get 403, so that a page in
   * a browser cannot use its user's server (DNS rebinding). Programs send no origin. Unless `NODE_ENV` is `production`, pages of
   * the same machine (`localhost`, a loopback address) may send requests too, as inspectors do. Default: none.
   */
  readonly allowedOrigins?: readonly string[];
  /**
   * Where the users of clients log in. Serves the metadata of RFC 9728, and names it in the `WWW-Authenticate` of a 401, as MCP
   * wants it. The application itself must accept the tokens of these servers. Default: none.
   */
  readonly oauth?: McpOAuth;
  /**
   * Additional headers to copy from the client's request to a tool's request, in any case: `['x-tenant']`.
   * `Authorization`, the language and the headers of proxies and traces are always copied, `Cookie` never. Default:
   * none.
   */
  readonly headers?: readonly string[];
  /** The largest response that a tool returns, in bytes. The error for a larger one says how to ask for less. Default: 65,536. */
  readonly maxResultBytes?: number;
  /** The path of the route. Default: `/mcp`, below the scope's prefix. */
  readonly path?: string;
  /** The name of the server, for clients. Default: `viewset`. */
  readonly name?: string;
  /** The version of the server, for clients. Default: `1.0.0`. */
  readonly version?: string;
  /**
   * What a model should know about the API in advance, in a few sentences. They follow the plugin's own. Default: none.
   */
  readonly instructions?: string;
}

/** The options with their defaults. */
export type ResolvedOptions = Readonly<Required<Omit<McpOptions, 'oauth'>>> & { readonly oauth: McpOAuth | undefined };

const OPTION_NAMES: readonly (keyof McpOptions)[] = [
  'resources',
  'exclude',
  'readOnly',
  'anonymous',
  'allowedOrigins',
  'oauth',
  'headers',
  'maxResultBytes',
  'path',
  'name',
  'version',
  'instructions',
];

/** Headers about the message itself. A tool's request has its own, or none. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'connection',
  'content-length',
  'content-type',
  'idempotency-key',
  'if-match',
  'transfer-encoding',
]);

/** A smaller result could not hold an error that explains how to fix a request. */
const LEAST_RESULT_BYTES = 1024;

/**
 * Fills in the defaults.
 *
 * @throws ImproperlyConfigured if an option is unknown or wrong
 */
export function resolveOptions(options: McpOptions): ResolvedOptions {
  checkOptionNames('mcp', options, OPTION_NAMES);
  const {
    resources,
    exclude = [],
    readOnly = false,
    anonymous = false,
    allowedOrigins = [],
    oauth,
    headers = [],
    maxResultBytes = 65_536,
    path = '/mcp',
    name = 'viewset',
    version = '1.0.0',
    instructions = '',
  } = options;
  if (resources !== 'all' && !(isListOf(resources, isName) && resources.length > 0)) {
    throw wrongOption('mcp', 'resources', 'a list of basenames such as ["products"], or "all"', resources);
  }
  check('exclude', 'a list of basenames and operationIds', isListOf(exclude, isName), exclude);
  for (const [option, value] of Object.entries({ readOnly, anonymous })) {
    check(option, 'true or false', typeof value === 'boolean', value);
  }
  check('allowedOrigins', 'a list of origins', Array.isArray(allowedOrigins), allowedOrigins);
  for (const origin of allowedOrigins) {
    check('allowedOrigins', 'a list of origins such as "https://app.example.com"', isOrigin(origin), origin);
  }
  if (oauth !== undefined) checkOAuth(oauth);
  check('headers', 'a list of names of headers', isListOf(headers, isHeader), headers);
  const names = headers.map((header) => header.toLowerCase());
  check('headers', 'names without "cookie", which browsers send for any page', !names.includes('cookie'), 'cookie');
  const reserved = names.find((each) => RESERVED_HEADERS.has(each));
  check('headers', 'names without those that the plugin or a connection sets', reserved === undefined, reserved);
  const isSize = Number.isSafeInteger(maxResultBytes) && maxResultBytes >= LEAST_RESULT_BYTES;
  check('maxResultBytes', `a whole number from ${LEAST_RESULT_BYTES}`, isSize, maxResultBytes);
  check('path', 'a path such as "/mcp"', typeof path === 'string' && /^(?:\/[\w.~-]+)+$/.test(path), path);
  for (const [option, value] of Object.entries({ name, version })) check(option, 'a text', isName(value), value);
  check('instructions', 'a text', typeof instructions === 'string', instructions);
  return Object.freeze({
    resources,
    exclude,
    readOnly,
    anonymous,
    allowedOrigins,
    oauth,
    headers: names,
    maxResultBytes,
    path,
    name,
    version,
    instructions,
  });
}

function checkOAuth(oauth: unknown): void {
  if (typeof oauth !== 'object' || oauth === null) throw wrongOption('mcp', 'oauth', 'an object', oauth);
  checkOptionNames('mcp: option "oauth"', oauth, ['url', 'authorizationServers']);
  const { url, authorizationServers } = oauth as Readonly<Record<string, unknown>>;
  check('oauth.url', 'the URL of the server, such as "https://api.example.com/mcp"', isServerUrl(url), url);
  const isList = isListOf(authorizationServers, isServerUrl) && authorizationServers.length > 0;
  check(
    'oauth.authorizationServers',
    'a list of URLs such as "https://login.example.com"',
    isList,
    authorizationServers,
  );
}

/** True for HTTPS, and for HTTP on the machine itself. An issuer and a resource have neither query nor fragment (RFC 8414, RFC 9728). */
function isServerUrl(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  const { protocol, origin, search, hash } = new URL(value);
  return (protocol === 'https:' || isLoopback(origin)) && search === '' && hash === '' && !/["\\\s]/.test(value);
}

function check(option: string, expected: string, fits: boolean, received: unknown): void {
  if (!fits) throw wrongOption('mcp', option, expected, received);
}

function isListOf(value: unknown, isOne: (item: unknown) => boolean): value is readonly string[] {
  return Array.isArray(value) && value.every(isOne);
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isHeader(value: unknown): boolean {
  return typeof value === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(value);
}
