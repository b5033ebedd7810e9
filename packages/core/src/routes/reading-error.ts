import type { FastifyRequest, preParsingHookHandler } from 'fastify';
import { UnsupportedMediaType } from '../errors/errors.ts';

/** The requests whose body stream was replaced by a hook. */
const decoded = new WeakSet<FastifyRequest>();

/**
 * Notes that an earlier hook, such as the hook of `@fastify/compress`, decodes the body. The `Content-Encoding` header
 * stays.
 */
export const noteDecoding: preParsingHookHandler = (request, _reply, payload, done) => {
  if (payload !== request.raw && hasCoding(request)) decoded.add(request);
  done(null, payload);
};

/**
 * Returns the error for a body that the route cannot parse. For a compressed body that nothing has decoded, the error
 * is about its encoding (RFC 9110, section 15.5.16).
 */
export function unreadable(error: Error, request: FastifyRequest): Error {
  if (!hasCoding(request) || decoded.has(request)) return error;
  return new UnsupportedMediaType('A compressed body is not supported; send it without Content-Encoding', {
    headers: { 'accept-encoding': 'identity' },
    cause: error,
  });
}

function hasCoding({ headers: { 'content-encoding': coding = 'identity' } }: FastifyRequest): boolean {
  return coding.trim().toLowerCase() !== 'identity';
}
