import { ImproperlyConfigured } from '@viewset/core';
import { MAX_USER_CACHE_SECONDS } from './accounts/cached-users.ts';
import { MIN_SECRET_BYTES } from './tokens/signing-keys.ts';

/** The authentication settings from the environment, to spread into the plugin's options. */
export interface AuthSettings {
  /** A list if there are older secrets, or coming ones, that verify too. */
  readonly secret: string | readonly string[];
  readonly expirationDelta: number;
  /** Absent if NON_AUTH_ENDPOINTS is not set. The plugin's default then applies. */
  readonly nonAuthEndpoints?: readonly string[];
  /** Absent if USER_CACHE_SECONDS is not set. The plugin's default then applies: no cache. */
  readonly userCacheSeconds?: number;
}

/**
 * Reads SECRET_KEY, JWT_SECRET (default: SECRET_KEY), JWT_ACCESS_TOKEN_EXPIRES (seconds, default 86400),
 * NON_AUTH_ENDPOINTS (comma-separated) and USER_CACHE_SECONDS (0 to 300). SECRET_KEY_FALLBACKS, or JWT_SECRET_FALLBACKS
 * beside JWT_SECRET, lists further secrets that verify but do not sign, so that a secret can be replaced. They are
 * comma-separated. An empty variable counts as absent. Throws ImproperlyConfigured, naming the variable, if there is no
 * secret or a value is wrong.
 *
 * @example
 * await app.register(auth, { ...authSettings(process.env), account: Account, mailer });
 */
export function authSettings(env: Readonly<Record<string, string | undefined>>): AuthSettings {
  const endpoints = env['NON_AUTH_ENDPOINTS'];
  const userCache = env['USER_CACHE_SECONDS'];
  return {
    secret: readSecret(env),
    expirationDelta: readSeconds('JWT_ACCESS_TOKEN_EXPIRES', env['JWT_ACCESS_TOKEN_EXPIRES'], 86_400),
    ...(endpoints ? { nonAuthEndpoints: readList(endpoints) } : {}),
    ...(userCache ? { userCacheSeconds: readCacheSeconds('USER_CACHE_SECONDS', userCache) } : {}),
  };
}

function readSecret(env: Readonly<Record<string, string | undefined>>): string | readonly string[] {
  const name = ['JWT_SECRET', 'SECRET_KEY'].find((each) => env[each]);
  if (name === undefined) {
    throw new ImproperlyConfigured('SECRET_KEY (or JWT_SECRET) must be set, to at least 32 random bytes');
  }
  if (name === 'SECRET_KEY' && env['JWT_SECRET_FALLBACKS']) {
    throw new ImproperlyConfigured('JWT_SECRET_FALLBACKS needs JWT_SECRET; beside SECRET_KEY set SECRET_KEY_FALLBACKS');
  }
  const further = readList(env[`${name}_FALLBACKS`] ?? '');
  const short = further.findIndex((each) => Buffer.byteLength(each) < MIN_SECRET_BYTES);
  if (short >= 0) {
    const message = `${name}_FALLBACKS must be secrets of at least ${MIN_SECRET_BYTES} bytes, separated by commas`;
    throw new ImproperlyConfigured(`${message}; number ${short + 1} is shorter`);
  }
  return further.length === 0 ? env[name]! : [env[name]!, ...further];
}

function readSeconds(name: string, text: string | undefined, whenAbsent: number): number {
  if (!text) return whenAbsent;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new ImproperlyConfigured(`${name} must be a whole number of seconds above 0, got ${JSON.stringify(text)}`);
}

function readCacheSeconds(name: string, text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) <= MAX_USER_CACHE_SECONDS) return Number(text);
  const expected = `a whole number of seconds from 0 to ${MAX_USER_CACHE_SECONDS}`;
  throw new ImproperlyConfigured(`${name} must be ${expected}, got ${JSON.stringify(text)}`);
}

function readList(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}
