import { ImproperlyConfigured } from '@viewset/core';

interface Endpoint {
  /** The entry as written. */
  readonly entry: string;
  /** The path as the router sees it, without a trailing slash. */
  readonly path: string;
  /** True if the path is a beginning, and any rest may follow. */
  readonly prefix: boolean;
  /** Undefined: every method. */
  readonly methods: ReadonlySet<string> | undefined;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY']);
/** An optional method, an optional path and an optional star. */
const ENTRY = /^(?:([a-z]+)\s+)?(\/[^\s?#*]*)?(\*?)$/i;
const EXPECTED = 'a path ("/a"), a beginning with "*" behind it ("/a/*"), or either with a method in front ("GET /a")';

/** A route as Fastify registers it: by a pattern. */
export interface KnownRoute {
  readonly method: string | readonly string[];
  readonly url: string;
}

/**
 * The paths that need no token (NON_AUTH_ENDPOINTS), compiled once.
 *
 * An entry is an exact path. `*` at its end matches any rest. A method may precede the path; GET includes HEAD. Entries
 * are compared with the path that the router sees: percent-decoded in the same way, without the query, and with or
 * without a trailing slash. If both could differ (a router that ignores case or doubled slashes), the request is not
 * public.
 *
 * @example
 * const endpoints = new NonAuthEndpoints(['/auth/login', 'GET /api/products', '/public/*']);
 * endpoints.includes('HEAD', '/api/products/?page=2'); // true
 * endpoints.includes('POST', '/api/products');         // false
 */
export class NonAuthEndpoints {
  readonly #exact = new Map<string, Endpoint[]>();
  readonly #prefixes: Endpoint[] = [];

  /** Throws ImproperlyConfigured for a malformed entry. */
  constructor(entries: readonly string[]) {
    if (!Array.isArray(entries)) throw wrongEntry(entries);
    for (const endpoint of entries.map(readEntry)) {
      if (endpoint.prefix) this.#prefixes.push(endpoint);
      else this.#exact.set(endpoint.path, [...(this.#exact.get(endpoint.path) ?? []), endpoint]);
    }
  }

  /**
   * Returns the entries that match no route, as written. Most are misspelt or outdated.
   *
   * @param hasRoute tells if the router has a route for a method and path
   * @param routes the known routes, by their patterns
   */
  withoutRoute(hasRoute: (method: string, path: string) => boolean, routes: readonly KnownRoute[]): string[] {
    const opens = ({ path, prefix, methods }: Endpoint): boolean => {
      // OPTIONS works on any path with a route.
      const wanted = methods === undefined || methods.has('OPTIONS') ? [...METHODS] : [...methods];
      const paths = prefix ? [path, `${path}x`] : [path];
      if (wanted.some((method) => paths.some((each) => hasRoute(method, each)))) return true;
      const fits = (url: string): boolean => (prefix ? startsWith(url, path) : trimSlash(url) === path);
      return routes.some(({ method, url }) => fits(url) && [method].flat().some((each) => wanted.includes(each)));
    };
    const endpoints = [...this.#prefixes, ...[...this.#exact.values()].flat()];
    return endpoints.filter((endpoint) => !opens(endpoint)).map(({ entry }) => entry);
  }

  /** @param url the URL of the request line: path and query, not decoded */
  includes(method: string, url: string): boolean {
    const path = routerPath(url);
    if (path === undefined) return false;
    for (const { path: prefix, methods } of this.#prefixes) {
      if (takes(methods, method) && startsWith(path, prefix)) return true;
    }
    const exact = this.#exact.get(trimSlash(path));
    return exact !== undefined && exact.some(({ methods }) => takes(methods, method));
  }
}

function takes(methods: Endpoint['methods'], method: string): boolean {
  return methods === undefined || methods.has(method);
}

/** `/public` starts with `/public/`, since it is the same path as `/public/`. */
function startsWith(path: string, prefix: string): boolean {
  return path.startsWith(prefix) || (path.length + 1 === prefix.length && `${path}/` === prefix);
}

/**
 * The path by which find-my-way picks a route: cut at the query, percent-decoded except for the characters that
 * `decodeURI` reserves and for `%25`. Undefined if it cannot be decoded; no route is found then either.
 */
function routerPath(url: string): string | undefined {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '');
  const path = upTo('#', upTo('?', target));
  if (!path.includes('%')) return path;
  try {
    return decodeURI(path.replaceAll('%25', '%2525'));
  } catch {
    return undefined;
  }
}

function upTo(mark: string, text: string): string {
  const end = text.indexOf(mark);
  return end === -1 ? text : text.slice(0, end);
}

function trimSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function readEntry(entry: unknown): Endpoint {
  const parts = typeof entry === 'string' ? ENTRY.exec(entry.trim()) : null;
  if (parts === null) throw wrongEntry(entry);
  const [, word, written = '', star] = parts;
  const prefix = star === '*';
  const path = routerPath(written);
  const method = word?.toUpperCase();
  if (path === undefined || (path === '' && !prefix)) throw wrongEntry(entry);
  if (method !== undefined && !METHODS.has(method)) throw wrongEntry(entry);
  return { entry: String(entry), path: prefix ? path : trimSlash(path), prefix, methods: methodsOf(method) };
}

function methodsOf(method: string | undefined): ReadonlySet<string> | undefined {
  if (method === undefined) return undefined;
  return new Set(method === 'GET' ? ['GET', 'HEAD'] : [method]);
}

function wrongEntry(entry: unknown): ImproperlyConfigured {
  return new ImproperlyConfigured(
    `auth: each entry of option "nonAuthEndpoints" (NON_AUTH_ENDPOINTS) must be ${EXPECTED}, got ${typeof entry === 'string' ? JSON.stringify(entry) : `a value of type ${typeof entry}`}`,
  );
}
