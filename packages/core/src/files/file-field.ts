import type { FileTypeResult } from 'file-type';
import type { TSchema } from 'typebox';
import { PayloadTooLarge, UnsupportedMediaType } from '../errors/errors.ts';
import { ANYTHING, BOOLEAN, checkOptions, LIST, type OptionRule, wrongOption } from '../errors/options.ts';
import type { FileStore } from './file-store.ts';

/** The options of a file field. */
export interface FileFieldOptions<Direct extends boolean = boolean> {
  /** The store that keeps the bytes. */
  readonly store: FileStore;
  /** The largest file, in bytes. A larger one gives 413. */
  readonly maxBytes: number;
  /** The accepted media types: `image/png`, or `image/*` for all images. Others give 415. */
  readonly types: readonly MediaRange[];
  /**
   * True: clients may also upload the bytes to the store themselves. `POST …/uploads` responds with a signed URL, and a
   * body then names the upload. The store must sign uploads, and the plugin needs a `secret`. Default: false, all bytes
   * come through the server.
   */
  readonly direct?: Direct;
}

/** The top-level media types that IANA has registered. */
const TOP_LEVEL = [
  'application',
  'audio',
  'font',
  'haptics',
  'image',
  'message',
  'model',
  'multipart',
  'text',
  'video',
] as const;

/** A media type, or a range of media types: `image/png`, `image/*`. */
type MediaRange = `${(typeof TOP_LEVEL)[number]}/${string}`;

/** The file fields of a write shape, by name. */
export type FileFields = ReadonlyMap<string, FileField>;

/** The number of first bytes that are enough to detect the type of any file. */
export const HEAD_BYTES = 4100;

const MEDIA_RANGE = new RegExp(`^(?:${TOP_LEVEL.join('|')})/(?:\\*|[\\w.+-]+)$`, 'i');

const MAX_BYTES: OptionRule = [
  'a whole number of bytes above 0',
  (value) => Number.isSafeInteger(value) && Number(value) > 0,
];

/** The media type of unknown bytes (RFC 2046, section 4.5.1). */
export const ANY_BYTES = 'application/octet-stream';

/** Reports whether bytes are text in UTF-8 without control characters. They may end within a character. */
function isText(bytes: Uint8Array): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return !/[\p{Cc}--[\t\n\v\f\r]]/v.test(text);
  } catch {
    return false;
  }
}

/** A field of a write shape that takes a file. Made by `file()`. */
export class FileField<Direct extends boolean = boolean> {
  readonly store: FileStore;
  readonly maxBytes: number;
  readonly types: readonly string[];
  /** True if clients may upload to the store themselves. */
  readonly direct: Direct;
  /** The schema of the field in a form. It does not validate: the bytes of the file decide. */
  readonly schema: TSchema;

  constructor({ store, maxBytes, types, direct = false as Direct }: FileFieldOptions<Direct>) {
    this.store = store;
    this.direct = direct;
    this.maxBytes = maxBytes;
    // Media types are case-insensitive (RFC 9110, section 8.3.1).
    this.types = types.map((type) => type.toLowerCase());
    this.schema = { contentMediaType: this.types.join(', '), description: `A file of at most ${maxBytes} bytes` };
  }

  /** @throws PayloadTooLarge for more bytes than the field accepts */
  checkSize(size: number): void {
    if (size > this.maxBytes) throw new PayloadTooLarge(`A file must have at most ${this.maxBytes} bytes`);
  }

  /**
   * Checks the claimed type of a file before its bytes arrive.
   *
   * @throws UnsupportedMediaType for a type that the field does not accept, except `application/octet-stream`
   */
  checkClaim(claimed: string): void {
    if (claimed !== ANY_BYTES && !this.takes(claimed)) throw this.#refusal();
  }

  /**
   * Detects the media type of a file from its first bytes, not from its name. The type that the client claims counts
   * only if bytes cannot show that type, as for `text/csv`. `application/octet-stream`, which generated clients send,
   * claims nothing. Bytes that are text in UTF-8 then get the text type that the field accepts.
   *
   * @throws UnsupportedMediaType for a type that the field does not accept
   */
  async typeOf(head: Uint8Array, claimed: string): Promise<string> {
    const { fileTypeFromBuffer, supportedMimeTypes } = await import('file-type');
    const found: FileTypeResult | undefined = await fileTypeFromBuffer(head);
    const isDetected = found !== undefined || !supportedMimeTypes.has(claimed);
    const type = found?.mime ?? (claimed === ANY_BYTES && !this.takes(claimed) ? this.#textType(head) : claimed);
    if (isDetected && this.takes(type)) return type;
    throw this.#refusal();
  }

  #refusal(): UnsupportedMediaType {
    return new UnsupportedMediaType(`A file must be of the type ${this.types.join(', ')}`);
  }

  /** If the bytes are text, returns the text type that the field accepts, `text/plain` first. */
  #textType(head: Uint8Array): string {
    const type = this.takes('text/plain') ? 'text/plain' : this.types.find((each) => each.startsWith('text/'));
    return type !== undefined && isText(head) ? type : ANY_BYTES;
  }

  /** Reports whether the field accepts a media type. */
  takes(type: string): boolean {
    return this.types.some((each) => each === type || (each.endsWith('/*') && type.startsWith(each.slice(0, -1))));
  }
}

/**
 * Makes a field of a write shape that accepts a file. create and update then also read `multipart/form-data`. The
 * property must have the type `FileType`. The bytes are streamed to a temporary file, and to the store after the
 * request was validated. They are never kept in memory. It needs the packages `@fastify/multipart` and `file-type`.
 *
 * If a write fails, its file is deleted. If an update replaces a file, or its record is deleted, the file is deleted
 * after the commit.
 *
 * @throws ImproperlyConfigured for a missing or wrong option
 * @example
 * const write = writeShape(Ticket, ['title'], {
 *   attachment: file({ store: uploads, maxBytes: 5_000_000, types: ['image/*', 'application/pdf'] }),
 * });
 * // curl -F title=Broken -F attachment=@screen.png http://localhost:3000/api/tickets
 */
export function file<const Direct extends boolean = false>(
  options: FileFieldOptions<Direct>,
  // Infer the type from the option alone, not from the place of the field.
): FileField<NoInfer<Direct>> {
  checkOptions('file()', options, { store: ANYTHING, maxBytes: MAX_BYTES, types: LIST, direct: BOOLEAN });
  const { store, maxBytes, types, direct } = options;
  const isStore = (['put', 'get', 'delete'] as const).every((method) => typeof store?.[method] === 'function');
  if (!isStore) throw wrongOption('file()', 'store', 'a FileStore, such as flydriveStore()', store);
  if (maxBytes === undefined) throw wrongOption('file()', 'maxBytes', MAX_BYTES[0], maxBytes);
  const areTypes = types?.length > 0 && types.every((type) => MEDIA_RANGE.test(type));
  if (!areTypes) {
    const expected = `a list of media types such as "image/png" or "image/*", which begin with ${TOP_LEVEL.join(', ')}`;
    throw wrongOption('file()', 'types', expected, types);
  }
  const signs = (['sign', 'copy', 'delete', 'keys'] as const).every(
    (method) => typeof store.uploads?.[method] === 'function',
  );
  if (direct === true && !signs) {
    throw wrongOption(
      'file()',
      'direct',
      'left out, or the store must sign uploads: flydriveStore(disk, { signUpload }), for a bucket that clients reach',
      direct,
    );
  }
  return new FileField(options);
}
