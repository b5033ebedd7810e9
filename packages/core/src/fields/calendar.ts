const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:([Zz])|([+\- ])(\d\d):?(\d\d)))?$/;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIME = /^(\d\d):(\d\d)(?::(\d\d)(\.\d{1,6})?)?$/;

/** The largest distance of a JavaScript Date from 1970, in milliseconds. */
const FARTHEST_MS = 8.64e15;
const BEYOND =
  /^(\d{4,})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:([+-])(\d\d)(?::(\d\d)(?::(\d\d))?)?)?)?( BC)?$/;

/**
 * Reads database dates and times that ISO 8601 writes differently, or that no Date can hold: `0044-03-15 BC`, in the
 * year -43; years of more than four digits; `infinity` and `-infinity`. A value out of a Date's range becomes the last
 * or the first instant of a Date. Returns undefined for any other value.
 */
export function dateBeyond(raw: unknown): Date | undefined {
  if (typeof raw === 'number') return Math.abs(raw) > FARTHEST_MS ? nearestDate(raw) : undefined;
  // Nearly every date has a four-digit year, and ends in a digit or a Z.
  if (typeof raw !== 'string' || (raw[4] === '-' && raw.at(-1) !== 'C')) return undefined;
  if (raw === 'infinity') return nearestDate(Infinity);
  if (raw === '-infinity') return nearestDate(-Infinity);
  const match = BEYOND.exec(raw);
  return match === null ? undefined : dateOfParts(match);
}

function dateOfParts(match: RegExpExecArray): Date {
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0));
  const [, , , , , , , fraction = '', sign, hours = '0', minutes = '0', seconds = '0', isBeforeChrist] = match;
  const date = new Date(0);
  date.setUTCFullYear(isBeforeChrist === undefined ? year! : 1 - year!, month! - 1, day);
  date.setUTCHours(hour!, minute, second, Number(fraction.padEnd(3, '0').slice(0, 3)));
  if (Number.isNaN(date.getTime())) return nearestDate(isBeforeChrist === undefined ? Infinity : -Infinity);
  const offset = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  return nearestDate(date.getTime() - (sign === '-' ? -offset : offset));
}

function nearestDate(milliseconds: number): Date {
  return new Date(Math.max(-FARTHEST_MS, Math.min(FARTHEST_MS, milliseconds)));
}

/**
 * Writes a database date in ISO 8601: `2024-12-31`, `-000043-03-15` for `0044-03-15 BC`, and `+010000-01-01` for
 * `10000-01-01`.
 */
export function isoDate<Stored>(date: Stored): Stored | string {
  return dateBeyond(date)?.toISOString().split('T')[0] ?? date;
}

/** A date between two milliseconds, which a JavaScript Date cannot hold. */
export class PreciseDate extends Date {
  /** The microseconds since the millisecond: above 0, below 1000. Nanoseconds are the fraction. */
  readonly microseconds: number;

  constructor(milliseconds: number, microseconds: number) {
    super(milliseconds);
    this.microseconds = microseconds;
  }
}

/**
 * Reads RFC 3339, for query strings. A time needs an offset; its seconds are optional. A date alone is the beginning of
 * that day in UTC. The fraction of a second may have nine digits. A space counts as a plus sign, because query strings
 * turn one into the other. Returns undefined for anything else, and outside the years 1 to 9999 in UTC, which every
 * database can store.
 */
export function parsePreciseDate(text: string): Date | PreciseDate | undefined {
  const match = DATE_TIME.exec(text);
  if (match === null) return undefined;
  const [, day = '', clock = '00:00', seconds = '00', fraction = '', , sign = '+', hours = '00', minutes = '00'] =
    match;
  if (parseDate(day) === undefined || parseTime(`${clock}:${seconds}`) === undefined) return undefined;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const digits = fraction.padEnd(9, '0');
  const local = Date.parse(`${day}T${clock}:${seconds}.${digits.slice(0, 3)}Z`);
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
  const date = dateOf(sign === '-' ? local + offsetMs : local - offsetMs, Number(digits.slice(3)) / 1000);
  return isStorable(date) ? date : undefined;
}

/** Reads a date like `parsePreciseDate`, and cuts it to milliseconds. */
export function parseDateTime(text: string): Date | undefined {
  const date = parsePreciseDate(text);
  return date === undefined ? undefined : new Date(date);
}

/** Rounds a date to whole microseconds, the finest unit of any column. */
export function roundToMicroseconds(date: Date, round: (microseconds: number) => number): Date {
  return date instanceof PreciseDate ? dateOf(date.getTime(), round(date.microseconds)) : date;
}

/** True for a date that no column can hold, between two microseconds. */
export function isBetweenMicroseconds(date: unknown): boolean {
  return date instanceof PreciseDate && !Number.isInteger(date.microseconds);
}

/**
 * Returns the milliseconds of a date, to compare with a column of whole milliseconds. A date between two milliseconds
 * becomes the middle, which a double can always represent.
 */
export function comparableMilliseconds(date: Date): number {
  return date instanceof PreciseDate ? date.getTime() + 0.5 : date.getTime();
}

/** Appends the date's whole microseconds to the milliseconds in a text. */
export function withMicroseconds(text: string, date: Date): string {
  if (!(date instanceof PreciseDate)) return text;
  return text.replace(/\.\d{3}/, (fraction) => fraction + String(Math.floor(date.microseconds)).padStart(3, '0'));
}

function dateOf(milliseconds: number, microseconds: number): Date {
  if (microseconds === 0) return new Date(milliseconds);
  return microseconds < 1000 ? new PreciseDate(milliseconds, microseconds) : new Date(milliseconds + 1);
}

/** Returns the text if it is a valid calendar day in the years 1 to 9999. */
export function parseDate(text: string): string | undefined {
  const match = DATE.exec(text);
  if (match === null || text < '0001') return undefined;
  // JavaScript turns a day that does not exist, 30 February, into a day of the next month.
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? text : undefined;
}

/** Returns a time of day with its seconds, if the text is a time. */
export function parseTime(text: string): string | undefined {
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const [, hours, minutes, seconds = '00', fraction = ''] = match;
  const inRange = Number(hours) < 24 && Number(minutes) < 60 && Number(seconds) < 60;
  return inRange ? `${hours}:${minutes}:${seconds}${fraction}` : undefined;
}

/** True for the instants that every database can store. PostgreSQL has no year 0. */
export function isStorable(instant: Date): boolean {
  const ms = instant.getTime();
  return ms >= FIRST_MS && ms <= LAST_MS;
}

const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');
