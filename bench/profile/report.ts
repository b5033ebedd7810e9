import { table } from '../table.ts';
import type { ProfiledServer } from './profile.ts';

const MOST_FUNCTIONS = 50;
/** Less than this a request, in microseconds, is noise. */
const LEAST_MICROSECONDS = 0.05;

/** Where the time of each server goes, in microseconds a request: by module, and by function. */
export function profileReport(servers: readonly ProfiledServer[]): string {
  const names = servers.map(({ name }) => name);
  const head = [...names, 'more'];
  const modules = rowsOf(servers, (entry) => entry.module, 'selfMicroseconds', Infinity);
  const self = rowsOf(servers, (entry) => entry.key, 'selfMicroseconds', MOST_FUNCTIONS);
  const total = rowsOf(servers, isOurs, 'totalMicroseconds', MOST_FUNCTIONS);
  const costs = servers.map(({ name, cpuMicroseconds }) => `${name} ${cpuMicroseconds.toFixed(1)}`);
  return [
    `CPU while profiled, µs/request: ${costs.join(', ')}`,
    table(['self time by module, µs/request', ...head], modules),
    table(['self time by function, µs/request', ...head], self),
    table(['time with what it calls, functions of the repository, µs/request', ...head], total),
  ].join('\n\n');
}

type Entry = ProfiledServer['functions'][number];

function isOurs({ module, key }: Entry): string | undefined {
  return /^(core|auth|bench)\b/.test(module) ? key : undefined;
}

/** A row for each key, the servers' times beside each other, the greatest surplus of the last over the first on top. */
function rowsOf(
  servers: readonly ProfiledServer[],
  keyOf: (entry: Entry) => string | undefined,
  time: 'selfMicroseconds' | 'totalMicroseconds',
  most: number,
): string[][] {
  const times = new Map<string, number[]>();
  for (const [column, { functions, scale }] of servers.entries()) {
    for (const entry of functions) {
      const key = keyOf(entry);
      if (key === undefined || entry.key === '(root)') continue;
      const row = times.get(key) ?? servers.map(() => 0);
      row[column]! += entry[time] * scale;
      times.set(key, row);
    }
  }
  return [...times]
    .map(([key, row]) => ({ key, row, more: row.at(-1)! - (servers.length > 1 ? row[0]! : 0) }))
    .filter(({ row }) => row.some((value) => value >= LEAST_MICROSECONDS))
    .toSorted((a, b) => Math.abs(b.more) - Math.abs(a.more))
    .slice(0, most)
    .toSorted((a, b) => b.more - a.more)
    .map(({ key, row, more }) => [key].concat([...row, more].map((value) => value.toFixed(2))));
}
