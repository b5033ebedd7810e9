import { checkOptionNames, isOrigin, wrongOption } from '@viewset/core';
import { resolveEntityOption } from '../accounts/entity-option.ts';
import type { RefreshCookieOptions } from './refresh-cookie.ts';
import type { SessionSchema } from './session-contract.ts';
import type { SessionTimes } from './sessions.ts';

/** The option `sessions` as an object. Times are whole seconds. */
export interface SessionOptions {
  /** The entity of sessions; see SessionFields for what it needs. */
  readonly entity: SessionSchema;
  /** How long a session lives without a refresh. Default: 2,592,000, 30 days. */
  readonly lifetimeSeconds?: number;
  /** How long a session lives after its login, however often it is refreshed. Default: 31,536,000, a year. */
  readonly maxLifetimeSeconds?: number;
  /**
   * How long the last used refresh token still returns the same successor, from 0 to 60, so that two tabs can refresh
   * at the same time. Default: 10.
   */
  readonly graceSeconds?: number;
  /**
   * Additional origins whose pages may refresh with the cookie, such as `https://app.example.com` for an API on
   * `https://api.example.com`. The server's own origin is always allowed. Default: none.
   */
  readonly origins?: readonly string[];
  /** The name and the path of the cookie with the refresh token. */
  readonly cookie?: RefreshCookieOptions;
}

/** The option with its defaults, checked. */
export interface ResolvedSessionOptions extends SessionTimes {
  readonly entity: SessionSchema;
  readonly origins: ReadonlySet<string>;
  readonly cookie: RefreshCookieOptions;
}

const OPTION_NAMES: readonly (keyof SessionOptions)[] = [
  'entity',
  'lifetimeSeconds',
  'maxLifetimeSeconds',
  'graceSeconds',
  'origins',
  'cookie',
];
const DAY = 86_400;
/** Longer than any useful session, and within the range of every date column. */
const LONGEST = 100 * 365 * DAY;
const MAX_GRACE = 60;

/** Throws ImproperlyConfigured with the option, the expected value and the given one. */
export function resolveSessionOptions(given: SessionSchema | SessionOptions): ResolvedSessionOptions {
  const options = resolveEntityOption<SessionOptions>('sessions', given, OPTION_NAMES, 'sessions');
  const { entity, origins = [], cookie = {} } = options;
  const lifetimeSeconds = seconds(options, 'lifetimeSeconds', 30 * DAY, 1, LONGEST);
  return Object.freeze({
    entity,
    lifetimeSeconds,
    maxLifetimeSeconds: seconds(options, 'maxLifetimeSeconds', Math.max(365 * DAY, lifetimeSeconds), 1, LONGEST),
    graceSeconds: seconds(options, 'graceSeconds', 10, 0, MAX_GRACE),
    origins: resolveOrigins(origins),
    cookie: resolveCookie(cookie),
  });
}

function seconds(
  options: SessionOptions,
  name: 'lifetimeSeconds' | 'maxLifetimeSeconds' | 'graceSeconds',
  byDefault: number,
  least: number,
  most: number,
): number {
  const value = options[name] ?? byDefault;
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw wrong(name, `a whole number of seconds from ${least} to ${most}`, value);
}

function resolveOrigins(origins: readonly string[]): ReadonlySet<string> {
  if (Array.isArray(origins) && (origins as readonly unknown[]).every(isOrigin)) return new Set(origins);
  throw wrong('origins', 'a list of origins, such as ["https://app.example.com"]', origins);
}

/** The characters of a token (RFC 9110), without those that cookies of browsers give a meaning. */
const COOKIE_NAME = /^[\w.!#$%&'*+^`|~-]+$/;

function resolveCookie(cookie: RefreshCookieOptions): RefreshCookieOptions {
  checkOptionNames('auth: option "sessions.cookie"', cookie, ['name', 'path']);
  const { name, path }: { name?: unknown; path?: unknown } = cookie;
  // Browsers require the path `/` and HTTPS for `__Host-`, which cannot be promised here.
  const isName = name === undefined || (typeof name === 'string' && COOKIE_NAME.test(name) && !name.startsWith('__'));
  if (!isName) throw wrong('cookie', 'a name of letters, digits, "-" and "_", without "__" in front', name);
  const isPath = path === undefined || (typeof path === 'string' && /^\/[^;,\s]*$/.test(path));
  if (!isPath) throw wrong('cookie', 'a path, such as "/shop/api/auth"', path);
  return cookie;
}

function wrong(name: keyof SessionOptions, expected: string, received: unknown): Error {
  return wrongOption('auth: option "sessions"', name, expected, received);
}
