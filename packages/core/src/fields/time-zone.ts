import { getOrMake } from '../support/get-or-make.ts';
import { nearest } from '../errors/nearest.ts';

/** A change of the clocks of a time zone. */
export interface OffsetChange {
  /** The first moment of the offset, in milliseconds since 1970. */
  readonly fromMs: number;
  /** What local clocks are ahead of UTC, in milliseconds. */
  readonly offsetMs: number;
}

/** Intl also knows abbreviations, such as CST, which databases understand differently. */
const NAME = /^(?:UTC|[A-Za-z_]+(?:\/[A-Za-z0-9_+-]+)+)$/;

/**
 * The present names of zones that Intl calls by former names. Databases may lack the former names, because some systems
 * ship them in a package of their own.
 */
const PRESENT_NAMES: Readonly<Record<string, string>> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Catamarca': 'America/Argentina/Catamarca',
  'America/Coral_Harbour': 'America/Atikokan',
  'America/Cordoba': 'America/Argentina/Cordoba',
  'America/Godthab': 'America/Nuuk',
  'America/Indianapolis': 'America/Indiana/Indianapolis',
  'America/Jujuy': 'America/Argentina/Jujuy',
  'America/Louisville': 'America/Kentucky/Louisville',
  'America/Mendoza': 'America/Argentina/Mendoza',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
};

/**
 * Returns the name of an IANA time zone as databases spell it; undefined for any other value.
 *
 * @example
 * timeZoneName('europe/berlin'); // 'Europe/Berlin'
 * timeZoneName('Asia/Calcutta'); // 'Asia/Kolkata'
 */
export function timeZoneName(value: unknown): string | undefined {
  if (typeof value !== 'string' || !NAME.test(value)) return undefined;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions();
    return PRESENT_NAMES[timeZone] ?? timeZone;
  } catch {
    return undefined;
  }
}

/** The first local day, which is the one of times that are still in the year 0 in their zone. */
export const FIRST_LOCAL_DAY = '0001-01-01';
/** The last local day, which is the one of times that are in the year 10000 already. `9999-12-31T23:59:59Z` means "for ever". */
export const LAST_LOCAL_DAY = '9999-12-31';

/** Finds the time zone that a misspelt name most likely means. */
export function nearestTimeZone(name: string): string | undefined {
  return nearest(name, ['UTC', ...Intl.supportedValuesOf('timeZone')]);
}

const FIRST_MS = Date.UTC(1900, 0, 1);
const LAST_MS = Date.UTC(2101, 0, 1);
/** No zone has changed its clocks twice within a week. */
const STEP_MS = 7 * 24 * 60 * 60 * 1000;

const known = new Map<string, readonly OffsetChange[]>();

/**
 * Lists the offsets of a time zone in the years 1900 to 2100, in order. For a database without time zones. It takes
 * about 50 ms the first time.
 *
 * @param zone a result of `timeZoneName`
 */
export function offsetChanges(zone: string): readonly OffsetChange[] {
  return getOrMake(known, zone, () => findChanges(offsetReader(zone)));
}

function findChanges(offsetAt: (timeMs: number) => number): readonly OffsetChange[] {
  const changes = [{ fromMs: -Infinity, offsetMs: offsetAt(FIRST_MS) }];
  for (let timeMs = FIRST_MS + STEP_MS; timeMs <= LAST_MS; timeMs += STEP_MS) {
    const offsetMs = offsetAt(timeMs);
    if (offsetMs === changes.at(-1)!.offsetMs) continue;
    let [before, after] = [timeMs - STEP_MS, timeMs];
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (offsetAt(middle) === offsetMs) after = middle;
      else before = middle;
    }
    changes.push({ fromMs: after, offsetMs });
  }
  return changes;
}

function offsetReader(timeZone: string): (timeMs: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (timeMs) => {
    const secondMs = Math.floor(timeMs / 1000) * 1000;
    const parts = new Map(format.formatToParts(secondMs).map(({ type, value }) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name)!;
    const localMs = Date.UTC(
      part('year'),
      part('month') - 1,
      part('day'),
      part('hour'),
      part('minute'),
      part('second'),
    );
    return localMs - secondMs;
  };
}
