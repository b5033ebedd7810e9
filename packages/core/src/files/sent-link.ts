import { isPlainRecord } from '../support/json.ts';
import type { FileLink } from './file-type.ts';

/** The link of a file in a body, as a response has shown it. It keeps the file of the record, if it is its link. */
export class SentLink {
  readonly #link: FileLink;

  constructor({ url, name, size, type }: FileLink) {
    this.#link = { url, name, size, type };
  }

  /** Reports whether a record with this link would keep its file. */
  keeps(current: FileLink | null): boolean {
    const { url, name, size, type } = this.#link;
    return (
      current !== null && current.url === url && current.name === name && current.size === size && current.type === type
    );
  }
}

/** Reports whether a value of a body has the form of a link. Other members are ignored, as in other objects. */
export function isFileLink(value: unknown): value is FileLink {
  if (!isPlainRecord(value)) return false;
  const { url, name, size, type } = value;
  return typeof url === 'string' && typeof name === 'string' && typeof size === 'number' && typeof type === 'string';
}
