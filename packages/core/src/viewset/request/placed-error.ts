import { type ErrorDetail, HttpError } from '../../errors.ts';

/**
 * Makes an error whose details name places in the body as it was sent. Hooks and the library see the body without its envelope. The error
 * that was thrown stays as it is: an application may throw one object again and again.
 *
 * @param path the JSON pointer to the body that they see
 */
export function placedError(error: unknown, path = ''): unknown {
  if (path === '' || !(error instanceof HttpError)) return error;
  const { details } = error;
  if (details?.some((detail) => detail.in === 'body') !== true) return error;
  const placed = details.map((detail) => (detail.in === 'body' ? { ...detail, path: path + detail.path } : detail));
  // Not a copy: the class of the error may have private members.
  return new Proxy(error, {
    get: (target, name) => {
      if (name === 'details') return placed;
      if (name === 'toBody') return () => withDetails(target.toBody(), details, placed);
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' && name !== 'constructor' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Puts details in the place of others, unless the class of the error has a body of its own. */
function withDetails(body: object, from: readonly ErrorDetail[], to: readonly ErrorDetail[]): object {
  return (body as { readonly details?: unknown }).details === from ? { ...body, details: to } : body;
}
