import type { FileTypeResult } from 'file-type';
import type { TSchema } from 'typebox';
import { PayloadTooLarge, UnsupportedMediaType } from '../errors.ts';
import { ANYTHING, BOOLEAN, checkOptions, LIST, type OptionRule, wrongOption } from '../options.ts';
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
   * True: clients may also upload the bytes to the store themselves. `POST …/uploads` answers with a signed URL, and a body then names the
   * upload. The store must sign uploads, and the plugin needs a `secret`. Default: false, all bytes come through the server.
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

/** A media type, or all of one kind: `image/png`, `image/*`. */
type MediaRange = `${(typeof TOP_LEVEL)[number]}/${string}`;

/** The file fields of a write shape, by name. */
export type FileFields = ReadonlyMap<string, FileField>;

/** The first bytes that tell the type of any file. */
export const HEAD_BYTES = 4100;

const MEDIA_RANGE = new RegExp(`^(?:${TOP_LEVEL.join('|')})/(?:\\*|[\\w.+-]+)$`, 'i');

const MAX_BYTES: OptionRule = [
  'a whole number of bytes above 0',
  (value) => Number.isSafeInteger(value) && Number(value) > 0,
];

/** The media type of bytes of which nothing is known (RFC 2046, section 4.5.1). */
export const ANY_BYTES = 'application/octet-stream';

/** Tells if bytes, which may end within a character, are text in UTF-8 without control characters. */
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
  /** The schema of the field in a form. The bytes of the file decide if it is accepted. */
  readonly schema: TSchema;

  constructor({ store, maxBytes, types, direct = false as Direct }: FileFieldOptions<Direct>) {
    this.store = store;
    this.direct = direct;
    this.maxBytes = maxBytes;
    // Media types have no case (RFC 9110, section 8.3.1).
    this.types = types.map((type) => type.toLowerCase());
    this.schema = { contentMediaType: this.types.join(', '), description: `A file of at most ${maxBytes} bytes` };
  }

  /** @throws PayloadTooLarge for more bytes than the field takes */
  checkSize(size: number): void {
    if (size > this.maxBytes) throw new PayloadTooLarge(`A file must have at most ${this.maxBytes} bytes`);
  }

  /**
   * Checks the type that a client claims for a file whose bytes have not come yet.
   *
   * @throws UnsupportedMediaType for a type that the field does not take, and that is not `application/octet-stream`
   */
  checkClaim(claimed: string): void {
    if (claimed !== ANY_BYTES && !this.takes(claimed)) throw this.#refusal();
  }

  /**
   * Finds the media type of a file by its first bytes, not by its name. The type that the client claims counts only if bytes cannot show
   * that type, as for `text/csv`. `application/octet-stream`, which generated clients send, claims nothing: bytes that are text in UTF-8
   * then have the text type that the field takes.
   *
   * @throws UnsupportedMediaType for a type that the field does not take
   */
  async typeOf(head: Uint8Array, claimed: string): Promise<string> {
    const { fileTypeFromBuffer, supportedMimeTypes } = await import('file-type');
    const found: FileTypeResult | undefined = await fileTypeFromBuffer(head);
    const isTold = found !== undefined || !supportedMimeTypes.has(claimed);
    const type = found?.mime ?? (claimed === ANY_BYTES && !this.takes(claimed) ? this.#textType(head) : claimed);
    if (isTold && this.takes(type)) return type;
    throw this.#refusal();
  }

  #refusal(): UnsupportedMediaType {
    return new UnsupportedMediaType(`A file must be of the type ${this.types.join(', ')}`);
  }

  /** Returns the text type that the field takes, `text/plain` before others, if the bytes are text. */
  #textType(head: Uint8Array): string {
    const type = this.takes('text/plain') ? 'text/plain' : this.types.find((each) => each.startsWith('text/'));
    return type !== undefined && isText(head) ? type : ANY_BYTES;
  }

  /** Tells if the field takes a media type. */
  takes(type: string): boolean {
    return this.types.some((each) => each === type || (each.endsWith('/*') && type.startsWith(each.slice(0, -1))));
  }
}

/**
 * Makes a field of a write shape that takes a file. create and update then also read `multipart/form-data`. The property must have the type
 * `FileType`. The bytes are streamed to a temporary file, and to the store after the request was validated. They are never held in memory.
 * It needs the packages `@fastify/multipart` and `file-type`.
 *
 * The file of a failed write is deleted. A file that an update replaces, or whose record is deleted, is deleted after the commit.
 *
 * @throws ImproperlyConfigured for an option that is missing or does not fit
 * @example
 * const write = writeShape(Ticket, ['title'], {
 *   attachment: file({ store: uploads, maxBytes: 5_000_000, types: ['image/*', 'application/pdf'] }),
 * });
 * // curl -F title=Broken -F attachment=@screen.png http://localhost:3000/api/tickets
 */
export function file<const Direct extends boolean = false>(
  options: FileFieldOptions<Direct>,
  // The option alone says it, not the place that the field is for.
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
