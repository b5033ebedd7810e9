import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A file that does not change as long as the process runs. */
export interface StaticFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** A strong ETag: the hash of the bytes, and so the same in every process. */
  readonly tag: string;
}

export function staticFile(type: string, text: string): StaticFile {
  const bytes = Buffer.from(text);
  return { type, bytes, tag: `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"` };
}

/** Answers with a file, or with 304 if the client has it: RFC 9110, 13.1.2. */
export function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, bytes, tag }: StaticFile,
  cacheControl: string,
): FastifyReply {
  reply.header('etag', tag).header('cache-control', cacheControl);
  const asked = request.headers['if-none-match'];
  const isKnown = asked?.split(',').some((each) => ['*', tag].includes(each.trim().replace(/^W\//, '')));
  return isKnown === true ? reply.code(304).send() : reply.type(type).send(bytes);
}
