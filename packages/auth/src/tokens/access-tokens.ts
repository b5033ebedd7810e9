import { Unauthorized } from '@viewset/core';
import { type Jwt, type JwtRegistration, registerJwts } from './fastify-jwt.ts';
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
  readonly header: { readonly sid?: unknown; readonly typ?: unknown };
  readonly payload: TokenPayload;
}

const sessionIds = new WeakMap<object, string>();

/** Returns the session of a token, from claims that `read` returned; undefined if it has none. */
export function sessionOf(payload: object): string | undefined {
  return sessionIds.get(payload);
}

/**
 * Throws if the token was made for another purpose than a login (RFC 8725, section 3.11). Tokens without `typ` log in too.
 * RFC 9068 has `at+jwt`.
 */
function checkType({ typ }: DecodedToken['header']): void {
  if (typ === undefined || typ === 'JWT') return;
  const isLogin = typeof typ === 'string' && /^(?:application\/)?(?:at\+)?jwt$/i.test(typ);
  if (!isLogin) throw new Error('The type of the token is not that of a login');
}

/**
 * Signs and verifies access tokens by `@fastify/jwt`, with one algorithm. A token with another algorithm, including `none`,
 * is forged. The header `kid` names the key. A token that names none of the keys is tried with all.
 */
export class AccessTokens {
  readonly #signing: Jwt;
  readonly #jwts: ReadonlyMap<string, Jwt>;

  constructor({ algorithm, keys, lifetimeSeconds }: TokenOptions) {
    const verify = { algorithms: [algorithm], requiredClaims: ['iat', 'exp'], complete: true };
    const registrations = new Map<string, JwtRegistration>();
    for (const { id: kid, signing, verifying } of keys) {
      // Of a key that stands in the list twice, only the first may have its private part.
      if (registrations.has(kid)) continue;
      const secret = signing === undefined ? { public: verifying } : { private: signing, public: verifying };
      registrations.set(kid, { secret, sign: { algorithm, kid, expiresIn: lifetimeSeconds }, verify });
    }
    this.#jwts = registerJwts(registrations);
    this.#signing = this.#jwts.get(keys[0]!.id)!;
  }

  /** @param sessionId goes into the header `sid`, because the specification defines the claims */
  issue({ user_id, username, email, role }: TokenClaims, sessionId?: string): string {
    return this.sign(
      { user_id, username, email, role },
      sessionId === undefined ? undefined : { header: { sid: sessionId } },
    );
  }

  /** @param options those of `@fastify/jwt` for `sign`, instead of its own */
  sign(payload: object, options?: object): string {
    return this.#signing.sign(payload, options);
  }

  /**
   * Returns the claims of one of our tokens. It checks the times and the type. Other claims are returned as signed,
   * because anybody with the key may have signed anything. Throws Unauthorized (`invalid_token`) for a token that is
   * malformed, forged or expired.
   *
   * @param options those of `@fastify/jwt` for `verify`; with `checkTyp` a token of that type is read instead
   */
  read(
    token: string,
    options?: { readonly checkTyp?: string; readonly requiredClaims: readonly string[] },
  ): TokenPayload {
    try {
      const { header, payload } = this.#verified(token, options);
      checkTimes(payload);
      if (options?.checkTyp === undefined) checkType(header);
      if (typeof header.sid === 'string') sessionIds.set(payload, header.sid);
      return payload;
    } catch (error) {
      const expired = (error as { code?: unknown }).code === 'FAST_JWT_EXPIRED';
      throw invalidToken(expired ? 'The token has expired' : 'The token is not valid', error);
    }
  }

  #verified(token: string, options?: object): DecodedToken {
    const named = this.#jwts.size === 1 ? undefined : this.#jwts.get(String(keyIdOf(token)));
    const jwts = named === undefined ? [...this.#jwts.values()] : [named];
    for (const jwt of jwts.slice(0, -1)) {
      try {
        return jwt.verify(token, options) as DecodedToken;
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'FAST_JWT_INVALID_SIGNATURE') throw error;
      }
    }
    return jwts.at(-1)!.verify(token, options) as DecodedToken;
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
