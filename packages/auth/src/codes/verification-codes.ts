import { randomInt } from 'node:crypto';
import { type Store, TooManyRequests, wrongOption } from '@viewset/core';
import { deriveKey, keyedHash } from '../secrets/keyed-hash.ts';
import { SecretBox } from '../secrets/secret-box.ts';

/** The lifetime of a code, and the span in which sends are counted, in seconds. */
export const CODE_LIFETIME_SECONDS = 600;
/** This many wrong tries void a code. */
const MAX_TRIES = 5;
/** This many codes are sent to one address within CODE_LIFETIME_SECONDS. */
const MAX_SENDS = 5;
const REGISTRATION = 'registration';

/** A code that was taken from the store, with everything to restore it. */
export interface TakenCode {
  readonly ttlMs: number;
  readonly tries: number;
  /** The text that `issue` got with the code; empty if there was none. */
  readonly note: string;
}

/**
 * Verification codes of six digits: one per address and purpose, valid for 600 seconds. The first right try or the fifth wrong one uses up
 * a code. A code for one purpose is wrong for every other. The store only gets keyed hashes of codes and addresses. Each operation is one
 * atomic step of the store, so the rules hold across processes.
 *
 * `app.auth.codes` has the codes of registrations. `for` makes codes for another purpose.
 *
 * @example
 * const invitations = app.auth.codes.for('invitation');
 * const code = await invitations.issue('ann@example.com');             // '049261'
 * (await invitations.take('ann@example.com', code)) !== undefined;     // true, once
 */
export class VerificationCodes {
  readonly purpose: string;
  readonly #store: Store;
  readonly #secret: Uint8Array;
  readonly #notes: SecretBox;
  /** The prefix of hashed texts; empty for registrations. */
  readonly #prefix: string;

  /**
   * @param secret at least 32 bytes, the same in every process
   * @throws ImproperlyConfigured for a purpose with other characters than lower-case letters, digits and hyphens
   */
  constructor(store: Store, secret: Uint8Array, purpose = REGISTRATION) {
    if (typeof purpose !== 'string' || !/^[a-z\d-]+$/.test(purpose)) {
      throw wrongOption('VerificationCodes', 'purpose', 'a name such as "invitation"', purpose);
    }
    this.purpose = purpose;
    this.#store = store;
    this.#secret = secret;
    this.#notes = new SecretBox(deriveKey(secret, 'notes of codes'));
    this.#prefix = purpose === REGISTRATION ? '' : `${purpose}:`;
  }

  /** Makes the codes of another purpose, in the same store. Sends to an address are counted together. */
  for(purpose: string): VerificationCodes {
    return new VerificationCodes(this.#store, this.#secret, purpose);
  }

  /**
   * Counts one send to the address, for any purpose, and returns the stamp for `uncountSend`. Throws TooManyRequests for the sixth within
   * 600 seconds.
   */
  async countSend(address: string): Promise<number> {
    const hit = await this.#store.hit(this.#sends(address), MAX_SENDS, CODE_LIFETIME_SECONDS * 1000);
    if ((hit.allowed as unknown) === true) return hit.stamp;
    throw new TooManyRequests(hit.retryAfterMs / 1000, 'Too many verification codes were asked for; try again later');
  }

  /** Removes a failed send from the count. */
  async uncountSend(address: string, stamp: number): Promise<void> {
    await this.#store.undo(this.#sends(address), stamp);
  }

  /**
   * Makes a new random code that replaces an earlier one and has all its tries.
   *
   * @param note what the code should confirm; it is stored encrypted, and `take` returns it
   */
  async issue(address: string, note = ''): Promise<string> {
    const code = String(randomInt(1_000_000)).padStart(6, '0');
    const value = this.#hash(address, code) + this.#sealed(address, note);
    await this.#store.put(this.#key(address), value, CODE_LIFETIME_SECONDS * 1000);
    return code;
  }

  /** Voids a code that never reached its address. A newer one stays. */
  async revoke(address: string, code: string): Promise<void> {
    const [key, hash] = [this.#key(address), this.#hash(address, code)];
    if (await this.#store.remove(key, hash)) return;
    const stored = await this.#store.read(key);
    if (stored?.startsWith(`${hash}.`) === true) await this.#store.remove(key, stored);
  }

  /** Voids any code of an address. */
  async cancel(address: string): Promise<void> {
    await this.#store.remove(this.#key(address));
  }

  /** Uses up the code and returns what `restore` needs; undefined if the code is wrong, missing, expired or void. */
  async take(address: string, code: string): Promise<TakenCode | undefined> {
    return this.#take(address, code, '');
  }

  /** Uses up a code that has a note, like `take`. */
  async takeNoted(address: string, code: string): Promise<TakenCode | undefined> {
    const stored = (await this.#store.read(this.#key(address))) ?? '';
    return this.#take(address, code, stored.slice(this.#hash(address, code).length));
  }

  /** Restores a used code if the action that it confirmed has failed, unless there is a newer code. */
  async restore(address: string, code: string, { ttlMs, tries, note }: TakenCode): Promise<void> {
    if (ttlMs <= 0) return;
    const value = this.#hash(address, code) + this.#sealed(address, note);
    await this.#store.put(this.#key(address), value, ttlMs, { onlyIfAbsent: true, tries });
  }

  async #take(address: string, code: string, sealed: string): Promise<TakenCode | undefined> {
    const taken = await this.#store.take(this.#key(address), this.#hash(address, code) + sealed, MAX_TRIES);
    const note = sealed === '' ? '' : this.#notes.open(sealed.slice(1), this.#key(address));
    if (taken.outcome !== 'matched' || note === undefined) return undefined;
    return { ttlMs: taken.ttlMs, tries: taken.tries, note };
  }

  #sealed(address: string, note: string): string {
    return note === '' ? '' : `.${this.#notes.seal(note, this.#key(address))}`;
  }

  #sends(address: string): string {
    return `auth:sends:${this.#hmac(`key\n${address}`)}`;
  }

  #key(address: string): string {
    return `auth:code:${this.#hmac(`${this.#prefix}key\n${address}`)}`;
  }

  #hash(address: string, code: string): string {
    return this.#hmac(`${this.#prefix}code\n${address}\n${code}`);
  }

  #hmac(text: string): string {
    return keyedHash(this.#secret, text);
  }
}
