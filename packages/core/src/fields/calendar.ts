const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:([Zz])|([+\- ])(\d\d):?(\d\d))?)?$/;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIME = /^(\d\d):(\d\d)(?::(\d\d)(\.\d{1,6})?)?$/;
const DAY_MS = 24 * 60 * 60 * 1000;

/** The greatest distance of a Date of JavaScript from 1970, in milliseconds. */
const FARTHEST_MS = 8.64e15;
const BEYOND =
  /^(\d{4,})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:([+-])(\d\d)(?::(\d\d)(?::(\d\d))?)?)?)?( BC)?$/;

/**
 * Reads the dates and times of a database that ISO 8601 writes in another way, or that no Date can be: `0044-03-15 BC`, in the year -43; years
 * of more than four digits; `infinity` and `-infinity`. Those too far away become the last or the first instant that a Date can be.
 * Undefined for any other value.
 */
export function dateBeyond(raw: unknown): Date | undefined {
  if (typeof raw === 'number') return Math.abs(raw) > FARTHEST_MS ? nearestDate(raw) : undefined;
  // Nearly every date has a year of four digits, and ends in a digit or a Z.
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

/** Writes a date of a database by ISO 8601: `2024-12-31`, `-000043-03-15` for `0044-03-15 BC`, and `+010000-01-01` for `10000-01-01`. */
export function isoDate<Stored>(date: Stored): Stored | string {
  return dateBeyond(date)?.toISOString().split('T')[0] ?? date;
}

/** A date that lies between two milliseconds, as a Date of JavaScript cannot. */
export class PreciseDate extends Date {
  /** The microseconds since the millisecond: above 0, below 1000, with nanoseconds behind the point. */
  readonly microseconds: number;

  constructor(milliseconds: number, microseconds: number) {
    super(milliseconds);
    this.microseconds = microseconds;
  }
}

/**
 * Reads RFC 3339 with or without the time, the seconds and the offset, which is UTC if it is missing; the fraction of a
 * second may have nine digits. A space counts as the plus sign that a query string has made of it. Undefined for anything
 * else, and outside the years 1 to 9999, which are those that every database keeps.
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

/** Rounds a date to whole microseconds, the finest that any column holds. */
export function roundToMicroseconds(date: Date, round: (microseconds: number) => number): Date {
  return date instanceof PreciseDate ? dateOf(date.getTime(), round(date.microseconds)) : date;
}

/** True of a date that no column can hold: one that lies between two microseconds. */
export function isBetweenMicroseconds(date: unknown): boolean {
  return date instanceof PreciseDate && !Number.isInteger(date.microseconds);
}

/**
 * Returns the milliseconds of a date as a column of whole milliseconds compares with it: of one between two of them, the
 * middle, which no double is too coarse for.
 */
export function comparableMilliseconds(date: Date): number {
  return date instanceof PreciseDate ? date.getTime() + 0.5 : date.getTime();
}

/** Puts the whole microseconds of a date into a text that has its milliseconds. */
export function withMicroseconds(text: string, date: Date): string {
  if (!(date instanceof PreciseDate)) return text;
  return text.replace(/\.\d{3}/, (fraction) => fraction + String(Math.floor(date.microseconds)).padStart(3, '0'));
}

function dateOf(milliseconds: number, microseconds: number): Date {
  if (microseconds === 0) return new Date(milliseconds);
  return microseconds < 1000 ? new PreciseDate(milliseconds, microseconds) : new Date(milliseconds + 1);
}

/** Returns the text if it is a day of the calendar in the years 1 to 9999. */
export function parseDate(text: string): string | undefined {
  const match = DATE.exec(text);
  if (match === null || text < '0001') return undefined;
  // A day that is not there, 30 February, is carried over into the next month.
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? text : undefined;
}

/** Returns a time of day with its seconds if the text is one. */
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
