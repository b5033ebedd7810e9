import { ApiError, type ErrorBody } from './api-error.ts';
import type { Client } from './client.ts';
import { each } from './each.ts';
import type { CallOptions, ClientOptions } from './options.ts';
import { createSend, type Send } from './send.ts';
import { isKey, kebabCase, keySegment, type QueryEntries, queryEntries, queryString } from './url.ts';

/** The route of a call: its method, and its path before and after the record's key. */
interface Place {
  readonly method: string;
  readonly name: string;
  readonly collection: string;
  /** The part of the path after the collection or the record. */
  readonly suffix: string;
  /**
   * True: needs a key, unless the record is a singleton. Undefined: a collection or an action. An action is about one
   * record if its first argument is a key.
   */
  readonly detail?: true | undefined;
  /** True: the caller reads the body. */
  readonly isStreamed?: boolean;
}

/** A function that `call()` makes. */
interface Called {
  (...args: unknown[]): Promise<unknown>;
  safe(...args: unknown[]): Promise<unknown>;
}

const OPERATIONS: Readonly<Record<string, readonly [method: string, detail?: true]>> = {
  list: ['GET'],
  create: ['POST'],
  retrieve: ['GET', true],
  replace: ['PUT', true],
  update: ['PATCH', true],
  destroy: ['DELETE', true],
  createMany: ['POST'],
  updateMany: ['PATCH'],
  destroyMany: ['DELETE'],
};

/**
 * Makes the client of an API. At run time it knows nothing about the server: it derives paths from names. The names
 * come from the type `Api`, which is `typeof router` on the server.
 *
 * If the server has a `formatError`, pass the type of its error bodies as `Errors`:
 * `createClient<Api, { errors: Record<string, string[]> }>(…)`.
 *
 * @example
 * const api = createClient<Api>({ token: () => session.token, url: 'https://shop.example/api' });
 * const page = await api.products.list({ search: 'tea', min_price: 5, sort: '-price' });
 * // GET https://shop.example/api/products?search=tea&min_price=5&sort=-price
 */
export function createClient<Api, Errors = ErrorBody>(options: ClientOptions): Client<Api, Errors> {
  const send = createSend(options);
  const url = options.url.replace(/\/+$/, '');
  const actionPath = options.actionPath ?? kebabCase;
  return views(send, url, actionPath) as Client<Api, Errors>;
}

type ActionPath = (name: string) => string;

/** Makes the views below a path, either the API's or one record's. */
export function views(send: Send, url: string, actionPath: ActionPath): object {
  return members({}, (path) => resource(send, `${url}/${path}`, actionPath));
}

/** Makes an object whose members are created on first access. */
function members(target: object, make: (name: string) => unknown): object {
  const made = new Map<string, unknown>(Object.entries(target));
  return new Proxy(target, {
    get(_target, name) {
      // Awaiting or printing the object looks these up.
      if (typeof name === 'symbol' || name === 'then' || name === 'toJSON') return undefined;
      if (!made.has(name)) made.set(name, make(name));
      return made.get(name);
    },
  });
}

function resource(send: Send, collection: string, actionPath: ActionPath): object {
  const operations = Object.entries(OPERATIONS).map(([name, [method, detail]]) => {
    return [name, call(send, { name, method, detail, collection, suffix: '' })] as const;
  });
  const calls: Record<string, unknown> = { ...Object.fromEntries(operations), key: () => [collection] };
  const listAs = (format: unknown): Called =>
    call(send, {
      name: 'list',
      method: 'GET',
      collection: `${collection}.${String(format)}`,
      suffix: '',
      isStreamed: true,
    });
  calls['exportAs'] = Object.assign((format: unknown, ...args: unknown[]) => listAs(format)(...args), {
    safe: (format: unknown, ...args: unknown[]) => listAs(format).safe(...args),
  });
  calls['each'] = each(calls['list'] as Parameters<typeof each>[0]);
  const below = (key: unknown): object => views(send, `${collection}/${keySegment(key)}`, actionPath);
  return members(Object.assign(below, calls), (name) => {
    const suffix = name.startsWith('/') ? name : `/${actionPath(name)}`;
    const of = (method: string): object => call(send, { name, method, collection, suffix });
    const methods = ['POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method.toLowerCase(), of(method)] as const);
    return Object.assign(of('GET'), Object.fromEntries(methods));
  });
}

/** Makes the function of one route. It takes the key of a record, a query or body, and options. */
function call(send: Send, place: Place): Called {
  const { method, name, collection, suffix, detail, isStreamed } = place;
  const isOperation = suffix === '';

  /** Splits off the key as a path segment; `keys` is empty for collections and singletons. */
  const read = (args: readonly unknown[]): { keys: readonly string[]; rest: readonly unknown[] } => {
    const [first] = args;
    // A singleton's arguments are empty, or begin with a query, a body or options.
    const isWrongKey = name === 'destroy' ? !Object.keys(first ?? {})[0] : first !== Object(first);
    const keys = isKey(first) || (detail && args.length > 0 && isWrongKey) ? [keySegment(first)] : [];
    return { keys, rest: args.slice(keys.length) };
  };

  const request = async (args: readonly unknown[]): ReturnType<Send> => {
    const { keys, rest } = read(args);
    const [first, options = {}] = (name === 'destroy' ? [undefined, ...rest] : rest) as [unknown, CallOptions?];
    const isRead = method === 'GET';
    const isOfKeys = name === 'destroyMany';
    // Lists in the query of a view's own writes are field names, separated by commas.
    const query = queryEntries(options.query ?? {}, isOperation && !isRead);
    if (isRead || isOfKeys) query.unshift(...queryOf(isOfKeys ? { pk: first } : first));
    return send({
      method,
      url: [collection, ...keys].join('/') + suffix + queryString(query),
      isAction: !isOperation,
      isStreamed,
      body: isRead || isOfKeys ? undefined : first,
      options,
    });
  };

  const queryOf = (query: unknown): QueryEntries => queryEntries(query ?? {}, isOperation);

  return Object.assign(async (...args: unknown[]) => (await request(args)).data, {
    safe: async (...args: unknown[]) => {
      try {
        return { ok: true, ...(await request(args)) };
      } catch (error) {
        if (error instanceof ApiError) return { ok: false, status: error.status as number, error };
        throw error;
      }
    },
    key: (...args: unknown[]) => {
      const { keys, rest } = read(args);
      return [collection, name, ...keys, textsByName(queryOf(rest[0]))];
    },
  });
}

/** Returns the query's values by parameter name. Equal requests give equal objects. */
function textsByName(query: QueryEntries): Readonly<Record<string, readonly string[]>> {
  const names = query.map(([name]) => name);
  const textsOf = (wanted: string): string[] => query.filter(([name]) => name === wanted).flatMap(([, texts]) => texts);
  return Object.fromEntries(names.map((name) => [name, textsOf(name)]));
}
