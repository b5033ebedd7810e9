const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = String.raw`(?<time>\d\d:\d\d:\d\d)`;

/** The three forms of RFC 9110, section 5.6.7: the usual one, and two obsolete ones that servers must read. */
const FORMS = [
  new RegExp(String.raw`^${DAY}, (?<day>\d\d) ${MONTH} (?<year>\d{4}) ${TIME} GMT$`),
  new RegExp(String.raw`^${LONG_DAY}, (?<day>\d\d)-${MONTH}-(?<year>\d\d) ${TIME} GMT$`),
  new RegExp(String.raw`^${DAY} ${MONTH} (?<day>[ \d]\d) ${TIME} (?<year>\d{4})$`),
];

/**
 * Reads a date of an HTTP header. Returns undefined for any other text, which a condition must ignore.
 *
 * @example
 * parseHttpDate('Sun, 06 Nov 1994 08:49:37 GMT');    // 784111777000
 * parseHttpDate('1994-11-06T08:49:37Z');             // undefined
 */
export function parseHttpDate(text: string): number | undefined {
  for (const form of FORMS) {
    const { day, month, year, time } = form.exec(text)?.groups ?? {};
    if (time === undefined) continue;
    const written = `${fullYear(year!)}-${twoDigits(MONTHS.indexOf(month!) + 1)}-${twoDigits(Number(day))}T${time}`;
    const moment = Date.parse(`${written}Z`);
    // Date.parse() reads February 30 as March 2.
    return Number.isNaN(moment) || !new Date(moment).toISOString().startsWith(written) ? undefined : moment;
  }
  return undefined;
}

/** Writes a moment as a date of an HTTP header, which has no parts of seconds. */
export function httpDate(moment: Date): string {
  return moment.toUTCString();
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

/** Completes a year of two digits: one that would be more than 50 years ahead is in the past century. */
function fullYear(year: string): string {
  if (year.length === 4) return year;
  const now = new Date().getUTCFullYear();
  const near = now - (now % 100) + Number(year);
  return String(near > now + 50 ? near - 100 : near);
}
