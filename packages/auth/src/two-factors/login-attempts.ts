import { randomBytes } from 'node:crypto';
import type { Store } from '@viewset/core';
import type { LoginChoices } from '../login/complete-login.ts';
import type { KeyRing } from '../secrets/key-ring.ts';

/** How long a user may take to send the second factor. */
const LIFETIME_MS = 300_000;
const MAX_WRONG = 5;
/** The store's value for a running attempt. */
const OPEN = 'open';

/** A login that waits for its second factor. */
export interface LoginAttempt {
  readonly id: string;
  readonly account: number;
  readonly choices: LoginChoices;
}

/**
 * Logins that wait for their second factor. A signed token names the attempt. It is valid for five minutes and one
 * login, and ends with the fifth wrong code, in every process that shares the store.
 */
export class LoginAttempts {
  readonly #store: Store;
  readonly #keys: KeyRing;

  constructor(store: Store, keys: KeyRing) {
    this.#store = store;
    this.#keys = keys;
  }

  /** Begins an attempt, and returns its token. */
  async begin(account: number, choices: LoginChoices): Promise<string> {
    const attempt: LoginAttempt = { id: randomBytes(16).toString('base64url'), account, choices };
    await this.#store.put(keyOf(attempt), OPEN, LIFETIME_MS);
    const content = Buffer.from(JSON.stringify(attempt)).toString('base64url');
    return `${content}.${this.#keys.hash(content)}`;
  }

  /** Reads one of our tokens, even if its attempt is over; undefined for any other text. */
  read(token: string): LoginAttempt | undefined {
    const [content = '', signature = '', ...rest] = token.split('.');
    const isOurs = rest.length === 0 && this.#keys.made(signature, content);
    return isOurs ? (JSON.parse(Buffer.from(content, 'base64url').toString()) as LoginAttempt) : undefined;
  }

  /** Counts a wrong code. */
  async countWrong(attempt: LoginAttempt): Promise<void> {
    await this.#store.take(keyOf(attempt), 'wrong', MAX_WRONG);
  }

  /** Ends the attempt with a right code. False if it is over. */
  async finish(attempt: LoginAttempt): Promise<boolean> {
    return (await this.#store.take(keyOf(attempt), OPEN, MAX_WRONG)).outcome === 'matched';
  }
}

function keyOf({ id }: LoginAttempt): string {
  return `auth:login-attempt:${id}`;
}
