import { HttpError } from '../../errors.ts';

/** The errors whose details name places in the body as it was sent. */
const placed = new WeakSet<HttpError>();

/**
 * Has the details of an error name places in the body as it was sent. Hooks and the library see the body without its envelope.
 *
 * @param path the JSON pointer to the body that they see
 */
export function placedError(error: unknown, path = ''): unknown {
  if (path === '' || !(error instanceof HttpError) || placed.has(error)) return error;
  if (error.details?.some((detail) => detail.in === 'body') !== true) return error;
  const value = error.details.map((detail) =>
    detail.in === 'body' ? { ...detail, path: path + detail.path } : detail,
  );
  placed.add(error);
  // The error itself, whose class may have private members that a copy would not have.
  return Object.defineProperty(error, 'details', { value });
}
