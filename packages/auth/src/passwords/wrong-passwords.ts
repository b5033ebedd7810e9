import { type Store, TooManyRequests } from '@viewset/core';
import { keyedHash } from '../secrets/keyed-hash.ts';

/** This many wrong passwords for an address within the window hold it. */
const MAX_WRONG = 10;
const WINDOW_MS = 600_000;
/** The first hold. Each further one is twice as long, up to the longest. */
const FIRST_HOLD_MS = 120_000;
const LONGEST_HOLD_MS = 3_600_000;
/** Holds are counted within this time. */
const HOLDS_WINDOW_MS = 86_400_000;
/** More holds than fit into that time. */
const MAX_HOLDS = 100;

/**
 * Limits wrong passwords for each account: ten within ten minutes hold it for two minutes, ten more for four, and so
 * on up to an hour, counted over a day. The limit uses only the address and not the account, so it does not reveal if
 * an account exists. A device that has logged into the account before has its own limit, so strangers cannot block it.
 * The store only gets keyed hashes of addresses.
 *
 * Simultaneous logins to one address are counted one by one, after their passwords were compared. At most ten learn
 * that their password was wrong, and after that none learns that it was right.
 */
export class WrongPasswords {
  readonly #store: Store;
  readonly #secret: Uint8Array;

  constructor(store: Store, secret: Uint8Array) {
    this.#store = store;
    this.#secret = secret;
  }

  /**
   * Throws TooManyRequests if the address is held. Returns how often it was held.
   *
   * @param device a device that has logged into the account before
   */
  async check(address: string, device?: string): Promise<number> {
    const subject = subjectOf(address, device);
    const holds =
      MAX_HOLDS - (await this.#store.peek(this.#key('holds', subject), MAX_HOLDS, HOLDS_WINDOW_MS)).remaining;
    const [wrong, hold] = await Promise.all([
      this.#store.peek(this.#key(`wrong:${holds}`, subject), MAX_WRONG, WINDOW_MS),
      this.#store.peek(this.#key(`hold:${holds}`, subject), 1, holdMs(holds)),
    ]);
    // Only true allows the request, because a store may be the application's own.
    const refusing = [hold, wrong].find(({ allowed }: { allowed: unknown }) => allowed !== true);
    if (refusing !== undefined) throw held(refusing.retryAfterMs);
    return holds;
  }

  /** Counts a wrong password; the tenth holds the address. Throws TooManyRequests if it was already held. */
  async count(address: string, device?: string): Promise<void> {
    const subject = subjectOf(address, device);
    const holds = await this.check(address, device);
    const wrong = await this.#store.hit(this.#key(`wrong:${holds}`, subject), MAX_WRONG, WINDOW_MS);
    if ((wrong.allowed as unknown) !== true) throw held(wrong.retryAfterMs);
    if (wrong.remaining > 0) return;
    // In this order the address stays held in between: until `holds` increases, the wrong passwords hold it.
    await this.#store.hit(this.#key(`hold:${holds + 1}`, subject), 1, holdMs(holds + 1));
    await this.#store.hit(this.#key('holds', subject), MAX_HOLDS, HOLDS_WINDOW_MS);
  }

  #key(kind: string, subject: string): string {
    return `auth:${kind}:${keyedHash(this.#secret, subject)}`;
  }
}

function subjectOf(address: string, device: string | undefined): string {
  return device === undefined ? `passwords\n${address}` : `passwords of ${device}\n${address}`;
}

function holdMs(holds: number): number {
  return Math.min(FIRST_HOLD_MS * 2 ** Math.max(0, holds - 1), LONGEST_HOLD_MS);
}

function held(retryAfterMs: number): TooManyRequests {
  const message = 'Too many wrong passwords were tried; try again later';
  return new TooManyRequests(retryAfterMs / 1000, message, { event: 'auth.login_held' });
}
