import { once } from 'node:events';
import { PassThrough, pipeline, type Readable } from 'node:stream';

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
}

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

/**
 * Makes a store from a Flydrive disk: a local folder, Amazon S3 or a compatible service, or Google Cloud Storage. Flydrive reads files from
 * the beginning, so the store reads and drops the bytes before a range.
 *
 * @param folder the text before every key, for a disk with other files: `attachments/`
 * @example
 * const disk = new Disk(new S3Driver({ bucket: 'tickets', region: 'eu-central-1', visibility: 'private', supportsACL: false }));
 * const store = flydriveStore(disk, { folder: 'attachments/' });
 */
export function flydriveStore(disk: FlydriveDisk, { folder = '' }: { readonly folder?: string } = {}): FileStore {
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
