import { once } from 'node:events';
import { PassThrough, pipeline, type Readable } from 'node:stream';
import { checkOptions, FUNCTION } from '../errors/options.ts';

/** The facts about a file. A store may keep them with the bytes. */
export interface FileFacts {
  /** Bytes. */
  readonly size: number;
  /** The media type, detected from the first bytes of the file: `image/png`. */
  readonly type: string;
}

/**
 * Stores the bytes of files under keys. The library makes the keys. A key is never used twice, and has only lower-case
 * letters, digits and hyphens.
 *
 * @example
 * const store: FileStore = flydriveStore(new Disk(new FSDriver({ location: './uploads', visibility: 'private' })));
 */
export interface FileStore {
  /**
   * Stores a whole file. If the promise rejects, the library may delete anything stored under the key. The content is
   * closed once the promise settles, read or not.
   */
  put(key: string, content: Readable, facts: FileFacts): Promise<void>;
  /**
   * Opens a file for reading, or its bytes from `start` to `end`, both included. Rejects for an unknown key. The stream
   * is destroyed once it is no longer needed.
   */
  get(key: string, range?: { readonly start: number; readonly end: number }): Promise<Readable>;
  /** Deletes a file. Resolves for an unknown key, too. */
  delete(key: string): Promise<void>;
  /** Accepts files from clients directly, without the server. Without it, the store accepts none. */
  readonly uploads?: UploadStore | undefined;
}

/**
 * The part of a store that accepts files from clients directly. An upload is a file that no record has yet. Uploads
 * have separate keys, which the library makes of lower-case letters, digits and hyphens.
 */
export interface UploadStore {
  /**
   * Signs the request with which a client uploads a file under a key. The request should allow only a file of exactly
   * this size and type, and only for this number of seconds. The library checks the size and the bytes again, before a
   * record gets the file.
   */
  sign(key: string, facts: FileFacts, expiresInSeconds: number): Promise<SignedUpload>;
  /**
   * Copies an upload to a file of the store, under the second key. The client cannot change the copy. Returns the
   * number of bytes of the copy; undefined if the upload does not exist. If the promise rejects, the library may delete
   * anything stored under the second key.
   */
  copy(key: string, fileKey: string): Promise<number | undefined>;
  /** Deletes an upload. Resolves for an unknown key, too. */
  delete(key: string): Promise<void>;
  /** Lists the keys of all uploads. */
  keys(): AsyncIterable<string>;
}

/** The request that a client sends to upload a file: a PUT of its bytes. */
export interface SignedUpload {
  readonly url: string;
  /** The headers that the client must send. Default: `content-type`, with the signed type. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Signs an upload to a path in a bucket. */
export type SignUpload = (
  path: string,
  facts: FileFacts,
  expiresInSeconds: number,
) => SignedUpload | string | Promise<SignedUpload | string>;

/** The part of a Flydrive `Disk` that a store needs. */
export interface FlydriveDisk {
  putStream(
    key: string,
    content: Readable,
    options?: { readonly contentLength?: number; readonly contentType?: string },
  ): Promise<void>;
  getStream(key: string): Promise<Readable>;
  delete(key: string): Promise<void>;
}

/** The part of a Flydrive `Disk` that a store with direct uploads needs. */
export interface FlydriveUploadDisk extends FlydriveDisk {
  exists(key: string): Promise<boolean>;
  copy(from: string, to: string): Promise<void>;
  getMetaData(key: string): Promise<{ readonly contentLength: number }>;
  listAll(
    folder: string,
    options: { readonly recursive: boolean; readonly paginationToken?: string },
  ): Promise<{
    readonly paginationToken?: string;
    readonly objects: Iterable<{ readonly isFile: true; readonly key: string } | { readonly isFile: false }>;
  }>;
}

/** The options of `flydriveStore()`; all are optional. */
export interface FlydriveStoreOptions {
  /** The prefix of every key, for a disk with other files: `attachments/`. Default: none. */
  readonly folder?: string;
  /**
   * Signs the URL of a PUT to a path of the disk, for `file({ direct: true })`. Sign the size and the type of the file
   * too. Uploads are in the folder `uploads/` below `folder`, until a record gets them. Default: none, the store
   * accepts no uploads.
   */
  readonly signUpload?: SignUpload | undefined;
}

/**
 * Makes a store from a Flydrive disk: a local folder, Amazon S3 or a compatible service, or Google Cloud Storage.
 * Flydrive reads files from the beginning. For a range, the store reads and drops the bytes before it.
 *
 * Throws ImproperlyConfigured for an unknown or wrong option.
 *
 * @example
 * const disk = new Disk(new S3Driver({ bucket: 'tickets', region: 'eu-central-1', visibility: 'private', supportsACL: false }));
 * const store = flydriveStore(disk, { folder: 'attachments/' });
 */
export function flydriveStore(disk: FlydriveDisk, options?: Omit<FlydriveStoreOptions, 'signUpload'>): FileStore;
export function flydriveStore(disk: FlydriveUploadDisk, options: FlydriveStoreOptions): FileStore;
export function flydriveStore(disk: FlydriveDisk | FlydriveUploadDisk, options: FlydriveStoreOptions = {}): FileStore {
  checkOptions('flydriveStore()', options, {
    folder: ['a text', (value) => typeof value === 'string'],
    signUpload: FUNCTION,
  });
  const { folder = '', signUpload } = options;
  return {
    put: (key, content, { size, type }) =>
      disk.putStream(folder + key, content, { contentLength: size, contentType: type }),
    async get(key, range) {
      const content = await disk.getStream(folder + key);
      // A local file is opened by its first read.
      await once(content, 'readable');
      if (range === undefined) return content;
      const part = new PassThrough();
      // If one of the streams ends, the other is closed.
      pipeline(
        content,
        (chunks: AsyncIterable<Buffer>) => partOf(chunks, range.start, range.end),
        part,
        () => {},
      );
      return part;
    },
    delete: (key) => disk.delete(folder + key),
    uploads: signUpload && flydriveUploads(disk as FlydriveUploadDisk, folder, signUpload),
  };
}

function flydriveUploads(disk: FlydriveUploadDisk, folder: string, signUpload: SignUpload): UploadStore {
  const uploads = `${folder}uploads/`;
  return {
    async sign(key, facts, expiresInSeconds) {
      const signed = await signUpload(uploads + key, facts, expiresInSeconds);
      return typeof signed === 'string' ? { url: signed } : signed;
    },
    async copy(key, fileKey) {
      try {
        await disk.copy(uploads + key, folder + fileKey);
      } catch (error) {
        // The upload was never sent, or was swept.
        if (await disk.exists(uploads + key)) throw error;
        return undefined;
      }
      return (await disk.getMetaData(folder + fileKey)).contentLength;
    },
    delete: (key) => disk.delete(uploads + key),
    async *keys() {
      for (let paginationToken: string | undefined; ;) {
        const page = await disk.listAll(uploads, { recursive: true, ...(paginationToken && { paginationToken }) });
        // The disk drops the slash, so it also lists folders that begin alike.
        for (const each of page.objects) {
          if (each.isFile && each.key.startsWith(uploads)) yield each.key.slice(uploads.length);
        }
        paginationToken = page.paginationToken;
        if (paginationToken === undefined) return;
      }
    },
  };
}

/** Passes on the bytes from `start` to `end`, both included, and ends there. */
async function* partOf(content: AsyncIterable<Buffer>, start: number, end: number): AsyncGenerator<Buffer> {
  let position = 0;
  for await (const chunk of content) {
    const part = chunk.subarray(Math.max(0, start - position), Math.max(0, end + 1 - position));
    position += chunk.length;
    if (part.length > 0) yield part;
    if (position > end) return;
  }
}
