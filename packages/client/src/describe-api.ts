import type { ApiOf } from './api.ts';
import type { JsonLogic } from './list.ts';

/** The same type written out: every named object type is replaced with its members. */
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
 * Names the type of an API in a declaration file. `tsc --declaration` then writes the type without imports from the
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
