import { once } from 'node:events';
import { PassThrough, pipeline, type Readable } from 'node:stream';
import { checkOptions, FUNCTION } from '../options.ts';

/** The facts about a file that a store may keep with its bytes. */
export interface FileFacts {
  /** Bytes. */
  readonly size: number;
  /** The media type, found by the first bytes of the file: `image/png`. */
  readonly type: string;
}

/**
 * Keeps the bytes of files under keys. The library makes the keys. A key is never used twice, and has only lower-case letters, digits and
 * hyphens.
 *
 * @example
 * const store: FileStore = flydriveStore(new Disk(new FSDriver({ location: './uploads', visibility: 'private' })));
 */
export interface FileStore {
  /**
   * Stores a whole file. If the promise rejects, anything stored under the key may be deleted. The content is closed once the promise
   * settles, read or not.
   */
  put(key: string, content: Readable, facts: FileFacts): Promise<void>;
  /**
   * Opens a file for reading, or its bytes from `start` to `end`, both included. Rejects for an unknown key. The stream is destroyed if
   * nobody needs it any more.
   */
  get(key: string, range?: { readonly start: number; readonly end: number }): Promise<Readable>;
  /** Deletes a file. Resolves for an unknown key, too. */
  delete(key: string): Promise<void>;
  /** Takes files from clients without the server between; left out, the store takes none. */
  readonly uploads?: UploadStore | undefined;
}

/**
 * The part of a store that takes files from clients. An upload is a file that no record has yet. Uploads have keys of their own, apart from
 * those of files; the library makes them of lower-case letters, digits and hyphens.
 */
export interface UploadStore {
  /**
   * Signs the request by which a client uploads a file under a key. It should let in only a file of exactly this size and type, and only for
   * so many seconds. The library checks the size and the bytes again, before a record gets the file.
   */
  sign(key: string, facts: FileFacts, expiresInSeconds: number): Promise<SignedUpload>;
  /**
   * Copies an upload, so that the client cannot change the copy: it is a file of the store under the second key. Returns the bytes of the
   * copy; undefined if there is no such upload. If the promise rejects, anything stored under the second key may be deleted.
   */
  copy(key: string, fileKey: string): Promise<number | undefined>;
  /** Deletes an upload. Resolves for an unknown key, too. */
  delete(key: string): Promise<void>;
  /** Lists the keys of all uploads. */
  keys(): AsyncIterable<string>;
}

/** A request by which a client uploads a file: a PUT of its bytes. */
export interface SignedUpload {
  readonly url: string;
  /** The headers that the client has to send. Default: `content-type`, with the type that was signed. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Signs an upload to a place in a bucket. */
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

/** The part of a Flydrive `Disk` that a store needs whose clients upload to it themselves. */
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

/** The options of `flydriveStore()`; every one has a default. */
export interface FlydriveStoreOptions {
  /** The text before every key, for a disk with other files: `attachments/`. Default: none. */
  readonly folder?: string;
  /**
   * Signs the URL of a PUT to a path of the disk, for `file({ direct: true })`. Sign the size and the type of the file too. Uploads are in
   * the folder `uploads/` below `folder`, until a record gets them. Default: none, the store takes no uploads.
   */
  readonly signUpload?: SignUpload | undefined;
}

/**
 * Makes a store from a Flydrive disk: a local folder, Amazon S3 or a compatible service, or Google Cloud Storage. Flydrive reads files from
 * the beginning, so the store reads and drops the bytes before a range.
 *
 * Throws ImproperlyConfigured for an unknown or a wrong option.
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
      // A local file is opened when its first bytes are read.
      await once(content, 'readable');
      if (range === undefined) return content;
      const part = new PassThrough();
      // Whichever of them ends first, the others are closed.
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
        // It was never sent, or has been swept.
        if (await disk.exists(uploads + key)) throw error;
        return undefined;
      }
      return (await disk.getMetaData(folder + fileKey)).contentLength;
    },
    delete: (key) => disk.delete(uploads + key),
    async *keys() {
      for (let paginationToken: string | undefined; ;) {
        const page = await disk.listAll(uploads, { recursive: true, ...(paginationToken && { paginationToken }) });
        // The disk takes the slash off, and lists what begins alike.
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
