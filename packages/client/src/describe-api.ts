import type { ApiOf } from './api.ts';
import type { JsonLogic } from './list.ts';

/** The same type, written out: every name that stands for an object is replaced with the object. */
type Plain<T> = unknown extends T
  ? T
  : [T] extends [JsonLogic<string> | undefined]
    ? T
    : T extends Date | ((...args: never) => unknown)
      ? T
      : T extends object
        ? { [Name in keyof T]: Plain<T[Name]> }
        : T;

/**
 * Names the type of an API for its declaration file. `tsc --declaration` writes the type of its result without any import from the
 * server, neither views nor ORM. At run time it returns an empty object.
 *
 * @example
 * // api.ts, beside the server
 * export const api = describeApi<ReturnType<typeof shopRouter>>();
 * // anywhere else, with the api.d.ts that `tsc --declaration --emitDeclarationOnly` makes of it
 * const client = createClient<typeof api>({ url });
 */
export function describeApi<Described>(): Plain<ApiOf<Described>> {
  return {} as Plain<ApiOf<Described>>;
}
