import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { PreconditionFailed } from '../../errors/errors.ts';
import { byteRange } from '../../files/byte-range.ts';
import type { FileStore } from '../../files/file-store.ts';
import type { StoredFile } from '../../files/file-type.ts';
import { isAborted, tookTooLong } from '../../http/abort-state.ts';
import { httpDate } from '../../http/http-date.ts';
import { rangeApplies, readCondition } from '../../http/read-condition.ts';

/** The media types that a browser shows and never runs. Other types are sent as an attachment. */
const SHOWN = /^(?:image\/(?:png|jpeg|gif|webp|avif)|(?:audio|video)\/[\w.+-]+|text\/plain)$/;

/**
 * Responds to a GET or HEAD with a file, or with the requested range (RFC 9110, section 14). The key of a file is its
 * entity tag, because the content under a key never changes. Browsers run nothing from it: they do not guess the type
 * (`nosniff`), and scripts are disabled (`sandbox`).
 *
 * @throws PreconditionFailed (412) by `If-Match` and `If-Unmodified-Since` (RFC 9110, section 13)
 */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  store: FileStore,
  file: StoredFile,
): Promise<FastifyReply> {
  const { method, headers } = request;
  const { name, size, type } = file;
  const validators = validatorsOf(file);
  const { tag, modifiedAt } = validators;
  const common = {
    etag: tag,
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
  };
  const condition = readCondition(request, validators);
  if (condition === 'failed') throw new PreconditionFailed('The file has changed since it was read; read it again');
  if (condition === 'known') return reply.code(304).headers(common).send();
  const range = method === 'GET' && rangeApplies(request, validators) ? byteRange(headers.range, size) : undefined;
  if (range === 'unsatisfiable') {
    return reply
      .code(416)
      .headers({ ...common, 'content-range': `bytes */${size}` })
      .send();
  }
  // Open the file before setting its headers, so that an error response does not carry them.
  const content = method === 'HEAD' || size === 0 ? undefined : stillWanted(request, await store.get(file.key, range));
  const { start, end } = range ?? { start: 0, end: size - 1 };
  if (range !== undefined) void reply.code(206).header('content-range', `bytes ${start}-${end}/${size}`);
  void reply.type(type).headers({
    ...common,
    ...(modifiedAt === undefined ? {} : { 'last-modified': httpDate(new Date(modifiedAt)) }),
    'content-length': end + 1 - start,
    'content-disposition': `${SHOWN.test(type) ? 'inline' : 'attachment'}; ${fileNames(name)}`,
  });
  // For content that is not a stream, Fastify overwrites the length of a HEAD response.
  if (method === 'HEAD') return reply.send(Readable.from([]));
  return reply.send(content ?? '');
}

const SECOND_MS = 1000;

function validatorsOf({ key, storedAt }: StoredFile): {
  readonly tag: string;
  readonly modifiedAt: number | undefined;
} {
  const stored = storedAt === undefined ? NaN : Date.parse(storedAt);
  // A date must not be in the future (RFC 9110, section 8.8.2.1). Files that replace each other quickly are dated ahead.
  const modifiedAt = stored > Date.now() ? NaN : Math.floor(stored / SECOND_MS) * SECOND_MS;
  return { tag: `"${key}"`, modifiedAt: Number.isNaN(modifiedAt) ? undefined : modifiedAt };
}

/** Returns a file that was opened for a request. Closes it if the request was given up in the meantime. */
function stillWanted(request: FastifyRequest, content: Readable): Readable {
  // Fastify listens for errors only after the reply's hooks. An unhandled error would end the process.
  content.on('error', () => {});
  if (!isAborted(request)) return content;
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
