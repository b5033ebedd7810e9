import fastifyJwt, { type JWT } from '@fastify/jwt';
import type { CurrentUser } from '@viewset/core';
import type { FastifyInstance } from 'fastify';
import { invalidToken } from './bearer-token.ts';
import type { TokenAlgorithm, TokenKeys } from './signing-keys.ts';

declare module '@fastify/jwt' {
  interface FastifyJWT {
    /** `request.user` is core's: the account, not the token's payload. */
    user: CurrentUser | null;
  }
}

/** What a token says of its account. */
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

/** Keeps our use of @fastify/jwt apart from one that the application makes of its own. */
const NAMESPACE = 'viewset';

/** Signs access tokens and verifies them, by one algorithm: a token that names another, `none` included, is forged. */
export class AccessTokens {
  readonly #jwt: JWT;

  private constructor(jwt: JWT) {
    this.#jwt = jwt;
  }

  /** Registers @fastify/jwt in a scope of its own, so that nothing else in the application sees it. */
  static async register(app: FastifyInstance, options: TokenOptions): Promise<AccessTokens> {
    let jwt: JWT | undefined;
    await app.register(async (scope) => {
      await scope.register(fastifyJwt, {
        secret: options.key,
        namespace: NAMESPACE,
        decoratorName: 'viewsetTokenPayload',
        sign: { algorithm: options.algorithm, expiresIn: options.lifetimeSeconds },
        verify: { algorithms: [options.algorithm], requiredClaims: ['iat', 'exp'] },
      });
      jwt = (scope.jwt as unknown as Record<string, JWT>)[NAMESPACE];
    });
    return new AccessTokens(jwt!);
  }

  issue(claims: TokenClaims): string {
    const { user_id, username, email, role } = claims;
    return this.#jwt.sign({ user_id, username, email, role });
  }

  /**
   * Returns the claims of a token of ours. Its times are checked, every other claim is as it was signed: whoever has the
   * key may have signed anything. Throws Unauthorized (`invalid_token`) for a token that is malformed, forged or expired.
   */
  read(token: string): TokenPayload {
    try {
      const payload = this.#jwt.verify<TokenPayload>(token);
      checkTimes(payload);
      return payload;
    } catch (error) {
      const expired = (error as { code?: unknown }).code === 'FAST_JWT_EXPIRED';
      throw invalidToken(expired ? 'The token has expired' : 'The token is not valid', error);
    }
  }
}
