import type { FileFacts } from './file-store.ts';
import type { StoredFile } from './file-type.ts';

/** A file that a body brings, in a place of its own until the request is found to be good. */
export abstract class PendingFile implements FileFacts {
  /** As the client says it, without folders. */
  abstract readonly name: string;
  abstract readonly size: number;
  abstract readonly type: string;

  /**
   * Stores the file for good, under a new key.
   *
   * @param remove deletes what is stored under a key, whatever that comes to: of a file that could not be stored whole
   */
  abstract store(remove: (key: string) => Promise<void>): Promise<StoredFile>;

  /** Lets another request have the file: nothing of the transaction that has stored it was written. */
  async release(): Promise<void> {}

  /** Deletes what is left of the file in its former place: the transaction that has stored it is committed. */
  async finish(): Promise<void> {}
}

const MAX_NAME_LENGTH = 255;

/** Leaves the last part of a file's name, without what could end a header or name another folder. */
export function plainName(name = ''): string {
  const last = name.normalize().split(/[/\\]/).at(-1) ?? '';
  const plain = last
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '')
    .trim();
  return Array.from(plain).slice(0, MAX_NAME_LENGTH).join('') || 'file';
}
