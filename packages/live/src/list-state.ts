import type { LivePage } from '@viewset/core';
import { hash } from 'node:crypto';

/**
 * The longest event id, in characters. Clients send it back in a header, which servers and proxies limit to a few
 * thousand.
 */
const MAX_ID_LENGTH = 3000;
const DIGEST_LENGTH = 12;
const DIGEST = /^[\w-]{12}$/;

/**
 * A client's state of a list: the keys of its records in order, with a digest of each record, and a digest of the rest.
 */
export class ListState {
  readonly keys: readonly string[];
  readonly mark: string;
  readonly #digests: ReadonlyMap<string, string>;
  #id: string | undefined;

  constructor(records: Iterable<readonly [key: string, digest: string]>, mark: string) {
    this.#digests = new Map(records);
    this.keys = [...this.#digests.keys()];
    this.mark = mark;
  }

  static of({ records, mark }: LivePage): ListState {
    return new ListState(
      records.map(({ key, json }) => [key, digest(json)]),
      digest(mark),
    );
  }

  /**
   * Parses the state in an id. Undefined if the id was not made here, or the list is too long for ids with a state. A
   * client may invent a state, and then gets the difference from it.
   */
  static parse(id: string): ListState | undefined {
    if (id.length > MAX_ID_LENGTH) return undefined;
    try {
      const [mark, ...parts] = JSON.parse(Buffer.from(id, 'base64url').toString()) as unknown[];
      if (!isDigest(mark) || parts.length % 2 !== 0) return undefined;
      const records: [string, string][] = [];
      for (let index = 0; index < parts.length; index += 2) {
        const [key, of] = [parts[index], parts[index + 1]];
        if (typeof key !== 'string' || !isDigest(of)) return undefined;
        records.push([key, of]);
      }
      return new ListState(records, mark);
    } catch {
      return undefined;
    }
  }

  digestOf(key: string): string | undefined {
    return this.#digests.get(key);
  }

  /** The id of the event that leads to this state: the state itself, or a digest of it if it is too long. */
  get id(): string {
    return (this.#id ??= this.#makeId());
  }

  /** True if the id is only a digest, because the keys are too long for a header. */
  get isLong(): boolean {
    return this.id.length === DIGEST_LENGTH;
  }

  isSameAs(other: ListState): boolean {
    return (
      this === other ||
      (this.mark === other.mark &&
        this.keys.length === other.keys.length &&
        this.keys.every((key, index) => other.keys[index] === key && other.digestOf(key) === this.digestOf(key)))
    );
  }

  #makeId(): string {
    const parts = [this.mark, ...this.keys.flatMap((key) => [key, this.digestOf(key)])];
    const text = JSON.stringify(parts);
    const id = Buffer.from(text).toString('base64url');
    return id.length > MAX_ID_LENGTH ? digest(text) : id;
  }
}

export function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, DIGEST_LENGTH);
}

function isDigest(value: unknown): value is string {
  return typeof value === 'string' && DIGEST.test(value);
}
