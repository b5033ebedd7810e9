import { randomInt } from 'node:crypto';
import { type Store, TooManyRequests, wrongOption } from '@viewset/core';
import { codeGuesses, GuessLimit } from '../secrets/guess-limit.ts';
import { hitEach, undoEach } from '../secrets/hit-each.ts';
import { KeyRing } from '../secrets/key-ring.ts';
import { SecretBox } from '../secrets/secret-box.ts';

/** The lifetime of a code, and the span in which sends are counted, in seconds. */
export const CODE_LIFETIME_SECONDS = 600;
/** This many wrong tries void a code. */
const MAX_TRIES = 5;
/** This many codes are sent to one address within CODE_LIFETIME_SECONDS; known devices have as many of their own. */
const MAX_SENDS = 5;
/** This many codes are sent to one address in any 24 hours. */
const MAX_SENDS_PER_DAY = 20;
/** So many of them for known devices alone, so that nobody else can use them up. */
const MAX_KNOWN_PER_DAY = 5;
/** So many of them for all other devices together, and for those of one network. */
const MAX_UNKNOWN_PER_DAY = MAX_SENDS_PER_DAY - MAX_KNOWN_PER_DAY;
const MAX_PER_NETWORK_AND_DAY = 7;
const DAY_MS = 86_400_000;
const TOO_MANY_CODES = 'Too many verification codes were asked for; try again later';
const REGISTRATION = 'registration';
const CODE = /^\d{6}$/;

/** A code that was taken from the store, with everything to restore it. */
export interface TakenCode {
  readonly ttlMs: number;
  readonly tries: number;
  /** The text that `issue` got with the code; empty if there was none. */
  readonly note: string;
}

/** Who causes a send, so that nobody uses up the sends of others. */
export interface CodeSender {
  /** The network of the client, as `clientNetwork(request)` returns it. */
  readonly network?: string | undefined;
  /** A device that has logged into the account of the address before. It has sends of its own. */
  readonly device?: string | undefined;
}

/** The options of `countSend`. */
export interface CountSendOptions extends CodeSender {
  /** The message of the error. Default: that too many codes were requested. */
  readonly message?: string;
}

/** A limit of sends. */
interface SendLimit {
  /** A part of the keys of its counters. */
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
}

/** A counted send, for `uncountSend`. */
export interface CountedSend {
  readonly counted: readonly { readonly name: string; readonly stamps: readonly number[] }[];
}

/**
 * Verification codes of six digits: one per address and purpose, valid for 600 seconds. The first right try or the fifth wrong one uses up
 * a code. A code for one purpose is wrong for every other. The store only gets keyed hashes of codes and addresses. Each operation is one
 * atomic step of the store, so the rules hold across processes.
 *
 * Ten wrong codes for an address within ten minutes block it for this purpose, for two minutes at first and for up to an hour later. In any
 * 24 hours an address gets at most 100 wrong codes for one purpose, and 20 mails. Of these, 5 are for devices that have logged into
 * the account before, and at most 7 for other devices of one network. So nobody can use up all mails of an address from one network.
 *
 * `app.auth.codes` has the codes of registrations. `for` makes codes for another purpose.
 *
 * @example
 * const newsletter = app.auth.codes.for('newsletter');
 * const code = await newsletter.issue('ann@example.com');             // '049261'
 * (await newsletter.take('ann@example.com', code)) !== undefined;     // true, once
 */
export class VerificationCodes {
  readonly purpose: string;
  readonly #store: Store;
  readonly #keys: KeyRing;
  readonly #notes: SecretBox;
  readonly #guesses: GuessLimit;
  /** The prefix of hashed texts; empty for registrations. */
  readonly #prefix: string;

  /**
   * @param secret at least 32 bytes, the same in every process. Of a list, the first makes codes, and all verify them.
   * @throws ImproperlyConfigured for a purpose with other characters than lower-case letters, digits and hyphens
   */
  constructor(store: Store, secret: Uint8Array | readonly Uint8Array[], purpose = REGISTRATION) {
    if (typeof purpose !== 'string' || !/^[a-z\d-]+$/.test(purpose)) {
      throw wrongOption('VerificationCodes', 'purpose', 'a name such as "newsletter"', purpose);
    }
    this.purpose = purpose;
    this.#store = store;
    this.#keys = new KeyRing(secret instanceof Uint8Array ? [secret] : secret);
    this.#notes = new SecretBox(this.#keys.for('notes of codes'));
    this.#guesses = new GuessLimit(store, this.#keys, codeGuesses(`codes for ${purpose}`));
    this.#prefix = purpose === REGISTRATION ? '' : `${purpose}:`;
  }

  /** Makes the codes of another purpose, in the same store. Sends to an address are counted together. */
  for(purpose: string): VerificationCodes {
    return new VerificationCodes(this.#store, this.#keys.keys, purpose);
  }

  /**
   * Counts one send to the address, for any purpose, and returns what `uncountSend` needs. Throws TooManyRequests for the sixth within 600
   * seconds, and for the 21st within 24 hours. With `network`, also for the eighth of this network within 24 hours, and for the 16th of
   * all devices that are not known. A known device has five sends of its own in 600 seconds and in 24 hours. Beyond them it counts as
   * any other device.
   */
  async countSend(address: string, options: CountSendOptions = {}): Promise<CountedSend> {
    const { network, device, message = TOO_MANY_CODES } = options;
    if (device !== undefined) {
      const { send } = await this.#countAll(address, KNOWN_LIMITS);
      if (send !== undefined) return send;
    }
    const { send, retryAfterMs } = await this.#countAll(address, network === undefined ? LIMITS : limitsOf(network));
    if (send !== undefined) return send;
    throw new TooManyRequests(retryAfterMs / 1000, message);
  }

  /** Removes a failed send from the count. */
  async uncountSend(address: string, { counted }: CountedSend): Promise<void> {
    for (const { name, stamps } of counted) await undoEach(this.#store, this.#sends(address, name), stamps);
  }

  /** Counts a send for each limit; for none, if one of them refuses it. */
  async #countAll(
    address: string,
    limits: readonly SendLimit[],
  ): Promise<{ send?: CountedSend; retryAfterMs: number }> {
    const counted: { name: string; stamps: readonly number[] }[] = [];
    for (const { name, limit, windowMs } of limits) {
      const hit = await hitEach(this.#store, this.#sends(address, name), limit, windowMs).catch(
        async (error: unknown) => {
          await this.uncountSend(address, { counted });
          throw error;
        },
      );
      if (!hit.allowed) {
        await this.uncountSend(address, { counted });
        return { retryAfterMs: hit.retryAfterMs };
      }
      counted.push({ name, stamps: hit.stamps });
    }
    return { send: { counted }, retryAfterMs: 0 };
  }

  /**
   * Makes a new random code that replaces an earlier one and has all its tries.
   *
   * @param note what the code should confirm; it is stored encrypted, and `take` returns it
   */
  async issue(address: string, note = ''): Promise<string> {
    const code = String(randomInt(1_000_000)).padStart(6, '0');
    const [key = '', ...others] = this.#storeKeys(address);
    const value = this.#hashes(address, code)[0] + this.#sealed(address, note);
    await this.#store.put(this.#sentKeys(address)[0]!, this.#hashes(address, code)[0]!, CODE_LIFETIME_SECONDS * 1000);
    await this.#store.put(key, value, CODE_LIFETIME_SECONDS * 1000);
    for (const other of others) await this.#store.remove(other);
    return code;
  }

  /** Voids a code that never reached its address. A newer one stays. */
  async revoke(address: string, code: string): Promise<void> {
    const [key = ''] = this.#storeKeys(address);
    const [hash = ''] = this.#hashes(address, code);
    if (await this.#store.remove(key, hash)) return;
    const stored = await this.#store.read(key);
    if (stored?.startsWith(`${hash}.`) === true) await this.#store.remove(key, stored);
  }

  /** Voids any code of an address. */
  async cancel(address: string): Promise<void> {
    for (const key of this.#storeKeys(address)) await this.#store.remove(key);
  }

  /**
   * Uses up the code and returns what `restore` needs; undefined if the code is wrong, missing, expired or void. Throws
   * TooManyRequests while the address is blocked because of wrong codes for this purpose.
   *
   * @param device a device that has logged into the account of the address before; its wrong codes are counted separately
   */
  async take(address: string, code: string, device?: string): Promise<TakenCode | undefined> {
    return this.#guess(address, code, false, device);
  }

  /** Uses up a code that has a note, like `take`. */
  async takeNoted(address: string, code: string, device?: string): Promise<TakenCode | undefined> {
    return this.#guess(address, code, true, device);
  }

  /** Restores a used code if the action that it confirmed has failed, unless there is a newer code. */
  async restore(address: string, code: string, { ttlMs, tries, note }: TakenCode): Promise<void> {
    if (ttlMs <= 0) return;
    const value = this.#hashes(address, code)[0] + this.#sealed(address, note);
    await this.#store.put(this.#storeKeys(address)[0]!, value, ttlMs, { onlyIfAbsent: true, tries });
  }

  async #guess(address: string, code: string, isNoted: boolean, device?: string): Promise<TakenCode | undefined> {
    await this.#guesses.check(address, device);
    const taken = await this.#take(address, code, isNoted);
    if (typeof taken === 'string') {
      const isGuess = taken === 'mismatched' || (CODE.test(code) && !(await this.#wasSent(address, code)));
      if (isGuess) await this.#guesses.count(address, device);
      return undefined;
    }
    try {
      // Wrong codes may have been counted meanwhile: then no client learns that this one was right.
      await this.#guesses.check(address, device);
    } catch (error) {
      await this.restore(address, code, taken);
      throw error;
    }
    return taken;
  }

  /** True for the last code that was made, also if it is used up: several requests may have sent it. It is no guess. */
  async #wasSent(address: string, code: string): Promise<boolean> {
    const hashes = this.#hashes(address, code);
    const sent = await Promise.all(this.#sentKeys(address).map(async (key) => this.#store.read(key)));
    return sent.some((hash) => hash !== undefined && hashes.includes(hash));
  }

  /** Another process may have made the code with any of the keys. */
  async #take(address: string, code: string, isNoted: boolean): Promise<TakenCode | 'mismatched' | 'missing'> {
    const hashes = this.#hashes(address, code);
    for (const [index, key] of this.#storeKeys(address).entries()) {
      const hash = hashes[index]!;
      const sealed = isNoted ? ((await this.#store.read(key)) ?? '').slice(hash.length) : '';
      const taken = await this.#store.take(key, hash + sealed, MAX_TRIES);
      if (taken.outcome === 'missing') continue;
      const note = sealed === '' ? '' : this.#notes.open(sealed.slice(1), this.#subject(address));
      if (taken.outcome !== 'matched' || note === undefined) return 'mismatched';
      return { ttlMs: taken.ttlMs, tries: taken.tries, note };
    }
    return 'missing';
  }

  #sealed(address: string, note: string): string {
    return note === '' ? '' : `.${this.#notes.seal(note, this.#subject(address))}`;
  }

  /** What a note is bound to. */
  #subject(address: string): string {
    return `${this.#prefix}key\n${address}`;
  }

  #sends(address: string, name: string): string[] {
    const [counter = '', network] = name.split('\n');
    const subject = network === undefined ? `key\n${address}` : `network\n${network}\n${address}`;
    return this.#keys.hashes(subject).map((hash) => `auth:sends:${counter}${hash}`);
  }

  /** Where the last code is remembered. */
  #sentKeys(address: string): string[] {
    return this.#keys.hashes(`${this.#prefix}key\n${address}`).map((hash) => `auth:code-sent:${hash}`);
  }

  #storeKeys(address: string): string[] {
    return this.#keys.hashes(`${this.#prefix}key\n${address}`).map((hash) => `auth:code:${hash}`);
  }

  #hashes(address: string, code: string): string[] {
    return this.#keys.hashes(`${this.#prefix}code\n${address}\n${code}`);
  }
}

const RECENT_MS = CODE_LIFETIME_SECONDS * 1000;
/** The most mails to an address, whoever causes them. */
const DAY: SendLimit = { name: 'day', limit: MAX_SENDS_PER_DAY, windowMs: DAY_MS };
const RECENT: SendLimit = { name: '', limit: MAX_SENDS, windowMs: RECENT_MS };
const LIMITS: readonly SendLimit[] = [RECENT, DAY];
const KNOWN_LIMITS: readonly SendLimit[] = [{ name: 'known:day:', limit: MAX_KNOWN_PER_DAY, windowMs: DAY_MS }, DAY];

function limitsOf(network: string): readonly SendLimit[] {
  return [
    RECENT,
    { name: `network:\n${network}`, limit: MAX_PER_NETWORK_AND_DAY, windowMs: DAY_MS },
    { name: 'unknown:', limit: MAX_UNKNOWN_PER_DAY, windowMs: DAY_MS },
    DAY,
  ];
}
