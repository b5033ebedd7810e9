import { type Store, TooManyRequests } from '@viewset/core';
import type { KeyRing } from './key-ring.ts';

/** This many wrong guesses within the window block a subject. */
const MAX_WRONG = 10;
const WINDOW_MS = 600_000;
/** The first block. Each further one is twice as long, up to the longest. */
const FIRST_BLOCK_MS = 120_000;
const LONGEST_BLOCK_MS = 3_600_000;
/** Blocks and daily guesses are counted within this time. */
const DAY_MS = 86_400_000;
/** More blocks than fit into that time. */
const MAX_BLOCKS = 100;

/** What is guessed. */
export interface Guesses {
  /** The name of what is guessed, in the keys of the store. */
  readonly kind: string;
  /** The security event of a guess that was refused. */
  readonly event: string;
  /** The message of the 429. */
  readonly message: string;
  /** The most wrong guesses for one subject in any 24 hours. Default: as many as the blocks allow, about 300. */
  readonly maxPerDay?: number;
}

export const PASSWORD_GUESSES: Guesses = {
  kind: 'passwords',
  event: 'auth.login_held',
  message: 'Too many wrong passwords were tried; try again later',
};

/**
 * The most wrong codes for one address and purpose in a day. NIST SP 800-63B (section 3.2.2) allows 100 failures in a
 * row on one account.
 */
export const MAX_WRONG_CODES_PER_DAY = 100;

/** @param kind the purpose of the codes */
export function codeGuesses(kind: string): Guesses {
  const message = 'Too many wrong codes were tried; try again later';
  return { kind, event: 'auth.codes_blocked', message, maxPerDay: MAX_WRONG_CODES_PER_DAY };
}

/**
 * Limits wrong guesses of a secret for each subject, such as an address: ten within ten minutes block it for two
 * minutes, ten more for four, and so on up to an hour, counted over a day. A subject may have a limit for the whole day
 * too. The limit uses only the subject, so it does not reveal if an account exists. A device that has logged into the
 * account before has its own limit, so that unknown devices cannot block it. The store only gets keyed hashes. Guesses are
 * counted under each key of the ring, so that blocks outlast the replacement of a key.
 *
 * Simultaneous guesses are counted one by one, after they were compared. At most ten clients learn that their guess was
 * wrong, and after that none learns that it was right.
 */
export class GuessLimit {
  readonly #store: Store;
  readonly #keys: KeyRing;
  readonly #guesses: Guesses;

  constructor(store: Store, keys: KeyRing, guesses: Guesses) {
    this.#store = store;
    this.#keys = keys;
    this.#guesses = guesses;
  }

  /**
   * Throws TooManyRequests if the subject is blocked.
   *
   * @param device a device that has logged into the account before
   */
  async check(subject: string, device?: string): Promise<void> {
    await this.#check(this.#hashesOf(subject, device));
  }

  /** Counts a wrong guess; the tenth blocks the subject. Throws TooManyRequests if it was already blocked. */
  async count(subject: string, device?: string): Promise<void> {
    const hashes = this.#hashesOf(subject, device);
    const blocks = await this.#check(hashes);
    for (const [index, hash] of hashes.entries()) await this.#countIn(hash, blocks[index]!);
  }

  /** Throws TooManyRequests if one of the hashes is blocked. Returns how often each was blocked. */
  async #check(hashes: readonly string[]): Promise<number[]> {
    const states = await Promise.all(hashes.map((hash) => this.#stateOf(hash)));
    const waits = states.flatMap(({ waitsMs }) => waitsMs);
    if (waits.length > 0) throw this.#blocked(Math.max(...waits));
    return states.map(({ blocks }) => blocks);
  }

  async #stateOf(hash: string): Promise<{ blocks: number; waitsMs: number[] }> {
    const blocks = MAX_BLOCKS - (await this.#store.peek(keyOf('holds', hash), MAX_BLOCKS, DAY_MS)).remaining;
    const { maxPerDay } = this.#guesses;
    const states = await Promise.all([
      this.#store.peek(keyOf(`hold:${blocks}`, hash), 1, blockMs(blocks)),
      this.#store.peek(keyOf(`wrong:${blocks}`, hash), MAX_WRONG, WINDOW_MS),
      ...(maxPerDay === undefined ? [] : [this.#store.peek(keyOf('day', hash), maxPerDay, DAY_MS)]),
    ]);
    // Only true allows the request, because a store may be the application's own.
    const refusing = states.filter(({ allowed }: { allowed: unknown }) => allowed !== true);
    return { blocks, waitsMs: refusing.map(({ retryAfterMs }) => retryAfterMs) };
  }

  async #countIn(hash: string, blocks: number): Promise<void> {
    const { maxPerDay } = this.#guesses;
    const wrong = await this.#store.hit(keyOf(`wrong:${blocks}`, hash), MAX_WRONG, WINDOW_MS);
    if ((wrong.allowed as unknown) !== true) throw this.#blocked(wrong.retryAfterMs);
    const day = maxPerDay === undefined ? wrong : await this.#store.hit(keyOf('day', hash), maxPerDay, DAY_MS);
    if ((day.allowed as unknown) !== true) throw this.#blocked(day.retryAfterMs);
    if (wrong.remaining > 0) return;
    // In this order the subject stays blocked in between: until `holds` increases, the wrong guesses block it.
    await this.#store.hit(keyOf(`hold:${blocks + 1}`, hash), 1, blockMs(blocks + 1));
    await this.#store.hit(keyOf('holds', hash), MAX_BLOCKS, DAY_MS);
  }

  #hashesOf(subject: string, device: string | undefined): string[] {
    const { kind } = this.#guesses;
    return this.#keys.hashes(device === undefined ? `${kind}\n${subject}` : `${kind} of ${device}\n${subject}`);
  }

  #blocked(retryAfterMs: number): TooManyRequests {
    const { message, event } = this.#guesses;
    return new TooManyRequests(retryAfterMs / 1000, message, { event });
  }
}

function keyOf(counter: string, hash: string): string {
  return `auth:${counter}:${hash}`;
}

function blockMs(blocks: number): number {
  return Math.min(FIRST_BLOCK_MS * 2 ** Math.max(0, blocks - 1), LONGEST_BLOCK_MS);
}
