import { hash, randomBytes } from 'node:crypto';
import { isSameText, keyedHash } from '../secrets/keyed-hash.ts';

/**
 * Refresh tokens: `<session id>.<secret>.<proof>`. A session's first secret is random. Each further secret is derived
 * from the previous token. Simultaneous refreshes with one token therefore get the same successor, in every process,
 * and only a hash is stored. The proof distinguishes our former tokens from guesses, which must not end a session.
 */
export class RefreshTokens {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  first(sessionId: string): string {
    return this.#withProof(sessionId, randomBytes(32).toString('base64url'));
  }

  /** @param token a token with a valid proof */
  successor(token: string): string {
    const [sessionId = ''] = token.split('.');
    return this.#withProof(sessionId, this.#hmac('successor', token));
  }

  /** Returns the session of one of our tokens; undefined for any other text. */
  sessionOf(token: string): string | undefined {
    const [sessionId, secret, ...rest] = token.split('.');
    if (sessionId === undefined || secret === undefined || rest.length !== 1) return undefined;
    return isSameText(token, this.#withProof(sessionId, secret)) ? sessionId : undefined;
  }

  /** Returns the hash of a token that the database stores. */
  hash(token: string): string {
    return hash('sha256', token, 'base64url');
  }

  #withProof(sessionId: string, secret: string): string {
    return `${sessionId}.${secret}.${this.#hmac('proof', `${sessionId}.${secret}`)}`;
  }

  #hmac(purpose: string, text: string): string {
    return keyedHash(this.#key, `${purpose}\n${text}`);
  }
}
