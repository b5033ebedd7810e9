import type { FieldName, ToManyName } from '../fields/field-name.ts';
import { wrongOption } from '../errors/options.ts';
import type { QuerySet } from '../query/queryset.ts';

/**
 * Splits a path at its last parameter: `authors/:author/books` gives `authors` and `author`; undefined without a
 * parameter.
 */
export function parentInPath(path: string): { readonly parent: string; readonly parameter: string } | undefined {
  const [, parent, parameter] = path.match(/^(.+)\/:(\w+)\//) ?? [];
  return parent === undefined ? undefined : { parent, parameter: parameter! };
}

const PATHS =
  'a path without parameters, like "products" or "shops/products", or with each between other parts, like "authors/:author/books"';

/**
 * Removes the slashes at the ends of a view's path. Parameters must be between other parts, `authors/:author/books`.
 *
 * @throws ImproperlyConfigured for any other path
 */
export function checkViewPath(path: string): string {
  const parts = typeof path === 'string' ? path.split(/\/:(\w+)(?=\/[^/])/) : [path];
  const parameters = parts.filter((_part, index) => index % 2 === 1);
  if (parameters.includes('pk') || new Set(parameters).size < parameters.length) {
    throw wrongOption('Router', 'path', 'a path whose parameters have different names, none of them "pk"', path);
  }
  const between = parts.filter((_part, index) => index % 2 === 0).map(plainPath);
  if (between.includes(undefined)) {
    throw wrongOption('Router', 'path', PATHS, path);
  }
  return between.reduce((start, part, index) => `${start}/:${parameters[index - 1]}/${part}`)!;
}

const PREFIX =
  'a path without parameters, like "api/v1"; for parameters, register its plugin with a prefix: app.register(router.plugin, { prefix: "/api/teams/:team" })';

/** Removes the slashes at the ends of a prefix. @throws ImproperlyConfigured for a prefix with parameters */
export function checkPrefix(prefix: string): string {
  const trimmed = plainPath(prefix);
  if (trimmed === undefined) throw wrongOption('Router', 'prefix', PREFIX, prefix);
  return trimmed;
}

/** Removes the slashes at the ends of a path. Returns undefined if it is empty, or has a segment that is not plain. */
function plainPath(path: string): string | undefined {
  const trimmed = typeof path === 'string' ? path.replaceAll(/^\/+|\/+$/g, '') : '';
  return trimmed === '' || /[?#\s:*(){}%]|\/\//.test(trimmed) ? undefined : trimmed;
}

/** The last parameter of a path, which names the relation to the parent. */
export type LastParameter<Path extends string> = Path extends `${string}/:${infer Rest}`
  ? [LastParameter<Rest>] extends [never]
    ? Rest extends `${infer Parameter}/${string}`
      ? Parameter
      : never
    : LastParameter<Rest>
  : never;

/** The names that the option `parent` may have: relations, and columns, because a relation may hold a key. */
export type ParentName<View> = View extends new () => { getQueryset(request: never): QuerySet<infer Entity> }
  ? FieldName<Entity> | ToManyName<Entity>
  : string;

/** Rejects a view whose entity has no property of this name. A relation that holds a key has the type of the key. */
export type HasRelation<View, Name extends string> = [Name] extends [never]
  ? unknown
  : View extends new () => { getQueryset(request: never): QuerySet<infer Entity> }
    ? Name extends FieldName<Entity> | ToManyName<Entity>
      ? unknown
      : { readonly 'no relation of the entity': Name }
    : unknown;
