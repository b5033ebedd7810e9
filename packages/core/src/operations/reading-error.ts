import type { FastifyRequest } from 'fastify';
import { UnsupportedMediaType } from '../errors.ts';

/**
 * The error of a body that cannot be read. One that came compressed is of a coding that nothing has undone (RFC 9110, section
 * 15.5.16); with a plugin of the application that does, such as `@fastify/compress`, the header may still be there.
 */
export function readingError(error: unknown, { headers }: FastifyRequest): unknown {
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding.trim().toLowerCase() === 'identity') return error;
  return new UnsupportedMediaType('A compressed body is not supported; send it without Content-Encoding', {
    headers: { 'accept-encoding': 'identity' },
    cause: error,
  });
}
