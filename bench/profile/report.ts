import { table } from '../table.ts';
import type { ProfiledServer } from './profile.ts';

const MOST_FUNCTIONS = 50;

/** The unit of the counts. */
export interface Counted {
  readonly title: string;
  readonly self: string;
  readonly total: string;
  readonly unit: string;
  /** Less than this a request is noise. */
  readonly least: number;
  readonly digits: number;
}

export const CPU_TIME: Counted = {
  title: 'CPU while profiled',
  self: 'self time',
  total: 'time with what it calls',
  unit: 'µs/request',
  least: 0.05,
  digits: 2,
};
export const ALLOCATED: Counted = {
  title: 'Allocated',
  self: 'allocated',
  total: 'allocated with what it calls',
  unit: 'bytes/request',
  least: 1,
  digits: 0,
};

/** The cost of a request on each server: by module, and by function. */
export function profileReport(servers: readonly ProfiledServer[], counted: Counted): string {
  const { title, self, total, unit, digits } = counted;
  const names = servers.map(({ name }) => name);
  const head = [...names, 'more'];
  const modules = rowsOf(servers, (entry) => entry.module, 'self', counted, Infinity);
  const byFunction = rowsOf(servers, (entry) => entry.key, 'self', counted);
  const withCalls = rowsOf(servers, isOurs, 'total', counted);
  const costs = servers.map(({ name, cost }) => `${name} ${cost.toFixed(digits)}`);
  return [
    `${title}, ${unit}: ${costs.join(', ')}`,
    table([`${self} by module, ${unit}`, ...head], modules),
    table([`${self} by function, ${unit}`, ...head], byFunction),
    table([`${total}, functions of the repository, ${unit}`, ...head], withCalls),
  ].join('\n\n');
}

type Entry = ProfiledServer['functions'][number];

function isOurs({ module, key }: Entry): string | undefined {
  return /^(core|auth|bench)\b/.test(module) ? key : undefined;
}

/** A row for each key, with the times of the servers side by side, sorted by the surplus of the last server over the first. */
function rowsOf(
  servers: readonly ProfiledServer[],
  keyOf: (entry: Entry) => string | undefined,
  cost: 'self' | 'total',
  { least, digits }: Counted,
  most = MOST_FUNCTIONS,
): string[][] {
  const costs = new Map<string, number[]>();
  for (const [column, { functions, scale }] of servers.entries()) {
    for (const entry of functions) {
      const key = keyOf(entry);
      if (key === undefined || entry.key === '(root)') continue;
      const row = costs.get(key) ?? servers.map(() => 0);
      row[column]! += entry[cost] * scale;
      costs.set(key, row);
    }
  }
  return [...costs]
    .map(([key, row]) => ({ key, row, more: row.at(-1)! - (servers.length > 1 ? row[0]! : 0) }))
    .filter(({ row }) => row.some((value) => value >= least))
    .toSorted((a, b) => Math.abs(b.more) - Math.abs(a.more))
    .slice(0, most)
    .toSorted((a, b) => b.more - a.more)
    .map(({ key, row, more }) => [key].concat([...row, more].map((value) => value.toFixed(digits))));
}
