import { type ErrorDetail, HttpError } from '../../errors/errors.ts';

/**
 * Makes an error whose details point into the body as it was sent. Hooks and the library see only the records in it.
 * The thrown error is not changed, because an application may throw one object several times.
 *
 * @param path the JSON pointer to the records in the body
 */
export function placedError(error: unknown, path = ''): unknown {
  if (path === '' || !(error instanceof HttpError)) return error;
  const { details } = error;
  if (details?.some((detail) => detail.in === 'body') !== true) return error;
  const placed = details.map((detail) => (detail.in === 'body' ? { ...detail, path: path + detail.path } : detail));
  // Not a copy, because the error's class may have private members.
  return new Proxy(error, {
    get: (target, name) => {
      if (name === 'details') return placed;
      if (name === 'toBody') return () => withDetails(target.toBody(), details, placed);
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' && name !== 'constructor' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Replaces the details of an error's body, unless the error's class makes its own body. */
function withDetails(body: object, from: readonly ErrorDetail[], to: readonly ErrorDetail[]): object {
  return (body as { readonly details?: unknown }).details === from ? { ...body, details: to } : body;
}
