import type { FastifyReply, FastifyRequest } from 'fastify';
import { entityTag, namesTag } from './entity-tag.ts';

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
  void reply.header('etag', tag).header('cache-control', cacheControl);
  const known = request.headers['if-none-match'];
  const isKnown = known !== undefined && namesTag(known, tag, 'weak');
  return isKnown ? reply.code(304).send() : reply.type(type).send(bytes);
}
