import { randomInt } from 'node:crypto';
import type { KeyRing } from '../secrets/key-ring.ts';

const COUNT = 10;
const LENGTH = 10;
/** Without letters and digits that look alike. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';

/**
 * Codes of about 50 random bits. Each replaces the second factor once. They are stored as keyed hashes in one text. If
 * two requests use a code at the same time, one finds the text changed.
 */
export class RecoveryCodes {
  readonly #keys: KeyRing;

  constructor(keys: KeyRing) {
    this.#keys = keys;
  }

  /** Makes codes in the form that users type, `abcde-fghjk`. */
  make(): string[] {
    return Array.from({ length: COUNT }, () => {
      const text = Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
      return `${text.slice(0, LENGTH / 2)}-${text.slice(LENGTH / 2)}`;
    });
  }

  stored(account: number, codes: readonly string[]): string {
    return codes.map((code) => this.#keys.hash(textOf(account, code))).join(' ');
  }

  /** Returns the stored text without a code; undefined if it has no such code. */
  without(stored: string, account: number, code: string): string | undefined {
    const hashes = stored.split(' ');
    const used = this.#keys.hashes(textOf(account, code)).find((hash) => hashes.includes(hash));
    return used === undefined ? undefined : hashes.filter((each) => each !== used).join(' ');
  }
}

function textOf(account: number, code: string): string {
  return `${account}\n${code.toLowerCase().replaceAll(/[\s-]/g, '')}`;
}
