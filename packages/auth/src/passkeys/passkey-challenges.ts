import { randomBytes } from 'node:crypto';
import { type Store, TooManyRequests } from '@viewset/core';
import { keyedHash } from '../secrets/keyed-hash.ts';

export const CHALLENGE_LIFETIME_MS = 300_000;
/** The most challenges per client within that time. */
const MAX_ISSUED = 300;

/** Who asks for challenges. */
export type ChallengeClient = { readonly account: number } | { readonly address: string | undefined };

/**
 * Challenges for passkeys: random, valid for five minutes, for one answer and one purpose. The store only gets keyed
 * hashes of challenges and purposes.
 */
export class PasskeyChallenges {
  readonly #store: Store;
  readonly #key: Uint8Array;

  constructor(store: Store, key: Uint8Array) {
    this.#store = store;
    this.#key = key;
  }

  /** Throws TooManyRequests for the 301st of a client within five minutes. */
  async issue(purpose: string, client: ChallengeClient): Promise<string> {
    const counter = `auth:passkey-challenges:${this.#hmac(JSON.stringify(client))}`;
    const { allowed, retryAfterMs } = await this.#store.hit(counter, MAX_ISSUED, CHALLENGE_LIFETIME_MS);
    if ((allowed as unknown) !== true) throw new TooManyRequests(retryAfterMs / 1000);
    const challenge = randomBytes(32).toString('base64url');
    await this.#store.put(this.#keyOf(challenge), this.#hmac(`purpose\n${purpose}`), CHALLENGE_LIFETIME_MS);
    return challenge;
  }

  /** Uses the challenge up. False if it was not made for this purpose, has expired or was used before. */
  async take(challenge: string, purpose: string): Promise<boolean> {
    const { outcome } = await this.#store.take(this.#keyOf(challenge), this.#hmac(`purpose\n${purpose}`), 1);
    return outcome === 'matched';
  }

  #keyOf(challenge: string): string {
    return `auth:passkey-challenge:${this.#hmac(`challenge\n${challenge}`)}`;
  }

  #hmac(text: string): string {
    return keyedHash(this.#key, text);
  }
}
