import { parseDate, parseDateTime as parseLoosely, parseTime } from '../fields/calendar.ts';

const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;
const TIME = /^\d{2}:\d{2}:\d{2}$/;

/** Whether a text is a day that exists, `2026-02-28`, of the years that every database keeps. */
export function isDate(text: string): boolean {
  return parseDate(text) !== undefined;
}

/** Whether a text is a time of day, `23:59:59`. */
export function isTime(text: string): boolean {
  return TIME.test(text) && parseTime(text) !== undefined;
}

/** Whether a text is a moment; see `parseDateTime`. */
export function isDateTime(text: string): boolean {
  return parseDateTime(text) !== undefined;
}

/**
 * The moment that an RFC 3339 text names, or undefined where it names none. A body is written by a program: the date,
 * the time with its seconds, and the offset must all be there, unlike in a query string. Digits past the millisecond
 * are cut, as a Date has none.
 *
 * @example
 * parseDateTime('2026-02-28T12:00:00+01:00');   // 2026-02-28T11:00:00.000Z
 * parseDateTime('2026-02-30T12:00:00Z');        // undefined
 */
export function parseDateTime(text: string): Date | undefined {
  return DATE_TIME.test(text) ? parseLoosely(text) : undefined;
}
