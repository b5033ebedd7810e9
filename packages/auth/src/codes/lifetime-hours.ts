import { wrongOption } from '@viewset/core';

const DEFAULT_HOURS = 168;
const MAX_HOURS = 8_760;
const HOUR_MS = 3_600_000;

/**
 * Checks the option `lifetimeHours` of invitations, and returns milliseconds. Default: a week.
 *
 * @param owner the option or function that has `lifetimeHours`, for the message
 * @throws ImproperlyConfigured unless it is a number above 0 and at most a year
 */
export function lifetimeMsOf(owner: string, hours: unknown = DEFAULT_HOURS): number {
  if (typeof hours === 'number' && hours > 0 && hours <= MAX_HOURS) return hours * HOUR_MS;
  throw wrongOption(owner, 'lifetimeHours', `a number above 0, at most ${MAX_HOURS}`, hours);
}
