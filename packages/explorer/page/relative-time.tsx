import type { JSX } from 'preact';

const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** A time as people say it, such as `5 minutes ago`, with the exact one for whoever points at it. */
export function RelativeTime({ time }: { readonly time: string }): JSX.Element {
  const date = new Date(time);
  return (
    <time dateTime={time} title={date.toLocaleString()}>
      {relative(date)}
    </time>
  );
}

function relative(date: Date): string {
  const seconds = (date.getTime() - Date.now()) / 1000;
  const words = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: 'auto' });
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? (['second', 1] as const);
  // The clocks of two machines differ by a little.
  return words.format(unit === 'second' ? 0 : Math.round(seconds / size), unit);
}
