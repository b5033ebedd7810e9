import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { namesTag } from '../../entity-tag.ts';
import { byteRange } from '../../files/byte-range.ts';
import type { FileStore } from '../../files/file-store.ts';
import type { StoredFile } from '../../files/file-type.ts';
import { isGivenUp, tookTooLong } from '../../given-up.ts';

/** The media types that a browser shows and never runs; it gets every other one as an attachment. */
const SHOWN = /^(?:image\/(?:png|jpeg|gif|webp|avif)|(?:audio|video)\/[\w.+-]+|text\/plain)$/;

/**
 * Answers a GET or HEAD with a file, or with the range of it that the request names (RFC 9110, section 14). The key of a file
 * is its entity tag, because what is stored under a key never changes. Nothing of it runs in a browser: neither its type is
 * guessed (`nosniff`) nor its scripts are let work (`sandbox`).
 */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  store: FileStore,
  { key, name, size, type }: StoredFile,
): Promise<FastifyReply> {
  const { method, headers } = request;
  const tag = `"${key}"`;
  const common = {
    etag: tag,
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
  };
  const known = headers['if-none-match'];
  if (known !== undefined && namesTag(known, tag, 'weak')) {
    return reply.code(304).headers(common).send();
  }
  const condition = headers['if-range'];
  const isCurrent = condition === undefined || condition === tag;
  const range = method === 'GET' && isCurrent ? byteRange(headers.range, size) : undefined;
  if (range === 'unsatisfiable') {
    return reply
      .code(416)
      .headers({ ...common, 'content-range': `bytes */${size}` })
      .send();
  }
  // Opened before the headers tell of it: an answer that is an error is no part of the file.
  const content = method === 'HEAD' || size === 0 ? undefined : stillWanted(request, await store.get(key, range));
  const { start, end } = range ?? { start: 0, end: size - 1 };
  if (range !== undefined) void reply.code(206).header('content-range', `bytes ${start}-${end}/${size}`);
  void reply.type(type).headers({
    ...common,
    'content-length': end + 1 - start,
    'content-disposition': `${SHOWN.test(type) ? 'inline' : 'attachment'}; ${fileNames(name)}`,
  });
  // For any content but a stream, Fastify writes the length of an answer to HEAD anew.
  if (method === 'HEAD') return reply.send(Readable.from([]));
  return reply.send(content ?? '');
}

/** Returns a file that was opened for a request; closes it if the request was given up meanwhile. */
function stillWanted(request: FastifyRequest, content: Readable): Readable {
  // Fastify listens once the hooks of the answer are done. An error that nobody hears would end the process.
  content.on('error', () => {});
  if (!isGivenUp(request)) return content;
  content.destroy();
  throw tookTooLong();
}

/** Writes the name of a file for every client: in ASCII, and as RFC 6266 has it. */
function fileNames(name: string): string {
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
