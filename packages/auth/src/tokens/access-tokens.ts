import { Unauthorized } from '@viewset/core';
import { createSigner, createVerifier } from 'fast-jwt';
import type { TokenAlgorithm, TokenKey } from './signing-keys.ts';

/** The claims of a token about its account. */
export interface TokenClaims {
  readonly user_id: number;
  readonly username: string;
  readonly email: string;
  /**
   * The role's name; `user` for an account without one, as the specification has it. The claim is for display: permissions
   * read the account for each request.
   */
  readonly role: string;
}

/** The properties of an account that a token contains. The role must be loaded. */
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
  /** The first signs, all verify. */
  readonly keys: readonly TokenKey[];
  readonly lifetimeSeconds: number;
}

/** Throws if `iat` is not a time, or `exp` is later than any of our tokens can have. */
function checkTimes({ iat, exp }: TokenPayload): void {
  const isIssued = Number.isFinite(iat) && iat >= 0 && iat <= exp;
  const latest = Date.now() / 1000 + MAX_TOKEN_LIFETIME_SECONDS;
  // fast-jwt rejects an `exp` that is not a number, but not an infinite one.
  if (!isIssued || !(exp <= latest)) throw new Error('The times of the token are not valid');
}

interface DecodedToken {
  readonly header: { readonly sid?: unknown };
  readonly payload: TokenPayload;
}

const sessionIds = new WeakMap<object, string>();

/** Returns the session of a token, from claims that `read` returned; undefined if it has none. */
export function sessionOf(payload: object): string | undefined {
  return sessionIds.get(payload);
}

type Verify = (token: string) => DecodedToken;

/**
 * Signs and verifies access tokens with one algorithm. A token with another algorithm, including `none`, is forged. The
 * header `kid` names the key. A token that names none of the keys is tried with all.
 */
export class AccessTokens {
  readonly #signer: (header: object) => (claims: TokenClaims) => string;
  readonly #sign: (claims: TokenClaims) => string;
  readonly #verifiers: ReadonlyMap<string, Verify>;

  constructor({ algorithm, keys, lifetimeSeconds }: TokenOptions) {
    const [{ id: kid, signing }] = keys as readonly [TokenKey];
    const options = { algorithm, key: signing!, expiresIn: lifetimeSeconds * 1000 };
    this.#signer = (header) => createSigner({ ...options, header: { alg: algorithm, kid, ...header } });
    this.#sign = this.#signer({});
    const verifying = { algorithms: [algorithm], requiredClaims: ['iat', 'exp'], complete: true as const };
    this.#verifiers = new Map(keys.map(({ id, verifying: key }) => [id, createVerifier({ ...verifying, key })]));
  }

  /** @param sessionId goes into the header `sid`, because the specification defines the claims */
  issue({ user_id, username, email, role }: TokenClaims, sessionId?: string): string {
    const sign = sessionId === undefined ? this.#sign : this.#signer({ sid: sessionId });
    return sign({ user_id, username, email, role });
  }

  /**
   * Returns the claims of one of our tokens. It checks the times. Other claims are returned as signed, because anybody
   * with the key may have signed anything. Throws Unauthorized (`invalid_token`) for a token that is malformed, forged
   * or expired.
   */
  read(token: string): TokenPayload {
    try {
      const { header, payload } = this.#verified(token);
      checkTimes(payload);
      if (typeof header.sid === 'string') sessionIds.set(payload, header.sid);
      return payload;
    } catch (error) {
      const expired = (error as { code?: unknown }).code === 'FAST_JWT_EXPIRED';
      throw invalidToken(expired ? 'The token has expired' : 'The token is not valid', error);
    }
  }

  #verified(token: string): DecodedToken {
    const named = this.#verifiers.size === 1 ? undefined : this.#verifiers.get(String(keyIdOf(token)));
    const verifiers = named === undefined ? [...this.#verifiers.values()] : [named];
    for (const verify of verifiers.slice(0, -1)) {
      try {
        return verify(token);
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'FAST_JWT_INVALID_SIGNATURE') throw error;
      }
    }
    return verifiers.at(-1)!(token);
  }
}

/** The `kid` of a token's header, which nobody has verified yet; undefined without one. */
function keyIdOf(token: string): unknown {
  try {
    const header: unknown = JSON.parse(Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString());
    return (header as { readonly kid?: unknown } | null)?.kid;
  } catch {
    return undefined;
  }
}

/** The alphabet of RFC 6750. */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** Reads Authorization headers of the scheme `Bearer`, and of one more if the application has one. */
export class AuthorizationHeader {
  readonly #pattern: RegExp;

  constructor(scheme: string) {
    // Exactly one token follows the scheme.
    this.#pattern = new RegExp(`^(?:Bearer|${scheme})(?: +(.*))?$`, 'i');
  }

  /**
   * Returns the token of a header; undefined without a header, for another scheme, and for the scheme alone. Throws
   * Unauthorized (`invalid_token`) if the text after the scheme is not a token.
   */
  token(header: string | undefined): string | undefined {
    const text = this.#pattern.exec(header?.trim() ?? '')?.[1];
    if (text === undefined) return undefined;
    if (!TOKEN.test(text)) throw invalidToken('The Authorization header must be: Bearer <token>');
    return text;
  }

  /** Returns the token like `token`. Throws Unauthorized without one. */
  requireToken(header: string | undefined): string {
    const token = this.token(header);
    if (token === undefined) throw new Unauthorized();
    return token;
  }
}

/** Makes the 401 for a token that was sent but is invalid (RFC 6750, section 3.1). */
export function invalidToken(message: string, cause?: unknown): Unauthorized {
  return new Unauthorized(message, {
    headers: { 'www-authenticate': INVALID_TOKEN_CHALLENGE },
    cause,
    event: 'auth.token_refused',
  });
}

const INVALID_TOKEN_CHALLENGE = 'Bearer error="invalid_token"';
