import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { namesTag } from '../../entity-tag.ts';
import { byteRange } from '../../files/byte-range.ts';
import type { FileStore } from '../../files/file-store.ts';
import type { StoredFile } from '../../files/file-type.ts';
import { isGivenUp, tookTooLong } from '../../given-up.ts';

/** The media types that a browser shows and never runs. Other types are sent as an attachment. */
const SHOWN = /^(?:image\/(?:png|jpeg|gif|webp|avif)|(?:audio|video)\/[\w.+-]+|text\/plain)$/;

/**
 * Answers a GET or HEAD with a file, or with the requested range (RFC 9110, section 14). The key of a file is its
 * entity tag, because the content under a key never changes. Browsers run nothing from it: they do not guess the type
 * (`nosniff`), and scripts are disabled (`sandbox`).
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
  // Open the file before setting its headers, so that an error response does not carry them.
  const content = method === 'HEAD' || size === 0 ? undefined : stillWanted(request, await store.get(key, range));
  const { start, end } = range ?? { start: 0, end: size - 1 };
  if (range !== undefined) void reply.code(206).header('content-range', `bytes ${start}-${end}/${size}`);
  void reply.type(type).headers({
    ...common,
    'content-length': end + 1 - start,
    'content-disposition': `${SHOWN.test(type) ? 'inline' : 'attachment'}; ${fileNames(name)}`,
  });
  // For content that is not a stream, Fastify overwrites the length of a HEAD response.
  if (method === 'HEAD') return reply.send(Readable.from([]));
  return reply.send(content ?? '');
}

/** Returns a file that was opened for a request. Closes it if the request was given up in the meantime. */
function stillWanted(request: FastifyRequest, content: Readable): Readable {
  // Fastify listens for errors only after the reply's hooks. An unhandled error would end the process.
  content.on('error', () => {});
  if (!isGivenUp(request)) return content;
  content.destroy();
  throw tookTooLong();
}

/** Writes the name of a file for every client: in ASCII, and in the encoding of RFC 6266. */
function fileNames(name: string): string {
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
