import type { FastifyReply, FastifyRequest } from 'fastify';
import { entityTag, namesTag } from './entity-tag.ts';

/** A file that does not change as long as the process runs. */
export interface StaticFile {
  /** Its media type. */
  readonly type: string;
  readonly bytes: Buffer;
  /** A strong `ETag`: the same for the same bytes alone, in every process. */
  readonly tag: string;
}

/** Makes a file of a text that the process has made or read: a document, a page, a script. */
export function staticFile(type: string, text: string): StaticFile {
  return Object.freeze({ type, bytes: Buffer.from(text), tag: entityTag(text) });
}

/**
 * Answers with a file, or with 304 if the client has it (RFC 9110, section 13.1.2).
 *
 * @param cacheControl says how long it may be kept. Default: a client asks each time
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
