import { wrongOption } from '@viewset/core';

const DEFAULT = 100;
/** The store keeps the time of each. */
const MOST = 10_000;

/**
 * Checks how many mails one user may send in a day. Undefined: 100.
 *
 * @param owner the option that has it, for the message
 * @throws ImproperlyConfigured for anything but a whole number from 1 to 10000
 */
export function maxPerDayOf(owner: string, maxPerDay = DEFAULT): number {
  if (Number.isInteger(maxPerDay) && maxPerDay >= 1 && maxPerDay <= MOST) return maxPerDay;
  throw wrongOption(owner, 'maxPerDay', `a whole number from 1 to ${MOST}`, maxPerDay);
}
