import { tableTitle } from '../data/database.ts';
import { WARM_UP_TIMES } from '../load.ts';
import { machineSentence } from '../machine.ts';
import { SERVER_NAMES, type ServerName } from '../server-process.ts';
import type { Quartiles } from '../statistics.ts';
import { type Cell, middleHalfText, table } from '../table.ts';
import type { Comparison, ComparisonRun } from './comparison.ts';

/** A run in Markdown: a table for each database and size of table. */
export function comparisonReport({ machine, settings, comparisons }: ComparisonRun): string {
  const { rounds, roundsAProcess, durationSeconds, warmUpSeconds, connections } = settings;
  const groups = Map.groupBy(comparisons, ({ database, rows }) => tableTitle(database, rows));
  const sections = [...groups].map(([title, group]) => `### ${title}\n\n${costTable(group)}\n\n${rateTable(group)}`);
  return [
    machineSentence(machine),
    `Medians of ${rounds} alternating rounds of ${durationSeconds} s, in new processes after every ${roundsAProcess}, each warmed up for ${warmUpSeconds} s (hand for ${warmUpSeconds * WARM_UP_TIMES.hand} s); ${connections} connections.`,
    '',
    sections.join('\n\n'),
  ].join('\n');
}

function costTable(comparisons: readonly Comparison[]): string {
  const names = namesIn(comparisons);
  const head = ['CPU per request, µs', ...names, 'ours / raw', 'promised', 'middle half of the rounds'];
  return table(
    head,
    comparisons.map(({ title, rows, servers, ratios, target }) => [
      title,
      ...names.map((name) => figure(servers[name]?.cpuMicroseconds.median, 0)),
      cellOf(ratios.cpuOursToRaw, (ratio) => ratio <= target.cpuToRaw, rows),
      rows === PROMISED_ROWS ? `≤ ${target.cpuToRaw.toFixed(2)}` : '',
      middleHalfText(ratios.cpuOursToRaw, 2),
    ]),
  );
}

function rateTable(comparisons: readonly Comparison[]): string {
  const names = namesIn(comparisons);
  const head = ['requests/s (latency p50 / p99, ms)', ...names, 'ours / hand', 'promised'];
  return table(
    head,
    comparisons.map(({ title, rows, servers, ratios, target }) => [
      title,
      ...names.map((name) => {
        const server = servers[name];
        if (server === undefined) return '';
        const { p50, p99 } = server.latencyMs;
        return `${thousands(Math.round(server.requestsPerSecond.median))} (${p50} / ${p99})`;
      }),
      cellOf(ratios.rateOursToHand, (ratio) => ratio >= target.rateToHand, rows),
      rows === PROMISED_ROWS ? `≥ ${target.rateToHand}` : '',
    ]),
  );
}

/** The servers that ran. */
function namesIn(comparisons: readonly Comparison[]): readonly ServerName[] {
  return SERVER_NAMES.filter((name) => comparisons.some(({ servers }) => servers[name] !== undefined));
}

/** The size of table that the targets are about. */
const PROMISED_ROWS = 1_000;

/** Bold if it reaches its target, in italics if it does not. */
function cellOf(ratio: Quartiles | null, isKept: (ratio: number) => boolean, rows: number): Cell {
  if (ratio === null) return '';
  const text = ratio.median.toFixed(2);
  if (rows !== PROMISED_ROWS) return text;
  return isKept(ratio.median) ? `**${text}**` : `*${text}*`;
}

function figure(value: number | undefined, digits: number): Cell {
  return value === undefined ? '' : value.toFixed(digits);
}

function thousands(value: number): string {
  return value.toLocaleString('en-US');
}
