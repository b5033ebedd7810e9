import { Unauthorized } from '@viewset/core';
import { createSigner, createVerifier } from 'fast-jwt';
import type { TokenAlgorithm, TokenKeys } from './signing-keys.ts';

/** The claims of a token about its account. */
export interface TokenClaims {
  readonly user_id: number;
  readonly username: string;
  readonly email: string;
  /** The role's name; `user` for an account without one. */
  readonly role: string;
}

/** An account, as far as a token speaks of it; its role is loaded. */
export interface TokenAccount {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly role?: { readonly name: string } | null | undefined;
}

export function claimsOf(account: TokenAccount): TokenClaims {
  return { user_id: account.id, username: account.name, email: account.email, role: account.role?.name ?? 'user' };
}

/** The claims of a token that has been verified; times in seconds since 1970. */
export type TokenPayload = Readonly<Record<string, unknown>> &
  TokenClaims & { readonly iat: number; readonly exp: number };

/** The longest lifetime that a token can be given: seconds that still fit wherever times are read as 32 bits. */
export const MAX_TOKEN_LIFETIME_SECONDS = 2 ** 31 - 1;

export interface TokenOptions {
  readonly algorithm: TokenAlgorithm;
  readonly key: string | TokenKeys;
  readonly lifetimeSeconds: number;
}

/** Throws for an `iat` that is no time, and for an `exp` further away than any token of ours can have. */
function checkTimes({ iat, exp }: TokenPayload): void {
  const isIssued = Number.isFinite(iat) && iat >= 0 && iat <= exp;
  const latest = Date.now() / 1000 + MAX_TOKEN_LIFETIME_SECONDS;
  // fast-jwt refuses an `exp` that is no number, but not one that is endless.
  if (!isIssued || !(exp <= latest)) throw new Error('The times of the token are not times that it can have');
}

/** Signs access tokens and verifies them, by one algorithm: a token that names another, `none` included, is forged. */
export class AccessTokens {
  readonly #sign: (claims: TokenClaims) => string;
  readonly #verify: (token: string) => unknown;

  constructor({ algorithm, key, lifetimeSeconds }: TokenOptions) {
    const { private: signingKey, public: verifyingKey } = typeof key === 'string' ? { private: key, public: key } : key;
    this.#sign = createSigner({ algorithm, key: signingKey, expiresIn: lifetimeSeconds * 1000 });
    this.#verify = createVerifier({ algorithms: [algorithm], key: verifyingKey, requiredClaims: ['iat', 'exp'] });
  }

  issue(claims: TokenClaims): string {
    const { user_id, username, email, role } = claims;
    return this.#sign({ user_id, username, email, role });
  }

  /**
   * Returns the claims of a token of ours. Its times are checked, every other claim is as it was signed: whoever has the
   * key may have signed anything. Throws Unauthorized (`invalid_token`) for a token that is malformed, forged or expired.
   */
  read(token: string): TokenPayload {
    try {
      const payload = this.#verify(token) as TokenPayload;
      checkTimes(payload);
      return payload;
    } catch (error) {
      const expired = (error as { code?: unknown }).code === 'FAST_JWT_EXPIRED';
      throw invalidToken(expired ? 'The token has expired' : 'The token is not valid', error);
    }
  }
}

/** Behind `Bearer` stands one token of RFC 6750's alphabet, and nothing else. */
const BEARER = /^Bearer(?: +(.*))?$/i;
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/**
 * Returns the token of an Authorization header; undefined without a header, for another scheme, and for the scheme alone.
 * Throws Unauthorized (`invalid_token`) if the text behind `Bearer` is no token.
 */
export function bearerToken(header: string | undefined): string | undefined {
  const text = BEARER.exec(header?.trim() ?? '')?.[1];
  if (text === undefined) return undefined;
  if (!TOKEN.test(text)) throw invalidToken('The Authorization header must be: Bearer <token>');
  return text;
}

/** Returns the token as `bearerToken` does. Throws Unauthorized if there is none. */
export function requireBearerToken(header: string | undefined): string {
  const token = bearerToken(header);
  if (token === undefined) throw new Unauthorized();
  return token;
}

/** The 401 for a token that was sent and is no good (RFC 6750, section 3.1). */
export function invalidToken(message: string, cause?: unknown): Unauthorized {
  return new Unauthorized(message, {
    headers: { 'www-authenticate': INVALID_TOKEN_CHALLENGE },
    cause,
    event: 'auth.token_refused',
  });
}

const INVALID_TOKEN_CHALLENGE = 'Bearer error="invalid_token"';
