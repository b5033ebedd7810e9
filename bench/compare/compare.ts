import { forEachHeat, type Heat } from '../heat.ts';
import { measure, type Round, warmUp } from '../load.ts';
import type { Options } from '../options.ts';
import type { ServerName, ServerProcess } from '../server-process.ts';
import { rotated } from '../statistics.ts';
import { type Comparison, type ComparisonRun, type MeasuredRound, summarize } from './comparison.ts';

const DEFAULT_ROWS = [1_000, 100_000];
const DEFAULT_SERVERS = ['floor', 'raw', 'hand', 'ours'] as const;

/** Floor, raw, hand and ours side by side: every workload, on every database and size of table. */
export async function compare(options: Options): Promise<ComparisonRun> {
  const comparisons: Comparison[] = [];
  const { servers = DEFAULT_SERVERS, rows = DEFAULT_ROWS } = options;
  const machine = await forEachHeat({ ...options, servers, rows }, async (heat) => {
    const comparison = await compareOne(heat, options);
    comparisons.push(comparison);
    console.log(oneLine(comparison));
  });
  const { rounds, durationSeconds, warmUpSeconds, connections } = options;
  return {
    machine,
    settings: { rounds, roundsAProcess: ROUNDS_A_PROCESS, durationSeconds, warmUpSeconds, connections },
    comparisons,
  };
}

/** V8 compiles the same code differently from one process to the next: after so many rounds come new ones. */
const ROUNDS_A_PROCESS = 5;

async function compareOne(heat: Heat, options: Options): Promise<Comparison> {
  const { database, rows, workload, polls, withServers } = heat;
  const { connections, warmUpSeconds } = options;
  const measured: MeasuredRound[] = [];
  while (measured.length < options.rounds) {
    const until = Math.min(measured.length + ROUNDS_A_PROCESS, options.rounds);
    await withServers(async (servers) => {
      await warmUp(servers, workload.requests, { connections, durationSeconds: warmUpSeconds, polls });
      while (measured.length < until) {
        measured.push(await measureRound(rotated(servers, measured.length), heat, options));
      }
    });
  }
  return summarize(workload, database.kind, rows, measured);
}

async function measureRound(
  servers: readonly ServerProcess[],
  { database, workload, polls }: Heat,
  { connections, durationSeconds }: Options,
): Promise<MeasuredRound> {
  const measured = new Map<ServerName, Round>();
  for (const server of servers) {
    await database.clearDrafts();
    measured.set(server.name, await measure(server, workload.requests, { connections, durationSeconds, polls }));
  }
  return measured;
}

function oneLine({ database, rows, workload, servers, ratios }: Comparison): string {
  const costs = Object.entries(servers).map(
    ([name, { cpuMicroseconds }]) => `${name} ${cpuMicroseconds.median.toFixed(1)}`,
  );
  const { cpuOursToRaw, rateOursToHand } = ratios;
  const cpu = cpuOursToRaw === null ? '' : `; ours/raw ${cpuOursToRaw.median.toFixed(3)}`;
  const rate = rateOursToHand === null ? '' : `; requests/s ours/hand ${rateOursToHand.median.toFixed(2)}`;
  return `${database} ${rows} ${workload}: CPU µs/request ${costs.join(', ')}${cpu}${rate}`;
}
