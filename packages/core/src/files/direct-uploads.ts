import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { FieldValueError } from '../fields/field-value-error.ts';
import { isPlainRecord } from '../support/json.ts';
import { TextSeal } from '../support/sealed-text.ts';
import type { Store } from '../stores/store.ts';
import { ANY_BYTES, type FileField, HEAD_BYTES } from './file-field.ts';
import type { FileStore, SignedUpload } from './file-store.ts';
import type { StoredFile } from './file-type.ts';
import { PendingFile, plainName } from './pending-file.ts';

/**
 * Clients must begin an upload within an hour, and name it in a body within a day. Large files and slow networks need
 * that time.
 */
const URL_SECONDS = 3600;
const UPLOAD_SECONDS = 86_400;

/** The key of an upload: when it expires, in seconds since 1970, and a UUID. */
const UPLOAD_KEY = /^(\d+)-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** The description of a file that a client wants to upload. */
export interface UploadRequest {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  readonly type: string;
}

/** The response to a request for an upload. */
export interface BegunUpload extends SignedUpload {
  /** Names the upload in a body: `{ "upload": "…" }`. */
  readonly upload: string;
  readonly method: 'PUT';
  readonly headers: Readonly<Record<string, string>>;
  /** The latest time to begin the upload. */
  readonly expires_at: string;
}

/**
 * A file in a body that the client has uploaded to the store, named by the text in the response of `POST …/uploads`.
 */
export interface NamedUpload {
  readonly upload: string;
}

/** The field and the user that an upload is for. No other field or user can name it. */
export interface UploadPlace {
  /** The property that the file is for. */
  readonly field: string;
  /** The id of the user who requested the upload; null for an anonymous request. */
  readonly account: string | null;
}

interface Ticket extends UploadRequest {
  readonly key: string;
}

/** The context of a view whose bodies name uploads. */
export interface UploadContext {
  /** The path of the collection. */
  readonly path: string;
  /** Remembers which uploads were taken. */
  readonly store: Store;
  readonly defaults: { readonly secret: string | undefined };
}

/** The uploads of one view. Signs them, and opens the texts that name them in bodies. */
export class DirectUploads {
  readonly #path: string;
  readonly #claims: Store;
  readonly #seal: TextSeal;

  /**
   * @param owner the name of the view
   * @throws ImproperlyConfigured if the application has no secret
   */
  constructor(owner: string, { path, store, defaults }: UploadContext) {
    this.#path = path;
    this.#claims = store;
    const purpose = { owner, texts: 'direct uploads', label: 'viewset upload, AES-256-GCM' };
    this.#seal = new TextSeal(purpose, defaults.secret);
  }

  /**
   * Signs an upload of a file of exactly this size and type.
   *
   * @throws PayloadTooLarge, UnsupportedMediaType for a file that the field does not accept
   */
  async begin(field: FileField, place: UploadPlace, wanted: UploadRequest): Promise<BegunUpload> {
    const { size } = wanted;
    const type = wanted.type.split(';')[0]!.trim().toLowerCase() || ANY_BYTES;
    field.checkSize(size);
    field.checkClaim(type);
    const now = Date.now();
    const key = `${Math.floor(now / 1000) + UPLOAD_SECONDS}-${randomUUID()}`;
    const signed = await field.store.uploads!.sign(key, { size, type }, URL_SECONDS);
    const { url, headers = { 'content-type': type } } = checkSigned(signed);
    const ticket: Ticket = { key, name: plainName(wanted.name), size, type };
    const upload = this.#seal.seal(this.#basis(place), JSON.stringify(ticket));
    return { upload, url, method: 'PUT', headers, expires_at: new Date(now + URL_SECONDS * 1000).toISOString() };
  }

  /** Opens the text that names an upload in a body. Returns undefined for a text of another place. */
  open(field: FileField, place: UploadPlace, text: string): DirectUpload | undefined {
    const ticket = this.#seal.open(this.#basis(place), text);
    return ticket === undefined ? undefined : new DirectUpload(field, JSON.parse(ticket) as Ticket, this.#claims);
  }

  #basis({ field, account }: UploadPlace): string {
    return JSON.stringify([this.#path, field, account]);
  }
}

/** Reports whether a value of a body names an upload. */
export function isNamedUpload(value: unknown): value is NamedUpload {
  return isPlainRecord(value) && typeof value['upload'] === 'string';
}

/** A file that a client has uploaded to the store, or claims to have uploaded. */
export class DirectUpload extends PendingFile {
  readonly name: string;
  readonly size: number;
  readonly type: string;
  readonly #field: FileField;
  readonly #key: string;
  readonly #claims: Store;

  constructor(field: FileField, { key, name, size, type }: Ticket, claims: Store) {
    super();
    this.name = name;
    this.size = size;
    this.type = type;
    this.#field = field;
    this.#key = key;
    this.#claims = claims;
  }

  /**
   * Copies the upload to a file, and checks the copy, which no client can change any more. Of several concurrent
   * requests, only one gets the file.
   *
   * @throws FieldValueError if the upload does not exist, has expired, was taken, or has another size
   * @throws PayloadTooLarge, UnsupportedMediaType if the field does not accept it
   */
  async store(remove: (key: string) => Promise<void>): Promise<StoredFile> {
    const { name, size } = this;
    // Checked here and not when the body is read: a repeated request with the same Idempotency-Key still gets its first
    // response.
    const ttlMs = expiryOf(this.#key)! - Date.now();
    if (ttlMs <= 0) throw new FieldValueError('names an upload that has expired');
    const isFree = await this.#claims.put(this.#claim, 'taken', ttlMs, { onlyIfAbsent: true });
    if (!isFree) throw new FieldValueError('names an upload that was taken already');
    const key = randomUUID();
    try {
      this.#field.checkSize(size);
      const { store } = this.#field;
      const received = await store.uploads!.copy(this.#key, key);
      if (received === undefined) throw new FieldValueError('names an upload whose file is not there');
      if (received !== size) throw new FieldValueError(`names an upload of ${size} bytes, got ${received}`);
      return { key, name, size, type: await this.#field.typeOf(await headOf(store, key, size), this.type) };
    } catch (error) {
      await remove(key);
      // If the release fails, the upload stays taken, and the first error is thrown.
      await this.release().catch(() => {});
      throw error;
    }
  }

  override async release(): Promise<void> {
    await this.#claims.remove(this.#claim);
  }

  override finish(): Promise<void> {
    return this.#field.store.uploads!.delete(this.#key);
  }

  get #claim(): string {
    return `upload:${this.#key}`;
  }
}

/** Reads the first bytes of a file. */
async function headOf(store: FileStore, key: string, size: number): Promise<Buffer> {
  if (size === 0) return Buffer.alloc(0);
  return buffer(await store.get(key, { start: 0, end: Math.min(size, HEAD_BYTES) - 1 }));
}

/**
 * Checks the result of a store's `sign`, or of `signUpload`. The error does not contain the URL, because its signature
 * must not be logged.
 */
function checkSigned(signed: SignedUpload | null | undefined): SignedUpload {
  if (typeof signed?.url === 'string' && URL.canParse(signed.url)) return signed;
  throw new TypeError('a store that signs an upload must return an absolute URL, or { url, headers } with one');
}

/** The time in milliseconds at which an upload expires; undefined for a key that the library did not make. */
function expiryOf(key: string): number | undefined {
  const seconds = UPLOAD_KEY.exec(key)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/**
 * Deletes the expired uploads of a store: those that no record used within a day. Run it now and then, in any process.
 * It does not use the database. A lifecycle rule of the bucket does the same.
 *
 * Throws TypeError for a store without uploads.
 *
 * @returns the number of deleted uploads
 * @example
 * await sweepUploads(uploads);
 */
export async function sweepUploads({ uploads }: FileStore): Promise<number> {
  if (uploads === undefined) throw new TypeError('sweepUploads: the store takes no uploads');
  let count = 0;
  for await (const key of uploads.keys()) {
    const expiry = expiryOf(key);
    if (expiry === undefined || expiry > Date.now()) continue;
    await uploads.delete(key);
    count += 1;
  }
  return count;
}
