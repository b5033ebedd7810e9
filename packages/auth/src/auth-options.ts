import { checkOptionNames, ImproperlyConfigured, type Store, wrongOption } from '@viewset/core';
import { MAX_TOKEN_LIFETIME_SECONDS, type TokenOptions } from './tokens/access-tokens.ts';
import type { WrittenFields } from './accounts/account-input.ts';
import type { DefaultRole, ShownFields } from './accounts/accounts.ts';
import type { AccountNames, AccountSchema, NamedAccountSchema } from './accounts/account-contract.ts';
import type { ApiKeySchema } from './api-keys/api-key-contract.ts';
import type { TwoFactorSchema } from './two-factors/two-factor-contract.ts';
import type { Argon2Options } from './passwords/argon2-hashing.ts';
import type { Authenticate, RetrieveUser, StoreUser } from './tokens/authentication.ts';
import { MAX_USER_CACHE_SECONDS, type UserCacheOptions } from './accounts/cached-users.ts';
import {
  emailChangeNotice,
  type EmailChangeNotice,
  type EmailSender,
  passwordChangeNotice,
  type PasswordChangeNotice,
  verificationEmail,
  type VerificationEmail,
} from './codes/email-sender.ts';
import { type OAuthOptions, type ResolvedOAuthOptions, resolveOAuthOptions } from './oauth/oauth-options.ts';
import { NonAuthEndpoints } from './tokens/non-auth-endpoints.ts';
import type { SessionSchema } from './sessions/session-contract.ts';
import type { PasskeySchema } from './passkeys/passkey-contract.ts';
import { type PasskeyOptions, resolvePasskeyOptions, type ResolvedPasskeyOptions } from './passkeys/passkey-options.ts';
import { PasswordHasher } from './passwords/password-hasher.ts';
import type { PasswordOptions } from './passwords/password-rules.ts';
import {
  AUTH_ROUTE_NAMES,
  type AuthRouteName,
  LISTED_ROUTES,
  MAILING_ROUTES,
  type MailingRoute,
  ROUTE_OPTIONS,
} from './routes/route-names.ts';
import {
  type InvitationOptions,
  type ResolvedInvitationOptions,
  resolveInvitations,
} from './invitations/invitation-options.ts';
import type { AccountDeletion } from './accounts/account-deletion.ts';
import type { AfterRegistration } from './accounts/after-registration.ts';
import {
  type LoginLinkOptions,
  resolveLoginLink,
  type ResolvedLoginLinkOptions,
} from './login-link/login-link-options.ts';
import { resolveSessionOptions, type ResolvedSessionOptions, type SessionOptions } from './sessions/session-options.ts';
import {
  checkKeys,
  checkSecrets,
  secretKeys,
  TOKEN_ALGORITHMS,
  type TokenAlgorithm,
  type TokenKeys,
  type VerifyingKey,
} from './tokens/signing-keys.ts';
import { resolveEntityOption } from './accounts/entity-option.ts';
import { KeyRing } from './secrets/key-ring.ts';

/**
 * The options of the `auth` plugin. `account` and `secret` (or `keys` and `codeSecret`) are required. `mailer` is required if a route that
 * sends mail is on.
 */
export type AuthOptions = CommonOptions & AccountOptions & MailerOptions;

type AccountOptions =
  | {
      /** The entity of accounts; see AccountFields for what it needs. */
      readonly account: AccountSchema;
      readonly fields?: undefined;
    }
  | {
      readonly account: NamedAccountSchema;
      /** The entity's names for properties of AccountFields, if they differ. */
      readonly fields: AccountNames;
    };

type MailerOptions =
  | {
      /** Sends verification codes and notices. It is closed with the application. */
      readonly mailer: EmailSender;
      /** The routes to add, by name. Default: every route whose option is on. */
      readonly routes?: readonly AuthRouteName[];
    }
  | { readonly mailer?: EmailSender; readonly routes: readonly Exclude<AuthRouteName, MailingRoute>[] };

interface CommonOptions {
  /**
   * Signs tokens (HS256) and keys verification codes. At least 32 bytes, the same in every process. Of a list, the first
   * signs, and all verify, so that it can be replaced while processes with the old one run.
   */
  readonly secret?: string | readonly string[];
  /** The algorithm of tokens; tokens with any other are rejected. Default: HS256. */
  readonly algorithm?: TokenAlgorithm;
  /**
   * The key pair in PEM, for RS256, ES256 and EdDSA. Of a list, the first signs, and all verify; the others need no
   * private key. The public keys are at `/.well-known/jwks.json`.
   */
  readonly keys?: TokenKeys | readonly [TokenKeys, ...(TokenKeys | VerifyingKey)[]];
  /** The lifetime of a token, in whole seconds. Default: 86400, a day. */
  readonly expirationDelta?: number;
  /** The path of the routes, below the prefix of the scope that the plugin is registered in. Default: `/auth`. */
  readonly urlPrefix?: string;
  /**
   * The entity of sessions (see SessionFields), or SessionOptions. A login then begins a session, refresh tokens renew
   * it, and a logout ends it, so that tokens can be revoked. Default: no sessions.
   */
  readonly sessions?: SessionSchema | SessionOptions;
  /**
   * The entity of passkeys (see PasskeyFields), or PasskeyOptions. Users can then log in with passkeys. Needs the
   * package `@simplewebauthn/server`. Default: no passkeys.
   */
  readonly passkeys?: PasskeySchema | PasskeyOptions;
  /** An additional scheme for the Authorization header beside `Bearer`, such as `Token`. Default: none. */
  readonly tokenScheme?: string;
  /**
   * Returns the payload of a request; throws Unauthorized if there is none. Default: the claims of its bearer token.
   */
  readonly authenticate?: Authenticate;
  /**
   * Returns the user of a payload, or null. Default: the active account of `user_id`, with its role, as an AccountUser.
   */
  readonly retrieveUser?: RetrieveUser;
  /** Loads a user by id and stores it as `request.user`. Default: stores the result of `retrieveUser`. */
  readonly storeUser?: StoreUser;
  /**
   * How long this process reuses the user it found for a token, in seconds from 0 to 300. A disabled account, new role
   * or new name is noticed up to this much later, even in the process that made the change. Cached users are frozen,
   * and a request that has already used `request.em` finds its own user. Default: 0, so each request makes a query.
   */
  readonly userCacheSeconds?: number;
  /** A monotonic clock in milliseconds, used only for `userCacheSeconds`. Default: `performance.now`. */
  readonly clock?: () => number;
  /** Paths that need no token (see NonAuthEndpoints). Default: login, registration and sending codes. */
  readonly nonAuthEndpoints?: readonly string[];
  /**
   * Keeps verification codes and counts. Default: the `store` of `viewset`, such as a RedisStore, and without it a
   * MemoryStore. Several processes need a store that they share.
   */
  readonly store?: Store;
  /**
   * Keys verification codes, refresh tokens, device cookies and stored second factors, at least 32 bytes. It may be a
   * list, as `secret`. Default: derived from `secret`.
   */
  readonly codeSecret?: string | readonly string[];
  /**
   * The cost of password hashes: 2^rounds. Applications that share an ORM use the rounds of the first one. Default: 12.
   */
  readonly bcryptRounds?: number;
  /**
   * Hashes passwords with Argon2id instead of bcrypt. An account's hash is converted when its user logs in. Default:
   * bcrypt only.
   */
  readonly argon2?: Argon2Options;
  /**
   * The role of new accounts, by name. If no role has that name, they get none. The log warns of it at the first
   * registration, and with `checkTables` of `viewset` after the application listens. Default: `user`, without a warning.
   */
  readonly defaultRole?: string;
  /** The names that `HasPermission` accepts. A view with another one fails at startup. Default: any name. */
  readonly permissions?: readonly string[];
  /** Enables API keys: their entity (see ApiKeyFields), or an object with it. Default: off. */
  readonly apiKeys?: ApiKeySchema | ApiKeyOptions;
  /** Enables two factors: the entity of second factors (see TwoFactorFields), or an object with it. Default: off. */
  readonly twoFactor?: TwoFactorSchema | TwoFactorOptions;
  /** Logins with other services through OpenID Connect; needs the package `openid-client`. Default: off. */
  readonly oauth?: OAuthOptions;
  /** Accounts that administrators create for others (see InvitationOptions). Default: off. */
  readonly invitations?: InvitationOptions;
  /** Logins by a link in a mail (see LoginLinkOptions). Default: off. */
  readonly loginLink?: LoginLinkOptions;
  /** Writes the mail with a verification code. Default: English, plain text. */
  readonly verificationEmail?: VerificationEmail;
  /** Writes the notice to the old address when a user requests another one. Default: English, plain text. */
  readonly emailChangeNotice?: EmailChangeNotice;
  /**
   * Writes the notice after a password was changed or reset. It is sent if there is a mailer. Default: English, plain
   * text.
   */
  readonly passwordChangeNotice?: PasswordChangeNotice;
  /**
   * Enables the password routes: `change-password`, `forgot-password`, `reset-password`. Also has the rules for new
   * passwords.
   */
  readonly passwords?: PasswordOptions;
  /**
   * Enables the routes for the user's own account: `me`, `change-email`, `confirm-email`. Also has the account's
   * shapes.
   */
  readonly me?: MeOptions;
  /** The application's own account fields that a registration accepts in its body. */
  readonly registrationFields?: WrittenFields;
  /**
   * Runs after a registration, by code or through another service, in the transaction of the new account. It may store
   * records with `request.em`, which is flushed afterwards. If it throws, no account is made, and the code stays valid.
   * Use `afterCommit` in it for work that cannot be undone, such as mails. Default: none.
   */
  readonly afterRegistration?: AfterRegistration;
}

/** The options of `/me`: the fields of their own account that users see and may change. */
export interface MeOptions {
  /** The response of `/me`. `request.user` has its fields too. Default: `id`, `email`, `name`, `role` (by name) and `is_active`. */
  readonly read?: ShownFields;
  /** The body of PATCH. Default: there is no PATCH. */
  readonly write?: WrittenFields;
  /**
   * False: users cannot delete their accounts. A function wraps the deletion: within a transaction of `request.em`, it
   * must call the function that it gets. If it throws, the account stays. Default: true.
   */
  readonly delete?: boolean | AccountDeletion;
}

/** API keys, with further options. */
export interface ApiKeyOptions {
  readonly entity: ApiKeySchema;
  /** The beginning of every key: up to 20 letters and digits. Default: `key`. */
  readonly prefix?: string;
  /** The most keys of one account, expired ones included. Another one gives 409. Default: 100. At most 1000. */
  readonly maxPerAccount?: number;
}

/** Two factors, with further options. */
export interface TwoFactorOptions {
  readonly entity: TwoFactorSchema;
  /** The name that authenticator apps show. Default: the host of the request. */
  readonly issuer?: string;
}

/** The options with their defaults, checked and frozen. */
export interface ResolvedAuthOptions {
  readonly account: AccountSchema | NamedAccountSchema;
  readonly fields: AccountNames | undefined;
  readonly token: TokenOptions;
  readonly urlPrefix: string;
  readonly routes: ReadonlySet<AuthRouteName>;
  /** Undefined: sessions are off. */
  readonly sessions: ResolvedSessionOptions | undefined;
  /** Undefined: passkeys are off. */
  readonly passkeys: ResolvedPasskeyOptions | undefined;
  readonly tokenScheme: string;
  readonly authenticate: Authenticate | undefined;
  readonly retrieveUser: RetrieveUser | undefined;
  readonly storeUser: StoreUser | undefined;
  /** Undefined: nothing is cached. */
  readonly userCache: UserCacheOptions | undefined;
  readonly endpoints: NonAuthEndpoints;
  /** Undefined only if no route sends mail. */
  readonly mailer: EmailSender | undefined;
  readonly store: Store | undefined;
  /** Derives the keys for a purpose. */
  readonly keyFor: (purpose: string) => KeyRing;
  readonly hasher: PasswordHasher;
  readonly defaultRole: DefaultRole;
  readonly permissions: readonly string[] | undefined;
  readonly apiKeys: Required<ApiKeyOptions> | undefined;
  readonly twoFactor: TwoFactorOptions | undefined;
  readonly oauth: ResolvedOAuthOptions | undefined;
  /** Undefined: nobody can be invited. */
  readonly invitations: ResolvedInvitationOptions | undefined;
  /** Undefined: no link logs in. */
  readonly loginLink: ResolvedLoginLinkOptions | undefined;
  readonly verificationEmail: VerificationEmail;
  readonly emailChangeNotice: EmailChangeNotice;
  readonly passwordChangeNotice: PasswordChangeNotice;
  readonly passwords: PasswordOptions | undefined;
  readonly me: MeOptions | undefined;
  readonly registrationFields: WrittenFields | undefined;
  readonly afterRegistration: AfterRegistration | undefined;
}

/** Every option, as the pages list them. */
export const OPTION_NAMES: readonly (keyof AuthOptions)[] = [
  'account',
  'secret',
  'algorithm',
  'keys',
  'expirationDelta',
  'urlPrefix',
  'routes',
  'sessions',
  'passkeys',
  'tokenScheme',
  'authenticate',
  'retrieveUser',
  'storeUser',
  'userCacheSeconds',
  'clock',
  'nonAuthEndpoints',
  'mailer',
  'store',
  'codeSecret',
  'bcryptRounds',
  'argon2',
  'defaultRole',
  'permissions',
  'apiKeys',
  'twoFactor',
  'oauth',
  'invitations',
  'loginLink',
  'verificationEmail',
  'emailChangeNotice',
  'passwordChangeNotice',
  'fields',
  'passwords',
  'me',
  'registrationFields',
  'afterRegistration',
];
const FUNCTIONS = [
  'authenticate',
  'retrieveUser',
  'storeUser',
  'clock',
  'verificationEmail',
  'emailChangeNotice',
  'passwordChangeNotice',
  'afterRegistration',
] as const;

/** Throws ImproperlyConfigured with the option, the expected value and the given one. */
export function resolveAuthOptions(options: AuthOptions, scopePrefix: string): ResolvedAuthOptions {
  checkOptionNames('auth', options, OPTION_NAMES);
  if (options.account === undefined) throw wrong('account', 'the entity of accounts', options.account);
  for (const name of FUNCTIONS) {
    const given: unknown = options[name];
    if (given !== undefined && typeof given !== 'function') throw wrong(name, 'a function', given);
  }
  const store: { hit?: unknown } | null | undefined = options.store;
  if (store !== undefined && typeof store?.hit !== 'function') throw wrong('store', 'a Store', store);
  const { defaultRole = 'user' } = options;
  if (typeof defaultRole !== 'string') throw wrong('defaultRole', 'the name of a role', defaultRole);
  const { permissions } = options;
  const areNames = permissions === undefined || (Array.isArray(permissions) && permissions.every(isName));
  if (!areNames) throw wrong('permissions', 'a list of names', permissions);
  const urlPrefix = resolvePrefix(options.urlPrefix ?? '/auth');
  const routes = resolveRoutes(options);
  checkMailer(options, routes);
  const { me, registrationFields } = options;
  if (me !== undefined) checkOptionNames('auth: option "me"', me, ['read', 'write', 'delete']);
  return Object.freeze({
    account: options.account,
    fields: options.fields,
    token: resolveToken(options),
    urlPrefix,
    routes,
    sessions: options.sessions === undefined ? undefined : resolveSessionOptions(options.sessions),
    passkeys: options.passkeys === undefined ? undefined : resolvePasskeyOptions(options.passkeys),
    tokenScheme: resolveScheme(options.tokenScheme),
    authenticate: options.authenticate,
    retrieveUser: options.retrieveUser,
    storeUser: options.storeUser,
    userCache: resolveUserCache(options),
    endpoints: new NonAuthEndpoints(
      options.nonAuthEndpoints ??
        LISTED_ROUTES.filter((name) => routes.has(name)).map((name) => `${scopePrefix}${urlPrefix}/${name}`),
    ),
    mailer: options.mailer,
    store: options.store,
    keyFor: resolveKeys(options),
    hasher: new PasswordHasher({ rounds: options.bcryptRounds, argon2: options.argon2 }),
    defaultRole: { name: defaultRole, isGiven: options.defaultRole !== undefined },
    permissions,
    apiKeys: resolveApiKeys(options),
    twoFactor: resolveTwoFactor(options),
    oauth: options.oauth && resolveOAuthOptions(options.oauth, registrationFields === undefined),
    invitations: options.invitations && resolveInvitations(options.invitations),
    loginLink: options.loginLink && resolveLoginLink(options.loginLink),
    verificationEmail: options.verificationEmail ?? verificationEmail,
    emailChangeNotice: options.emailChangeNotice ?? emailChangeNotice,
    passwordChangeNotice: options.passwordChangeNotice ?? passwordChangeNotice,
    passwords: options.passwords,
    me,
    registrationFields,
    afterRegistration: options.afterRegistration,
  });
}

function resolveToken(options: AuthOptions): TokenOptions {
  const { algorithm = 'HS256', expirationDelta: lifetimeSeconds = 86_400 } = options;
  if (!TOKEN_ALGORITHMS.includes(algorithm)) {
    throw wrong('algorithm', `one of ${TOKEN_ALGORITHMS.join(', ')}`, algorithm);
  }
  if (!Number.isInteger(lifetimeSeconds) || lifetimeSeconds < 1 || lifetimeSeconds > MAX_TOKEN_LIFETIME_SECONDS) {
    throw wrong(
      'expirationDelta',
      `a whole number of seconds from 1 to ${MAX_TOKEN_LIFETIME_SECONDS}`,
      lifetimeSeconds,
    );
  }
  if (algorithm === 'HS256') {
    if (options.keys !== undefined) {
      throw new ImproperlyConfigured('auth: option "keys" is for RS256, ES256 and EdDSA, not for HS256');
    }
    return { algorithm, keys: secretKeys(checkSecrets('secret', options.secret)), lifetimeSeconds };
  }
  return { algorithm, keys: checkKeys(algorithm, options.keys), lifetimeSeconds };
}

function resolveUserCache({ userCacheSeconds: seconds = 0, clock }: AuthOptions): UserCacheOptions | undefined {
  // In this form it also rejects NaN.
  if (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= MAX_USER_CACHE_SECONDS)) {
    throw wrong('userCacheSeconds', `a number of seconds from 0 to ${MAX_USER_CACHE_SECONDS}`, seconds);
  }
  return seconds === 0 ? undefined : { seconds, clock: clock ?? (() => performance.now()) };
}

/** Returns the function that derives the keys for a purpose. */
function resolveKeys({ secret, codeSecret }: AuthOptions): ResolvedAuthOptions['keyFor'] {
  const [option, given] = codeSecret === undefined ? ['secret', secret] : ['codeSecret', codeSecret];
  const checked = checkSecrets(option, given);
  return (purpose) => KeyRing.of(checked, purpose);
}

/** Accepts the characters of RFC 9110 that have no meaning in regular expressions. */
function resolveScheme(scheme: string = 'Bearer'): string {
  if (typeof scheme === 'string' && /^[a-z][a-z0-9-]*$/i.test(scheme)) return scheme;
  throw wrong('tokenScheme', 'a word, such as "Token"', scheme);
}

function resolveRoutes(options: AuthOptions): ReadonlySet<AuthRouteName> {
  const isOn = (name: AuthRouteName): boolean =>
    ROUTE_OPTIONS[name] === null || options[ROUTE_OPTIONS[name]] !== undefined;
  const routes: readonly AuthRouteName[] = options.routes ?? AUTH_ROUTE_NAMES.filter(isOn);
  if (
    !(Array.isArray as (value: unknown) => boolean)(routes) ||
    !routes.every((name) => AUTH_ROUTE_NAMES.includes(name))
  ) {
    throw wrong('routes', `a list of ${AUTH_ROUTE_NAMES.join(', ')}`, routes);
  }
  const off = routes.find((name) => !isOn(name));
  if (off !== undefined) {
    throw new ImproperlyConfigured(`auth: the route "${off}" needs the option "${ROUTE_OPTIONS[off]}"`);
  }
  return new Set(routes);
}

/** With API keys, a custom version of these steps would have to know what a key may do. */
const KEYLESS_STEPS = ['authenticate', 'retrieveUser', 'storeUser'] as const;

/** The list of keys, and the notice about a new password, have all of them. */
const MOST_API_KEYS = 1000;

function resolveApiKeys({ apiKeys, ...options }: AuthOptions): Required<ApiKeyOptions> | undefined {
  if (apiKeys === undefined) return undefined;
  const step = KEYLESS_STEPS.find((name) => options[name] !== undefined);
  if (step !== undefined) throw new ImproperlyConfigured(`auth: option "apiKeys" needs the default of "${step}"`);
  const given = resolveEntityOption<ApiKeyOptions>(
    'apiKeys',
    apiKeys,
    ['entity', 'prefix', 'maxPerAccount'],
    'API keys',
  );
  const { entity, prefix = 'key', maxPerAccount = 100 } = given;
  if (!Number.isInteger(maxPerAccount) || maxPerAccount < 1 || maxPerAccount > MOST_API_KEYS) {
    throw wrongOption('auth', 'apiKeys.maxPerAccount', `a whole number from 1 to ${MOST_API_KEYS}`, maxPerAccount);
  }
  if (typeof prefix === 'string' && /^[a-z][a-z0-9]{0,19}$/i.test(prefix)) return { entity, prefix, maxPerAccount };
  throw wrong('apiKeys', 'an entity, or { entity, prefix } with a prefix of letters and digits', prefix);
}

function resolveTwoFactor({ twoFactor }: AuthOptions): TwoFactorOptions | undefined {
  if (twoFactor === undefined) return undefined;
  const given = resolveEntityOption<TwoFactorOptions>('twoFactor', twoFactor, ['entity', 'issuer'], 'second factors');
  const { issuer } = given;
  if (issuer === undefined || (typeof issuer === 'string' && /^[^:]+$/.test(issuer))) return given;
  throw wrong('twoFactor', 'an entity, or { entity, issuer } with an issuer without a colon', issuer);
}

function checkMailer({ mailer }: AuthOptions, routes: ReadonlySet<AuthRouteName>): void {
  const isSender = typeof (mailer as Partial<EmailSender> | null | undefined)?.send === 'function';
  const needs = MAILING_ROUTES.find((name) => routes.has(name));
  if (isSender || (mailer === undefined && needs === undefined)) return;
  const expected = 'an EmailSender (SmtpEmailSender; LogEmailSender for development)';
  throw wrong('mailer', needs === undefined ? expected : `${expected}, which the route "${needs}" needs`, mailer);
}

function resolvePrefix(urlPrefix: string): string {
  if (typeof urlPrefix === 'string' && /^(\/[^/:*?#\s]+)*\/?$/.test(urlPrefix)) return urlPrefix.replace(/\/$/, '');
  throw wrong('urlPrefix', 'a path such as "/api/auth"', urlPrefix);
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function wrong(name: keyof AuthOptions, expected: string, received: unknown): ImproperlyConfigured {
  return wrongOption('auth', name, expected, received);
}
