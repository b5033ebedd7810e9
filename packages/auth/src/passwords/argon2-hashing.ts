import { checkOptionNames, wrongOption } from '@viewset/core';

/** The part of `@node-rs/argon2` that is used. */
export interface Argon2Library {
  hash(password: string, options: { memoryCost: number; timeCost: number; parallelism: number }): Promise<string>;
  verify(hash: string, password: string): Promise<boolean>;
}

/** Argon2id for new hashes, with OWASP's parameters. */
export interface Argon2Options {
  /** `import * as library from '@node-rs/argon2'`. */
  readonly library: Argon2Library;
  /** The memory for one hash, in KiB. Default: 19456. */
  readonly memoryKiB?: number;
  /** The passes over the memory. Default: 2. */
  readonly passes?: number;
}

const HASH = /^\$argon2id\$v=19\$m=(\d{1,10}),t=(\d{1,10}),p=\d{1,3}\$[A-Za-z\d+/]{11,}\$[A-Za-z\d+/]{16,}$/;
/** A salt and the hash of no password. Comparing with it takes as long as with any other. */
const DECOY = `${'A'.repeat(22)}$${'A'.repeat(43)}`;

/** Hashes passwords with Argon2id and compares them. */
export class Argon2Hashing {
  readonly #library: Argon2Library;
  readonly #memoryKiB: number;
  readonly #passes: number;

  /** Throws ImproperlyConfigured for a wrong option. */
  constructor(options: Argon2Options) {
    checkOptionNames('auth: option "argon2"', options, ['library', 'memoryKiB', 'passes']);
    const { library, memoryKiB = 19_456, passes = 2 } = options;
    if (typeof library?.hash !== 'function' || typeof library.verify !== 'function') {
      throw wrongOption('auth', 'argon2.library', 'the module @node-rs/argon2', library);
    }
    for (const [name, value, least] of [
      ['memoryKiB', memoryKiB, 8],
      ['passes', passes, 1],
    ] as const) {
      if (Number.isSafeInteger(value) && value >= least && value < 2 ** 32) continue;
      throw wrongOption('auth', `argon2.${name}`, `a whole number of at least ${least}`, value);
    }
    this.#library = library;
    this.#memoryKiB = memoryKiB;
    this.#passes = passes;
  }

  hash(text: string): Promise<string> {
    return this.#library.hash(text, { memoryCost: this.#memoryKiB, timeCost: this.#passes, parallelism: 1 });
  }

  /** Compares with an Argon2id hash. Without one it takes the same time and returns false. */
  async matches(text: string, hash: string | undefined): Promise<boolean> {
    const decoy = `$argon2id$v=19$m=${this.#memoryKiB},t=${this.#passes},p=1$${DECOY}`;
    const isEqual = await this.#library.verify(hash ?? decoy, text);
    return isEqual && hash !== undefined;
  }

  /** True for a hash that costs less than new ones. */
  isOutdated(hash: string): boolean {
    const [, memoryKiB, passes] = HASH.exec(hash) ?? [];
    return Number(memoryKiB) < this.#memoryKiB || Number(passes) < this.#passes;
  }
}

/** True for a text in Argon2id's format. */
export function isArgon2Hash(text: string): boolean {
  return HASH.test(text);
}
