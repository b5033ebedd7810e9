const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/;

/** Whether a text is a day that exists, `2026-02-28`, of the years 0001 to 9999 (no database keeps a year 0). */
export function isDate(text: string): boolean {
  const match = DATE.exec(text);
  if (match === null) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
}

/** Whether a text is a time of day, `23:59:59`. */
export function isTime(text: string): boolean {
  return TIME.test(text);
}

/** Whether a text is a moment: a day that exists, `T`, a time of day, and `Z` or an offset (RFC 3339, no leap second). */
export function isDateTime(text: string): boolean {
  return parseDateTime(text) !== undefined;
}

/**
 * The moment that an RFC 3339 text names, or undefined where it names none. Digits past the millisecond are cut, as a
 * Date has none.
 *
 * @example
 * parseDateTime('2026-02-28T12:00:00+01:00');   // 2026-02-28T11:00:00.000Z
 * parseDateTime('2026-02-30T12:00:00Z');        // undefined
 */
export function parseDateTime(text: string): Date | undefined {
  const day = DATE_TIME.exec(text)?.[1];
  if (day === undefined || !isDate(day)) return undefined;
  const moment = new Date(text);
  const year = moment.getUTCFullYear();
  return year >= 1 && year <= 9999 ? moment : undefined;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
