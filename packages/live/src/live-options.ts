import { checkOptionNames, wrongOption } from '@viewset/core';
import type { WakeUps } from './wake-ups.ts';

/** The options of the plugin `live`. All are optional. */
export interface LiveOptions {
  /**
   * Wakes other processes after a write: `redisWakeUps`, `postgresWakeUps`, `mongoWakeUps`, or your own. Default: none,
   * so other processes notice writes after `pollMs`.
   */
  readonly wakeUps?: WakeUps;
  /** How often this process looks for writes of other processes, in milliseconds. Default: 1000. */
  readonly pollMs?: number;
  /** The shortest time between two looks, in milliseconds. Writes within it are sent together. Default: 100. */
  readonly windowMs?: number;
  /**
   * Each list is read again after this time at the latest, even without a write, in milliseconds. This ends streams
   * with an expired token, and shows records that were written without a view. Default: 60,000.
   */
  readonly refreshMs?: number;
  /** If a connection sends nothing for this time, it sends a comment, in milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number;
  /** The most lists that are read at the same time. Default: 4. */
  readonly concurrency?: number;
  /** The most connections of this process. Further ones get 503. Default: 10,000. */
  readonly maxConnections?: number;
  /**
   * The most connections of one user in this process; without a user, of one address, IPv6 by /64. Further ones get 429. A connection that its client
   * closes before it has its list counts until the list has been read. Default: 20.
   */
  readonly maxConnectionsPerUser?: number;
}

const DEFAULTS = {
  pollMs: 1000,
  windowMs: 100,
  refreshMs: 60_000,
  heartbeatMs: 15_000,
  concurrency: 4,
  maxConnections: 10_000,
  maxConnectionsPerUser: 20,
};

/** The options with their defaults. */
export type ResolvedLiveOptions = typeof DEFAULTS & Pick<LiveOptions, 'wakeUps'>;

/** Checks the options and fills in the defaults. Throws ImproperlyConfigured. */
export function resolveLiveOptions(given: LiveOptions): ResolvedLiveOptions {
  checkOptionNames('live', given, ['wakeUps', ...Object.keys(DEFAULTS)]);
  const chosen = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const options: ResolvedLiveOptions = { ...DEFAULTS, ...chosen };
  for (const name of Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[]) {
    const value: unknown = options[name];
    if (Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= MAX_NUMBER) continue;
    throw wrongOption('live', name, `a whole number from 1 to ${MAX_NUMBER}`, value);
  }
  const { wakeUps } = options;
  if (wakeUps !== undefined && typeof (wakeUps as Partial<WakeUps> | null)?.listen !== 'function') {
    throw wrongOption(
      'live',
      'wakeUps',
      'redisWakeUps(), postgresWakeUps(), mongoWakeUps() or an object like theirs',
      wakeUps,
    );
  }
  return Object.freeze(options);
}

/** The longest time that a timer supports. */
const MAX_NUMBER = 2_147_483_647;
