import { tableTitle } from '../data/database.ts';
import { machineSentence } from '../machine.ts';
import { SERVER_NAMES, type ServerName } from '../server-process.ts';
import { quartiles } from '../statistics.ts';
import { type Cell, middleHalfText, table } from '../table.ts';
import type { Figure, InProcessCost } from './cost.ts';
import { type InProcessRun, SLICE_SECONDS } from './in-process.ts';

/** A run in Markdown: a table for each database and size of table. */
export function inProcessReport({ machine, settings, costs }: InProcessRun): string {
  const { rounds, durationSeconds, warmUpSeconds, connections } = settings;
  const groups = Map.groupBy(costs, ({ database, rows }) => tableTitle(database, rows));
  return [
    machineSentence(machine),
    `Medians of ${rounds} rounds with new processes: ${durationSeconds} s of the processor each, in alternating slices of ${SLICE_SECONDS * 1000} ms,`,
    `after ${warmUpSeconds} s of warm-up; ${connections} requests in flight.`,
    ...[...groups].map(([title, group]) => `\n### ${title}\n\n${costTable(group)}`),
  ].join('\n');
}

function costTable(costs: readonly InProcessCost[]): string {
  const names = SERVER_NAMES.filter((name) => costs.some(({ servers }) => servers[name] !== undefined));
  return table(
    ['CPU per request in process, µs', ...names, 'ours - raw', 'ours / raw', 'middle half of the rounds'],
    costs.map((cost) => [
      cost.title,
      ...names.map((name) => microseconds(costOf(cost, name))),
      microseconds(costOf(cost, 'ours') - costOf(cost, 'raw')),
      ...ratioCells(cost.oursToRaw),
    ]),
  );
}

/** NaN if the server did not run. */
function costOf({ servers }: InProcessCost, name: ServerName): number {
  return servers[name]?.median ?? NaN;
}

function microseconds(value: number): Cell {
  return Number.isNaN(value) ? '' : value.toFixed(2);
}

function ratioCells(ratio: Figure | null): Cell[] {
  if (ratio === null) return ['', ''];
  return [ratio.median.toFixed(3), middleHalfText(quartiles(ratio.rounds), 3)];
}
