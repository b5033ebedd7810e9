import type { FastifyReply, FastifyRequest } from 'fastify';
import { entityTag } from './entity-tag.ts';
import { PreconditionFailed } from '../errors/errors.ts';
import { readCondition } from './read-condition.ts';

/** A file that does not change while the process runs. */
export interface StaticFile {
  /** Its media type. */
  readonly type: string;
  readonly bytes: Buffer;
  /** A strong `ETag`: equal bytes have the same tag in every process. */
  readonly tag: string;
}

/** Makes a static file from a text: a document, a page, a script. */
export function staticFile(type: string, text: string): StaticFile {
  return Object.freeze({ type, bytes: Buffer.from(text), tag: entityTag(text) });
}

/**
 * Sends a file, or 304 if the client has it (RFC 9110, section 13.1.2).
 *
 * @throws PreconditionFailed (412) if the request's `If-Match` lacks the tag
 * @param cacheControl how long clients may cache the file. Default: they revalidate each time
 * @example
 * const robots = staticFile('text/plain', 'User-agent: *');
 * app.get('/robots.txt', (request, reply) => sendStaticFile(request, reply, robots));
 */
export function sendStaticFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, bytes, tag }: StaticFile,
  cacheControl = 'no-cache',
): FastifyReply {
  const condition = readCondition(request, { tag });
  if (condition === 'failed') throw new PreconditionFailed('The file has changed since it was read; read it again');
  void reply.header('etag', tag).header('cache-control', cacheControl);
  return condition === 'known' ? reply.code(304).send() : reply.type(type).send(bytes);
}
