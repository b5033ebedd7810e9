import bcrypt from 'bcrypt';
import { ImproperlyConfigured } from '@viewset/core';
import { inBcryptQueue } from './bcrypt-queue.ts';

/** bcrypt reads this many bytes of a password and ignores the rest, so no more are ever taken. */
export const MAX_PASSWORD_BYTES = 72;
/** bcrypt's own bounds are 4 and 31; above 20 one login takes minutes. */
const MIN_ROUNDS = 4;
const MAX_ROUNDS = 20;
const BCRYPT_HASH = /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/;

/**
 * Hashes passwords with bcrypt and compares them, on libuv's threads and never on the event loop. Every comparison
 * costs the same, whether there is a hash to compare with or not.
 *
 * @example
 * const hasher = new PasswordHasher({ rounds: 12 });
 * const hash = await hasher.hash('correct horse');
 * await hasher.matches('correct horse', hash);      // true
 * await hasher.matches('correct horse', undefined); // false, after the same time
 */
export class PasswordHasher {
  readonly rounds: number;
  /** The hash of nothing that anybody knows, of the same cost as every other. */
  #decoy: Promise<string> | undefined;

  /**
   * @param options rounds: bcrypt's cost, 2^rounds key expansions; 12 by default, about a quarter of a second.
   * Throws ImproperlyConfigured unless it is an integer from 4 to 20.
   */
  constructor({ rounds = 12 }: { readonly rounds?: number | undefined } = {}) {
    if (!Number.isInteger(rounds) || rounds < MIN_ROUNDS || rounds > MAX_ROUNDS) {
      throw new ImproperlyConfigured(
        `auth: option "bcryptRounds" must be an integer from ${MIN_ROUNDS} to ${MAX_ROUNDS}, but ${String(rounds)} came`,
      );
    }
    this.rounds = rounds;
  }

  /** Throws RangeError for a password over 72 bytes: a hash of its beginning would let many passwords in. */
  async hash(password: string): Promise<string> {
    if (isTooLong(password)) throw new RangeError(`A password must be at most ${MAX_PASSWORD_BYTES} bytes of UTF-8`);
    return inBcryptQueue(() => bcrypt.hash(password, this.rounds));
  }

  /** False also where the hash is undefined or none of bcrypt's, and for a password too long to have been hashed. */
  async matches(password: string, hash: string | undefined): Promise<boolean> {
    const possible = hash !== undefined && BCRYPT_HASH.test(hash) && !isTooLong(password);
    const against = possible ? hash : await this.#decoyHash();
    const equal = await inBcryptQueue(() => bcrypt.compare(password, against));
    return possible && equal;
  }

  /** Makes the hash that unknown accounts are compared with, so that the first such login takes no longer. */
  async prepare(): Promise<void> {
    await this.#decoyHash();
  }

  #decoyHash(): Promise<string> {
    this.#decoy ??= this.hash(crypto.randomUUID()).catch((error: unknown) => {
      // Kept, it would fail every login to an unknown address, and tell those addresses from the others.
      this.#decoy = undefined;
      throw error;
    });
    return this.#decoy;
  }
}

function isTooLong(password: string): boolean {
  return Buffer.byteLength(password, 'utf8') > MAX_PASSWORD_BYTES;
}
