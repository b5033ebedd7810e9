import type { FastifyRequest, preParsingHookHandler } from 'fastify';
import { UnsupportedMediaType } from '../errors.ts';

/** The requests whose body comes out of a stream that a hook has put in the place of the one from the network. */
const decoded = new WeakSet<FastifyRequest>();

/** Notes that a hook in front of it, such as that of `@fastify/compress`, undoes the coding of a body. The header stays there. */
export const noteDecoding: preParsingHookHandler = (request, _reply, payload, done) => {
  if (payload !== request.raw && hasCoding(request)) decoded.add(request);
  done(null, payload);
};

/**
 * Returns the error of a body that is not in the form that the route reads. One that came compressed is of a coding that nothing has
 * undone (RFC 9110, section 15.5.16).
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
