import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { FileStore } from '../../src/index.ts';

/** A picture of one pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** A bucket that checks nothing, as one whose URLs do not sign the size and the type. */
export class Bucket implements FileStore {
  readonly files = new Map<string, Buffer>();
  readonly uploaded = new Map<string, Buffer>();
  /** Runs after an upload was copied, before the copy is looked at. */
  afterCopy: () => Promise<void> = async () => {};
  /** Runs after a file was deleted. */
  afterDelete: () => void = () => {};
  readonly uploads = {
    sign: async (key: string) => ({ url: `https://bucket.example/${key}` }),
    copy: async (key: string, fileKey: string) => {
      const content = this.uploaded.get(key);
      if (content === undefined) return undefined;
      this.files.set(fileKey, content);
      await this.afterCopy();
      return content.length;
    },
    delete: async (key: string) => void this.uploaded.delete(key),
    keys: () => Readable.from([...this.uploaded.keys()]),
  };
  async put(key: string, content: Readable) {
    this.files.set(key, await buffer(content));
  }
  async get(key: string, { start = 0, end = Infinity } = {}) {
    const content = this.files.get(key);
    if (content === undefined) throw new Error(`no file ${key}`);
    return Readable.from([content.subarray(start, end + 1)]);
  }
  async delete(key: string) {
    this.files.delete(key);
    this.afterDelete();
  }

  /** Puts bytes under the key that a URL was signed for. */
  receive(url: string, content: Buffer = PNG): void {
    this.uploaded.set(new URL(url).pathname.slice(1), content);
  }

  /** Forgets everything. */
  clear(): void {
    this.files.clear();
    this.uploaded.clear();
    this.afterCopy = async () => {};
    this.afterDelete = () => {};
  }
}
