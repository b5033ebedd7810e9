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
 * Names the type of an API for its declaration file: of a constant that this function makes, `tsc --declaration` writes a type
 * that needs nothing of the server, neither its views nor its ORM. At run time it makes an empty object.
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
