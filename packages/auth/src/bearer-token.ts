import { Unauthorized } from '@viewset/core';

/** What follows `Bearer` is one token of RFC 6750's alphabet, and nothing else. */
const BEARER = /^Bearer(?: +(.*))?$/i;
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/**
 * The token of an Authorization header, or undefined where there is none: no header, another scheme, the scheme alone.
 * Throws Unauthorized (`invalid_token`) where what follows `Bearer` is no token.
 */
export function bearerToken(header: string | undefined): string | undefined {
  const text = BEARER.exec(header?.trim() ?? '')?.[1];
  if (text === undefined) return undefined;
  if (!TOKEN.test(text)) throw invalidToken('The Authorization header must be: Bearer <token>');
  return text;
}

/** As bearerToken, and throws Unauthorized where there is none. */
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
