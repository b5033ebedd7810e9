import { randomBytes } from 'node:crypto';
import bcrypt from '@node-rs/bcrypt';
import { checkOptionNames, wrongOption } from '@viewset/core';
import { Argon2Hashing, type Argon2Options, isArgon2Hash } from './argon2-hashing.ts';
import { inBcryptQueue } from './bcrypt-queue.ts';

/** bcrypt reads this many bytes of a password and ignores the rest, so no more are ever taken. */
export const MAX_PASSWORD_BYTES = 72;
/** bcrypt's own bounds are 4 and 31; above 20 one login takes minutes. */
const MIN_ROUNDS = 4;
const MAX_ROUNDS = 20;
/**
 * 16 bytes of salt and 23 of a digest in bcrypt's base64. The last characters of both have bits to spare, which must be zero: bcrypt computes
 * nothing for another text, and its time would show it.
 */
const BCRYPT_HASH = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{30}[.CGKOSWaeimquy26]$/;
const BCRYPT_HASHES = { kind: 'a bcrypt hash', length: 60 };
/** 97 characters, and room for larger parameters. */
const ARGON2_HASHES = { kind: 'a hash of Argon2id', length: 120 };
/** A salt and the hash of nothing: a comparison with it takes the time of any other. */
const DECOY = `abcdefghijklmnopqrstuu${'A'.repeat(30)}.`;

/** Stored instead of a hash for an account without a password. No password matches it. */
export const NO_PASSWORD = '!';
/** A password that nobody can send. An account that is saved with it has none. */
export const WITHOUT_PASSWORD = randomBytes(32).toString('base64url');

/** The cost and the kind of new hashes. */
export interface PasswordHasherOptions {
  /** The cost of hashes of bcrypt, 2^rounds. Default: 12. */
  readonly rounds?: number | undefined;
  /** Makes new hashes with Argon2id. Default: with bcrypt. */
  readonly argon2?: Argon2Options | undefined;
}

/** The outcome of a comparison. */
export interface PasswordCheck {
  readonly matches: boolean;
  /**
   * True if the hash should be replaced: it costs less than new ones, is of another kind, or was made from a password
   * that was not normalized.
   */
  readonly isOutdated: boolean;
}

/**
 * Prepares a password for hashing and comparison as the profile OpaqueString of RFC 8265 does: every space of Unicode
 * becomes the ASCII space, and the text its composed form (NFC). One password typed on two systems is then one. Characters
 * that the profile forbids are taken as they are.
 */
export function normalizePassword(text: string): string {
  return text.replaceAll(/\p{Zs}/gu, ' ').normalize('NFC');
}

/**
 * Hashes and compares passwords with bcrypt, on libuv's threads and never on the event loop. Every wrong password takes the same time, even
 * without a hash, or with a hash of fewer rounds. After a comparison with a hash of more rounds, all wrong passwords take as long as that
 * one.
 *
 * With `argon2` new hashes use Argon2id, and bcrypt hashes still match. Every wrong password then takes a comparison of both kinds, so that
 * the time does not reveal which kind an account has.
 *
 * @example
 * const hasher = new PasswordHasher({ rounds: 12 });
 * const hash = await hasher.hash('correct horse');
 * await hasher.matches('correct horse', hash);      // true
 * await hasher.matches('correct horse', undefined); // false, after the same time
 */
export class PasswordHasher {
  readonly rounds: number;
  readonly #argon2: Argon2Hashing | undefined;
  /** The rounds that a wrong password costs. */
  #cost: number;

  /**
   * @param options rounds: bcrypt's cost, 2^rounds key expansions; 12 by default, about a quarter of a second.
   * argon2: makes new hashes with Argon2id. Throws ImproperlyConfigured for a wrong option, and unless `rounds` is an integer from 4 to 20.
   */
  constructor(options: PasswordHasherOptions = {}) {
    checkOptionNames('PasswordHasher', options, ['rounds', 'argon2']);
    const { rounds = 12, argon2 } = options;
    if (!Number.isInteger(rounds) || rounds < MIN_ROUNDS || rounds > MAX_ROUNDS) {
      throw wrongOption('auth', 'bcryptRounds', `an integer from ${MIN_ROUNDS} to ${MAX_ROUNDS}`, rounds);
    }
    this.rounds = rounds;
    this.#argon2 = argon2 && new Argon2Hashing(argon2);
    this.#cost = rounds;
  }

  /** The most bytes of a password that this hasher takes. */
  get maxBytes(): number {
    return this.#argon2 === undefined ? MAX_PASSWORD_BYTES : Infinity;
  }

  /** The kind of new hashes, and their greatest length in characters. */
  get hashes(): { readonly kind: string; readonly length: number } {
    return this.#argon2 === undefined ? BCRYPT_HASHES : ARGON2_HASHES;
  }

  /**
   * Normalizes and hashes a password. Throws RangeError for a password over 72 bytes, unless Argon2id hashes it, because bcrypt would
   * ignore the rest.
   */
  async hash(password: string): Promise<string> {
    const text = normalizePassword(password);
    const argon2 = this.#argon2;
    if (argon2 !== undefined) return inBcryptQueue(() => argon2.hash(text));
    if (isTooLong(text)) throw new RangeError(`A password must be at most ${MAX_PASSWORD_BYTES} bytes of UTF-8`);
    return inBcryptQueue(() => bcrypt.hash(text, this.rounds));
  }

  /**
   * Compares a password with a hash. Also false if the hash is undefined or of an unknown kind, or the password is too long to have been
   * hashed.
   */
  async matches(password: string, hash: string | undefined): Promise<boolean> {
    return (await this.check(password, hash)).matches;
  }

  /**
   * Compares like `matches`, and tells if the hash should be replaced. If normalizing changes the password, the original is tried too,
   * because older hashes were made from it. The time depends on the password and never on the hash.
   */
  async check(password: string, hash: string | undefined): Promise<PasswordCheck> {
    const argon2 = this.#argon2;
    const ofArgon2 = argon2 !== undefined && hash !== undefined && isArgon2Hash(hash) ? hash : undefined;
    const rounds = Number(BCRYPT_HASH.exec(hash ?? '')?.[1] ?? 0);
    const known = rounds === 0 ? undefined : { hash: hash!, rounds };
    this.#cost = Math.max(this.#cost, Math.min(rounds, MAX_ROUNDS));
    const normalized = normalizePassword(password);
    for (const text of new Set([normalized, password])) {
      const isOther = text !== normalized;
      if (argon2 !== undefined && (await inBcryptQueue(() => argon2.matches(text, ofArgon2)))) {
        return { matches: true, isOutdated: isOther || argon2.isOutdated(hash!) };
      }
      if (await this.#equals(text, known)) {
        const isOld = argon2 !== undefined || rounds < this.rounds || isOther;
        return { matches: true, isOutdated: isOld && Buffer.byteLength(normalized) <= this.maxBytes };
      }
    }
    return { matches: false, isOutdated: false };
  }

  /** Compares in one slot of the queue. If the texts differ, it takes 2^cost key expansions. */
  #equals(text: string, known: { readonly hash: string; readonly rounds: number } | undefined): Promise<boolean> {
    const { hash, rounds } = known !== undefined && !isTooLong(text) ? known : { hash: undefined, rounds: this.#cost };
    const cost = this.#cost;
    return inBcryptQueue(async () => {
      const equal = await bcrypt.compare(text, hash ?? decoy(rounds));
      if (equal && hash !== undefined) return true;
      // 2^n + 2^n + 2^(n+1) + … + 2^(cost-1) is 2^cost.
      for (let missing = rounds; missing < cost; missing++) await bcrypt.compare(text, decoy(missing));
      return false;
    });
  }
}

/** True of a text that one of the hashers may have made. */
export function isPasswordHash(text: string): boolean {
  return BCRYPT_HASH.test(text) || isArgon2Hash(text);
}

function decoy(rounds: number): string {
  return `$2b$${String(rounds).padStart(2, '0')}$${DECOY}`;
}

function isTooLong(password: string): boolean {
  return Buffer.byteLength(password, 'utf8') > MAX_PASSWORD_BYTES;
}
