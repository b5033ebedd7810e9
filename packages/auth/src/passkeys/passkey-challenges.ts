import { randomBytes } from 'node:crypto';
import { type Store, TooManyRequests } from '@viewset/core';
import { hitEach } from '../secrets/hit-each.ts';
import type { KeyRing } from '../secrets/key-ring.ts';

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
  readonly #keys: KeyRing;

  constructor(store: Store, keys: KeyRing) {
    this.#store = store;
    this.#keys = keys;
  }

  /** Throws TooManyRequests for the 301st of a client within five minutes. */
  async issue(purpose: string, client: ChallengeClient): Promise<string> {
    const counters = this.#keys.hashes(JSON.stringify(client)).map((hash) => `auth:passkey-challenges:${hash}`);
    const { allowed, retryAfterMs } = await hitEach(this.#store, counters, MAX_ISSUED, CHALLENGE_LIFETIME_MS);
    if (!allowed) throw new TooManyRequests(retryAfterMs / 1000);
    const challenge = randomBytes(32).toString('base64url');
    await this.#store.put(this.#storeKeys(challenge)[0]!, this.#purposes(purpose)[0]!, CHALLENGE_LIFETIME_MS);
    return challenge;
  }

  /** Uses the challenge up. False if it was not made for this purpose, has expired or was used before. */
  async take(challenge: string, purpose: string): Promise<boolean> {
    const purposes = this.#purposes(purpose);
    for (const [index, key] of this.#storeKeys(challenge).entries()) {
      const { outcome } = await this.#store.take(key, purposes[index]!, 1);
      if (outcome !== 'missing') return outcome === 'matched';
    }
    return false;
  }

  #storeKeys(challenge: string): string[] {
    return this.#keys.hashes(`challenge\n${challenge}`).map((hash) => `auth:passkey-challenge:${hash}`);
  }

  #purposes(purpose: string): string[] {
    return this.#keys.hashes(`purpose\n${purpose}`);
  }
}
