import { randomBytes } from 'node:crypto';
import type { Store } from '@viewset/core';
import type { LoginChoices } from '../login/complete-login.ts';
import type { KeyRing } from '../secrets/key-ring.ts';

/** How long a user may take to send the second factor. */
const LIFETIME_MS = 300_000;
const MAX_WRONG = 5;
/** The store's value for a running attempt. */
const OPEN = 'open';
/** Longer than every attempt that began before, so that none outlasts the record of the logout that ended it. */
const ROUND_MS = 2 * LIFETIME_MS;

/** A login that waits for its second factor. */
export interface LoginAttempt {
  readonly id: string;
  readonly account: number;
  readonly choices: LoginChoices;
  /** The keyed hash of the password hash that the account had. */
  readonly bound: string;
  /** The round of the account's attempts: each logout everywhere begins another one. */
  readonly round: string;
}

/** An account with its password hash. */
interface BoundAccount {
  readonly id: number;
  readonly password: string;
}

/**
 * Logins that wait for their second factor. A signed token names the attempt. It is valid for five minutes and one
 * login, and ends with the fifth wrong code, a new password, and a logout everywhere, in every process that shares the
 * store.
 */
export class LoginAttempts {
  readonly #store: Store;
  readonly #keys: KeyRing;

  constructor(store: Store, keys: KeyRing) {
    this.#store = store;
    this.#keys = keys;
  }

  /** Begins an attempt, and returns its token. */
  async begin(account: BoundAccount, choices: LoginChoices): Promise<string> {
    const attempt: LoginAttempt = {
      id: randomBytes(16).toString('base64url'),
      account: account.id,
      choices,
      bound: this.#keys.hash(boundText(account)),
      round: (await this.#store.read(roundKeyOf(account.id))) ?? '',
    };
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

  /** True if the account still has the password of the attempt, and has not logged out everywhere since. */
  async isOf(attempt: LoginAttempt, account: BoundAccount): Promise<boolean> {
    const isBound = attempt.account === account.id && this.#keys.made(attempt.bound ?? '', boundText(account));
    return isBound && (await this.#isOfRound(attempt));
  }

  /** Ends all attempts of an account that have begun. */
  async endAll(account: number): Promise<void> {
    await this.#store.put(roundKeyOf(account), randomBytes(16).toString('base64url'), ROUND_MS);
  }

  /** Counts a wrong code. */
  async countWrong(attempt: LoginAttempt): Promise<void> {
    await this.#store.take(keyOf(attempt), 'wrong', MAX_WRONG);
  }

  /** Ends the attempt with a right code. False if it is over. */
  async finish(attempt: LoginAttempt): Promise<boolean> {
    const { outcome } = await this.#store.take(keyOf(attempt), OPEN, MAX_WRONG);
    return outcome === 'matched' && (await this.#isOfRound(attempt));
  }

  /** The record of a round ends only after the last attempt that began before it. */
  async #isOfRound({ account, round }: LoginAttempt): Promise<boolean> {
    const current = await this.#store.read(roundKeyOf(account));
    return current === undefined || current === round;
  }
}

function keyOf({ id }: LoginAttempt): string {
  return `auth:login-attempt:${id}`;
}

/** Ids of accounts are no secrets, so no key is needed, whose replacement would lose the round. */
function roundKeyOf(account: number): string {
  return `auth:login-attempts-of:${account}`;
}

function boundText({ id, password }: BoundAccount): string {
  return `password of ${id}\n${password}`;
}
