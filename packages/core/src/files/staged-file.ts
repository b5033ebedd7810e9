import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type FileField, HEAD_BYTES } from './file-field.ts';
import type { StoredFile } from './file-type.ts';
import { PendingFile, plainName } from './pending-file.ts';

/** A file as a client sends it. */
export interface SentFile {
  readonly name: string | undefined;
  readonly type: string;
  readonly content: Readable;
}

/** A sent file, in a temporary place until its request is known to be valid. */
export class StagedFile extends PendingFile {
  readonly name: string;
  readonly size: number;
  readonly type: string;
  readonly #path: string;
  readonly #field: FileField;

  private constructor(field: FileField, path: string, facts: Omit<StoredFile, 'key'>) {
    super();
    this.#field = field;
    this.#path = path;
    this.name = facts.name;
    this.size = facts.size;
    this.type = facts.type;
  }

  /**
   * Writes a file to a temporary place that only this process can read. If it fails, it leaves nothing behind.
   *
   * @throws PayloadTooLarge, UnsupportedMediaType as soon as the bytes show it
   */
  static async stage(field: FileField, { name, type: claimed, content }: SentFile): Promise<StagedFile> {
    const path = join(tmpdir(), `viewset-${randomUUID()}`);
    const inspection = new Inspection(field, claimed);
    const temporary = createWriteStream(path, { flags: 'wx', mode: 0o600 });
    try {
      await pipeline(content, (chunks) => inspection.pass(chunks), temporary);
      const { size, type } = inspection;
      return new StagedFile(field, path, { name: plainName(name), size, type });
    } catch (error) {
      // The pipeline may fail before the file is open.
      if (!temporary.closed) await new Promise<void>((resolve) => temporary.once('close', resolve));
      await rm(path, { force: true });
      throw error;
    }
  }

  async store(remove: (key: string) => Promise<void>): Promise<StoredFile> {
    const { name, size, type } = this;
    const key = randomUUID();
    const { store } = this.#field;
    // Open the file first: a store may not listen yet when a stream reports that it cannot be opened.
    const content = (await open(this.#path)).createReadStream();
    try {
      await store.put(key, content, { size, type });
    } catch (error) {
      await remove(key);
      throw error;
    } finally {
      // A store that failed may have read nothing.
      content.destroy();
    }
    return { key, name, size, type };
  }

  /** The SHA-256 of its content. */
  async digest(): Promise<string> {
    const hash = createHash('sha256');
    await pipeline((await open(this.#path)).createReadStream(), hash);
    return hash.digest('hex');
  }

  /** Deletes the temporary file. */
  discard(): Promise<void> {
    return rm(this.#path, { force: true });
  }
}

/** Inspects the bytes of a file as they pass. */
class Inspection {
  size = 0;
  type = '';
  readonly #field: FileField;
  readonly #claimed: string;

  constructor(field: FileField, claimed: string) {
    this.#field = field;
    this.#claimed = claimed;
  }

  async *pass(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let head = Buffer.alloc(0);
    for await (const chunk of chunks) {
      this.size += chunk.length;
      this.#field.checkSize(this.size);
      if (this.type === '') {
        head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)]);
        if (head.length === HEAD_BYTES) this.type = await this.#field.typeOf(head, this.#claimed);
      }
      yield chunk;
    }
    if (this.type === '') this.type = await this.#field.typeOf(head, this.#claimed);
  }
}
