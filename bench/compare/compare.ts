import { forEachHeat, type Heat } from '../arena.ts';
import { measure, type Round, warmUp } from '../load.ts';
import type { Options } from '../options.ts';
import { SERVER_NAMES, type ServerName, type ServerProcess } from '../server-process.ts';
import { rotated } from '../statistics.ts';
import { type Comparison, type ComparisonRun, summarize } from './comparison.ts';

const DEFAULT_ROWS = [1_000, 100_000];

/** Floor, raw, hand and ours side by side: every workload, on every database and size of table. */
export async function compare(options: Options): Promise<ComparisonRun> {
  const comparisons: Comparison[] = [];
  const { servers = SERVER_NAMES, rows = DEFAULT_ROWS } = options;
  const machine = await forEachHeat({ ...options, servers, rows }, async (heat) => {
    const comparison = await compareOne(heat, options);
    comparisons.push(comparison);
    console.log(oneLine(comparison));
  });
  const { rounds, durationSeconds, warmUpSeconds, connections } = options;
  return { machine, settings: { rounds, durationSeconds, warmUpSeconds, connections }, comparisons };
}

/** V8 compiles the same code differently from one process to the next: after so many rounds come new ones. */
export const ROUNDS_A_PROCESS = 5;

async function compareOne(heat: Heat, options: Options): Promise<Comparison> {
  const { database, rows, workload, ownCores: polls, withServers } = heat;
  const { connections, warmUpSeconds } = options;
  const measured = new Map<ServerName, Round[]>();
  for (let from = 0; from < options.rounds; from += ROUNDS_A_PROCESS) {
    const until = Math.min(from + ROUNDS_A_PROCESS, options.rounds);
    await withServers(async (servers) => {
      await warmUp(servers, workload.requests, { connections, durationSeconds: warmUpSeconds, polls });
      for (let round = from; round < until; round++) {
        await measureRound(rotated(servers, round), heat, options, measured);
      }
    });
  }
  return summarize(workload, database.kind, rows, measured);
}

async function measureRound(
  servers: readonly ServerProcess[],
  { database, workload, ownCores: polls }: Heat,
  { connections, durationSeconds }: Options,
  measured: Map<ServerName, Round[]>,
): Promise<void> {
  for (const server of servers) {
    await database.clearDrafts();
    const round = await measure(server, workload.requests, { connections, durationSeconds, polls });
    measured.set(server.name, [...(measured.get(server.name) ?? []), round]);
  }
}

function oneLine({ database, rows, workload, servers, ratios }: Comparison): string {
  const costs = Object.entries(servers).map(([name, { cpuMicroseconds }]) => `${name} ${cpuMicroseconds.toFixed(1)}`);
  const { cpuOursToRaw, rateOursToHand } = ratios;
  const cpu = cpuOursToRaw === null ? '' : `; ours/raw ${cpuOursToRaw.toFixed(3)}`;
  const rate = rateOursToHand === null ? '' : `; requests/s ours/hand ${rateOursToHand.toFixed(2)}`;
  return `${database} ${rows} ${workload}: CPU µs/request ${costs.join(', ')}${cpu}${rate}`;
}
