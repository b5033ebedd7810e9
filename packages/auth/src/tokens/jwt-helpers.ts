import { checkOptionNames, ImproperlyConfigured, wrongOption } from '@viewset/core';
import type { FastifyInstance } from 'fastify';
import { type AccessTokens, MAX_TOKEN_LIFETIME_SECONDS } from './access-tokens.ts';

/** The options of `JwtHelpers.sign`. Each is a claim or a header of the token. */
export interface JwtSignOptions {
  /** The seconds that the token is valid. Default: the option `expirationDelta` of the plugin. */
  readonly expiresIn?: number;
  /** The seconds until the token is valid. Default: 0. */
  readonly notBefore?: number;
  /** The purpose of the token, in the header `typ`. A token with a `typ` of your own logs nobody in. Default: `JWT`. */
  readonly typ?: string;
  readonly aud?: string | readonly string[];
  readonly iss?: string;
  readonly sub?: string;
  readonly jti?: string;
}

/** The options of `JwtHelpers.verify`. Each is an additional check. A token without the claim is refused. */
export interface JwtVerifyOptions {
  /** The `typ` that the token must have. Default: a type of access tokens, which are `JWT`, `at+jwt` and none. */
  readonly checkTyp?: string;
  /** The audiences of which the token must name one. */
  readonly allowedAud?: string | readonly string[];
  readonly allowedIss?: string | readonly string[];
  readonly allowedSub?: string | readonly string[];
  readonly allowedJti?: string | readonly string[];
  /** The most seconds since the token was issued. */
  readonly maxAge?: number;
}

/** The claims of a token. `iat` and `exp` are seconds since 1970. */
export type JwtClaims = Readonly<Record<string, unknown>> & { readonly iat: number; readonly exp: number };

/**
 * Signs and verifies tokens of any purpose by `@fastify/jwt`, with the keys and the algorithm of the plugin.
 *
 * @example
 * const token = app.auth.jwt.sign({ file: 7 }, { typ: 'download', expiresIn: 60 });
 * app.auth.jwt.verify(token, { checkTyp: 'download' }); // { file: 7, iat: …, exp: … }
 */
export interface JwtHelpers {
  /**
   * Signs a token with the first key. It has no session, so that no logout revokes it. Without a `typ` of your own, a
   * payload with a `user_id` logs in that account, as the token of `issueToken` does.
   *
   * Throws ImproperlyConfigured for a wrong payload or option.
   */
  sign(payload: object, options?: JwtSignOptions): string;
  /**
   * Returns the claims of a token that one of the keys signed. It reads neither the account nor the session: to log a
   * request in, use `authenticate`.
   *
   * Throws Unauthorized (401, `invalid_token`) for a token that is malformed, forged, expired or fails a check, and
   * ImproperlyConfigured for a wrong option.
   */
  verify(token: string, options?: JwtVerifyOptions): JwtClaims;
}

/** The name of the functions in `app.jwt`. */
const NAMESPACE = 'viewset';

const ALLOWED = ['allowedAud', 'allowedIss', 'allowedSub', 'allowedJti'] as const;
const CLAIMS = { allowedAud: 'aud', allowedIss: 'iss', allowedSub: 'sub', allowedJti: 'jti' } as const;
const SECONDS = `a whole number of seconds, at most ${MAX_TOKEN_LIFETIME_SECONDS}`;

/** The rule of each option, with the words for it. */
type Rules<Options> = Readonly<Record<keyof Options, readonly [isValid: (value: unknown) => boolean, words: string]>>;

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isTexts = (value: unknown): boolean =>
  isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText));
const isSeconds = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) > 0 && (value as number) <= MAX_TOKEN_LIFETIME_SECONDS;

const TEXT = [isText, 'a text'] as const;
const TEXTS = [isTexts, 'a text or a list of texts'] as const;
const SIGN_RULES: Rules<JwtSignOptions> = {
  expiresIn: [isSeconds, SECONDS],
  notBefore: [isSeconds, SECONDS],
  typ: TEXT,
  aud: TEXTS,
  iss: TEXT,
  sub: TEXT,
  jti: TEXT,
};
const VERIFY_RULES: Rules<JwtVerifyOptions> = {
  checkTyp: TEXT,
  allowedAud: TEXTS,
  allowedIss: TEXTS,
  allowedSub: TEXTS,
  allowedJti: TEXTS,
  maxAge: [isSeconds, SECONDS],
};

export function jwtHelpers(tokens: AccessTokens): JwtHelpers {
  return Object.freeze<JwtHelpers>({
    sign(payload, options) {
      checkPayload(payload);
      checkOptions('auth: jwt.sign', options, SIGN_RULES);
      return tokens.sign(payload, options);
    },
    verify(token, options) {
      checkOptions('auth: jwt.verify', options, VERIFY_RULES);
      return tokens.read(token, options && { ...options, requiredClaims: requiredBy(options) });
    },
  });
}

/** `@fastify/jwt` checks a claim only if the token has it. */
function requiredBy(options: JwtVerifyOptions): string[] {
  return ['iat', 'exp', ...ALLOWED.filter((name) => name in options).map((name) => CLAIMS[name])];
}

function checkOptions<Options>(owner: string, given: Options | undefined, rules: Rules<Options>): void {
  if (given === undefined) return;
  checkOptionNames(owner, given as object, Object.keys(rules));
  // An undefined value may be a variable that is not set, which would switch a check off.
  for (const [name, value] of Object.entries(given as object)) {
    const [isValid, words] = rules[name as keyof Options];
    if (!isValid(value)) throw wrongOption(owner, name, words, value);
  }
}

const TIMES = { exp: 'expiresIn', nbf: 'notBefore', iat: undefined } as const;

function checkPayload(payload: unknown): void {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) {
    throw new ImproperlyConfigured('auth: jwt.sign: the payload must be an object');
  }
  for (const [claim, option] of Object.entries(TIMES)) {
    if (!(claim in payload)) continue;
    const hint = option === undefined ? '' : `; use the option "${option}"`;
    throw new ImproperlyConfigured(`auth: jwt.sign: the payload must not have the claim "${claim}"${hint}`);
  }
}

/**
 * Adds the functions to `app.jwt` as the namespace `viewset`, where users of `@fastify/jwt` look for them. It does so once
 * every plugin is registered, so that a registration of `@fastify/jwt` by the application works before and after. If
 * `app.jwt` is not from `@fastify/jwt`, it stays as it is.
 *
 * Throws ImproperlyConfigured at start if the application has its own namespace of that name.
 */
export function decorateJwt(app: FastifyInstance, helpers: JwtHelpers): void {
  app.addHook('onReady', async () => {
    const { jwt: found } = app as { readonly jwt?: object };
    if (found !== undefined && !app.hasPlugin('@fastify/jwt')) return;
    // Another scope has other tokens. What a parent has in `app.jwt` is inherited, and not changed.
    if (!Object.hasOwn(app, 'jwt')) app.decorate('jwt', Object.create(found ?? null) as never);
    const { jwt } = app as { readonly jwt: object };
    if (Object.hasOwn(jwt, NAMESPACE)) {
      throw new ImproperlyConfigured(
        `auth: @fastify/jwt already has the namespace "${NAMESPACE}", which @viewset/auth uses; choose another name`,
      );
    }
    Object.defineProperty(jwt, NAMESPACE, { value: helpers, enumerable: true });
  });
}
