import * as typebox from 'typebox/format';
import { parseDate, parseDateTime as parseLoosely, parseTime } from '../fields/calendar.ts';

type IsOfFormat<Value> = (value: Value) => boolean;

const EMAIL =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
const HOST_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*\.?$/i;
const DURATION = /^P(?!$)(?:(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?|\d+W)$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const ISO_TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(z|[+-]\d\d(?::?\d\d)?)?$/i;

/**
 * The text formats that a schema may name, with their messages. The time of each check grows linearly with the text.
 * `date`, `time` and `date-time` follow the rules of this framework, so that valid values can always be stored.
 */
const TEXT_FORMATS: ReadonlyMap<string, readonly [IsOfFormat<string>, message?: string]> = new Map<
  string,
  readonly [IsOfFormat<string>, message?: string]
>([
  ['binary', [() => true]],
  ['byte', [(text) => BASE64.test(text)]],
  ['date', [isDate, 'must be a date such as 2026-01-31']],
  ['date-time', [isDateTime, 'must be a date and time such as 2026-01-31T12:00:00Z']],
  ['duration', [(text) => DURATION.test(text)]],
  ['email', [(text) => EMAIL.test(text), 'must be an e-mail address']],
  ['hostname', [(text) => text.length <= 254 && HOST_NAME.test(text), 'must be a host name']],
  ['idn-email', [typebox.IsIdnEmail, 'must be an e-mail address']],
  ['idn-hostname', [typebox.IsIdnHostname]],
  ['ipv4', [typebox.IsIPv4, 'must be an IPv4 address']],
  ['ipv6', [typebox.IsIPv6, 'must be an IPv6 address']],
  ['iri', [typebox.IsIri]],
  ['iri-reference', [typebox.IsIriReference]],
  [
    'iso-date-time',
    [(text) => isDate(text.slice(0, 10)) && /^[t ]/i.test(text.slice(10)) && ISO_TIME.test(text.slice(11))],
  ],
  ['iso-time', [(text) => ISO_TIME.test(text)]],
  ['json-pointer', [typebox.IsJsonPointer]],
  ['json-pointer-uri-fragment', [typebox.IsJsonPointerUriFragment]],
  ['password', [() => true]],
  ['regex', [typebox.IsRegex]],
  ['relative-json-pointer', [typebox.IsRelativeJsonPointer]],
  ['time', [isTime, 'must be a time of day such as 23:59:59']],
  ['uri', [typebox.IsUri, 'must be a URI']],
  ['uri-reference', [typebox.IsUriReference]],
  ['uri-template', [typebox.IsUriTemplate]],
  ['url', [isUrl, 'must be a URL']],
  ['uuid', [typebox.IsUuid, 'must be a UUID']],
]);

/** Formats for texts of any length, because they may contain a file. */
export const UNBOUNDED_FORMATS: ReadonlySet<string> = new Set(['binary', 'byte', 'password']);

/** The number formats, from OpenAPI. */
const NUMBER_FORMATS: ReadonlyMap<string, IsOfFormat<number>> = new Map<string, IsOfFormat<number>>([
  ['double', () => true],
  ['float', () => true],
  ['int32', (value) => Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31],
  ['int64', Number.isInteger],
]);

/** Returns the check for a format, or undefined for an unknown format. Values of another type pass. */
export function formatCheck(name: string): IsOfFormat<unknown> | undefined {
  const [isText] = TEXT_FORMATS.get(name) ?? [];
  if (isText !== undefined) return (value) => typeof value !== 'string' || isText(value);
  const isNumber = NUMBER_FORMATS.get(name);
  return isNumber && ((value) => typeof value !== 'number' || isNumber(value));
}

/** The dates and times of RFC 3339, with every month of 31 days. A list has many, so one expression checks them. */
const SENT: ReadonlyMap<string, RegExp> = new Map([
  ['date', /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/],
  [
    'date-time',
    /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/,
  ],
]);
/** Matches the years that ISO 8601 writes with a sign: before 0 and above 9999. */
const DISTANT_YEAR = /^[+-]\d{6}-\d{2}-\d{2}/;

/**
 * Returns the check for a format in a response. It accepts every date of RFC 3339, and dates before the year 0 and above
 * 9999, which databases can store and bodies cannot contain.
 */
export function responseFormatCheck(name: string): IsOfFormat<unknown> | undefined {
  const sent = SENT.get(name);
  if (sent === undefined) return formatCheck(name);
  return (value) => typeof value !== 'string' || (sent.test(value) ? isDayOfMonth(value) : DISTANT_YEAR.test(value));
}

/** Reports whether the month of a date has its day. */
function isDayOfMonth(date: string): boolean {
  const day = Number(date.slice(8, 10));
  return day <= 28 || day <= new Date(Date.UTC(Number(date.slice(0, 4)), Number(date.slice(5, 7)), 0)).getUTCDate();
}

/** Returns the error message of a format. */
export function formatMessage(name: string): string {
  return TEXT_FORMATS.get(name)?.[1] ?? `must be of the format ${name}`;
}

const PRIVATE_IPV4 = /^(?:0|10|127|22[4-9]|2[345]\d)\.|^169\.254\.|^192\.168\.|^172\.(?:1[6-9]|2\d|3[01])\./;
const PUBLIC_NAME = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})$/;

/** Reports whether a text is a public web address: http, https or ftp, with a domain or a public IPv4 address. */
function isUrl(text: string): boolean {
  if (!/^(?:https?|ftp):\/\/[^/\\]/i.test(text) || /[\s\\]/.test(text)) return false;
  const host = URL.parse(text)?.hostname ?? '';
  return typebox.IsIPv4(host) ? !PRIVATE_IPV4.test(host) : PUBLIC_NAME.test(host);
}

const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i;
const TIME = /^\d{2}:\d{2}(?::\d{2})?$/;

/** Reports whether a text is an existing day, `2026-02-28`, in a year that every database supports. */
export function isDate(text: string): boolean {
  return parseDate(text) !== undefined;
}

/** Reports whether a text is a time of day, `23:59:59`. The inputs of browsers send it without seconds, `23:59`. */
export function isTime(text: string): boolean {
  return TIME.test(text) && parseTime(text) !== undefined;
}

/** Reports whether `parseDateTime` accepts a text. */
export function isDateTime(text: string): boolean {
  return parseDateTime(text) !== undefined;
}

/**
 * Returns the moment of an RFC 3339 text, or undefined for another text. Programs write bodies, so the time with its
 * seconds is required, unlike in a query string. Digits after the millisecond are dropped,
 * because a Date has none.
 *
 * @example
 * parseDateTime('2026-02-28T12:00:00+01:00');   // 2026-02-28T11:00:00.000Z
 * parseDateTime('2026-02-30T12:00:00Z');        // undefined
 */
export function parseDateTime(text: string): Date | undefined {
  return DATE_TIME.test(text) ? parseLoosely(text) : undefined;
}

/** Reports whether a text has more code points than a limit. */
export function isLongerThan(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  // A code point has at most two units.
  if (text.length > limit * 2) return true;
  let count = 0;
  for (const _ of text) count += 1;
  return count > limit;
}
