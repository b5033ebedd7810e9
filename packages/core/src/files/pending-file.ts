import type { FileFacts } from './file-store.ts';
import type { StoredFile } from './file-type.ts';

/** A file of a body, in a temporary place until the request is known to be valid. */
export abstract class PendingFile implements FileFacts {
  /** The name that the client sent, without folders. */
  abstract readonly name: string;
  abstract readonly size: number;
  abstract readonly type: string;

  /**
   * Stores the file for good, under a new key.
   *
   * @param remove deletes a file that could not be stored whole, by its key, and never fails
   */
  abstract store(remove: (key: string) => Promise<void>): Promise<StoredFile>;

  /** Makes the file available to another request, after the transaction that stored it was rolled back. */
  async release(): Promise<void> {}

  /** Deletes the file from its temporary place, after the transaction that stored it was committed. */
  async finish(): Promise<void> {}
}

const MAX_NAME_LENGTH = 255;

/** Returns the last part of a file's name, without characters that could end a header or name another folder. */
export function plainName(name = ''): string {
  const last = name.normalize().split(/[/\\]/).at(-1) ?? '';
  const plain = last
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '')
    .trim();
  return Array.from(plain).slice(0, MAX_NAME_LENGTH).join('') || 'file';
}
