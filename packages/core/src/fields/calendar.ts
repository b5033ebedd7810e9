const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:([Zz])|([+\- ])(\d\d):?(\d\d))?)?$/;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIME = /^(\d\d):(\d\d)(?::(\d\d)(\.\d{1,6})?)?$/;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Reads RFC 3339 with or without the time, the seconds and the offset, which is UTC where it is missing; a fraction is
 * cut to milliseconds. A space counts as the plus sign that a query string has made of it. Undefined for anything else,
 * and outside the years 1 to 9999, which are those that every database keeps.
 */
export function parseDateTime(text: string): Date | undefined {
  const match = DATE_TIME.exec(text);
  if (match === null) return undefined;
  const [, day = '', clock = '00:00', seconds = '00', fraction = '', , sign = '+', hours = '00', minutes = '00'] =
    match;
  if (parseDate(day) === undefined || parseTime(`${clock}:${seconds}`) === undefined) return undefined;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const local = Date.parse(`${day}T${clock}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`);
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
  const instant = new Date(sign === '-' ? local + offsetMs : local - offsetMs);
  return isStorable(instant) ? instant : undefined;
}

/** The text, if it is a day of the calendar in the years 1 to 9999. */
export function parseDate(text: string): string | undefined {
  const match = DATE.exec(text);
  if (match === null || text < '0001') return undefined;
  // A day that is not there, 30 February, is carried over into the next month.
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? text : undefined;
}

/** A time of day with its seconds, if the text is one. */
export function parseTime(text: string): string | undefined {
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const [, hours, minutes, seconds = '00', fraction = ''] = match;
  const inRange = Number(hours) < 24 && Number(minutes) < 60 && Number(seconds) < 60;
  return inRange ? `${hours}:${minutes}:${seconds}${fraction}` : undefined;
}

/** True of the instants that every database keeps; PostgreSQL knows no year 0. */
export function isStorable(instant: Date): boolean {
  const ms = instant.getTime();
  return ms >= FIRST_MS && ms <= LAST_MS;
}

const FIRST_MS = Date.parse('0001-01-01T00:00:00Z') + DAY_MS;
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z') - DAY_MS;
