import { checkOptionNames, wrongOption } from '@viewset/core';
import type { WakeUps } from './wake-ups.ts';

/** The options of the plugin `live`. All may be left out. */
export interface LiveOptions {
  /** Wakes other processes after a write: `redisWakeUps`, `postgresWakeUps`, `mongoWakeUps`, or your own. Default: none, so others look after `pollMs`. */
  readonly wakeUps?: WakeUps;
  /** The time between two looks for what other processes have written, in milliseconds. Default: 1000. */
  readonly pollMs?: number;
  /** The shortest time between two looks, in milliseconds. Writes within it are told of together. Default: 100. */
  readonly windowMs?: number;
  /**
   * Each list is asked for after this time at the latest, whether or not something was written, in milliseconds. So a token that has expired ends its
   * stream, and records show that were written past the views. Default: 60,000.
   */
  readonly refreshMs?: number;
  /** The time after which a comment is sent on a connection where nothing else was, in milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number;
  /** The most lists that are read at once. Default: 4. */
  readonly concurrency?: number;
  /** The most connections of this process. Further ones get 503. Default: 10,000. */
  readonly maxConnections?: number;
  /** The most connections of one user in this process; without a user, of one address. Further ones get 429. Default: 20. */
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

/** Checks the options, and fills in the defaults. Throws ImproperlyConfigured. */
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

/** The longest time of a timer. */
const MAX_NUMBER = 2_147_483_647;
