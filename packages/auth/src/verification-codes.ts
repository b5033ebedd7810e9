import { createHmac, randomInt } from 'node:crypto';
import { type Store, TooManyRequests } from '@viewset/core';

/** The lifetime of a code, and the span in which sends are counted, in seconds. */
export const CODE_LIFETIME_SECONDS = 600;
/** This many wrong tries void a code. */
const MAX_TRIES = 5;
/** This many codes are sent to one address within CODE_LIFETIME_SECONDS. */
const MAX_SENDS = 5;

/** A code that has been taken out of the store: what it takes to put it back as it was. */
export interface TakenCode {
  readonly ttlMs: number;
  readonly tries: number;
}

/**
 * Verification codes: six digits, one per address, valid for 600 seconds, used up by the first right answer or the
 * fifth wrong one. The store never sees a code or an address, only keyed hashes of them, and each operation is one
 * atomic step of the store's, so that the rules hold across processes.
 */
export class VerificationCodes {
  readonly #store: Store;
  readonly #secret: Uint8Array;

  constructor(store: Store, secret: Uint8Array) {
    this.#store = store;
    this.#secret = secret;
  }

  /**
   * Counts one send to the address, and answers what `uncountSend` needs. Throws TooManyRequests for the sixth within
   * 600 seconds.
   */
  async countSend(address: string): Promise<number> {
    const hit = await this.#store.hit(this.#key('sends', address), MAX_SENDS, CODE_LIFETIME_SECONDS * 1000);
    if ((hit.allowed as unknown) === true) return hit.stamp;
    throw new TooManyRequests(hit.retryAfterMs / 1000, 'Too many verification codes were asked for; try again later');
  }

  /** Takes back a send that failed. */
  async uncountSend(address: string, stamp: number): Promise<void> {
    await this.#store.undo(this.#key('sends', address), stamp);
  }

  /** Makes a new code, uniformly random, and keeps it in the place of an earlier one, with all its tries. */
  async issue(address: string): Promise<string> {
    const code = String(randomInt(1_000_000)).padStart(6, '0');
    await this.#store.put(this.#key('code', address), this.#hash(address, code), CODE_LIFETIME_SECONDS * 1000);
    return code;
  }

  /** Takes a code back that never reached its address; a newer one stays. */
  async revoke(address: string, code: string): Promise<void> {
    await this.#store.remove(this.#key('code', address), this.#hash(address, code));
  }

  /** Uses the code up and answers what `restore` needs, or undefined if the code is wrong, missing, expired or void. */
  async take(address: string, code: string): Promise<TakenCode | undefined> {
    const taken = await this.#store.take(this.#key('code', address), this.#hash(address, code), MAX_TRIES);
    return taken.outcome === 'matched' ? { ttlMs: taken.ttlMs, tries: taken.tries } : undefined;
  }

  /** Puts a code back that was taken for something that then failed, unless a newer one has come in between. */
  async restore(address: string, code: string, taken: TakenCode): Promise<void> {
    if (taken.ttlMs <= 0) return;
    const options = { onlyIfAbsent: true, tries: taken.tries };
    await this.#store.put(this.#key('code', address), this.#hash(address, code), taken.ttlMs, options);
  }

  #key(kind: 'code' | 'sends', address: string): string {
    return `auth:${kind}:${this.#hmac(`key\n${address}`)}`;
  }

  #hash(address: string, code: string): string {
    return this.#hmac(`code\n${address}\n${code}`);
  }

  #hmac(text: string): string {
    return createHmac('sha256', this.#secret).update(text).digest('base64url');
  }
}
