import { hash, randomBytes } from 'node:crypto';
import { isSameText, keyedHash } from '../secrets/keyed-hash.ts';

/**
 * Refresh tokens: `<session id>.<secret>.<proof>`. The first secret of a session is random. Each further one follows from the
 * token before it, so that whoever refreshes with one token at the same time gets the same successor, in every process and
 * with nothing kept but a hash. The proof tells tokens that were ours from guesses, which must not end a session.
 */
export class RefreshTokens {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  first(sessionId: string): string {
    return this.#withProof(sessionId, randomBytes(32).toString('base64url'));
  }

  /** @param token one of ours */
  successor(token: string): string {
    const [sessionId = ''] = token.split('.');
    return this.#withProof(sessionId, this.#hmac('successor', token));
  }

  /** The session that a token of ours is for; undefined if the token is none. */
  sessionOf(token: string): string | undefined {
    const [sessionId, secret, ...rest] = token.split('.');
    if (sessionId === undefined || secret === undefined || rest.length !== 1) return undefined;
    return isSameText(token, this.#withProof(sessionId, secret)) ? sessionId : undefined;
  }

  /** What the database keeps of a token. */
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
