import { forEachHeat, type Heat } from '../arena.ts';
import { measure, type Round } from '../load.ts';
import type { Options } from '../options.ts';
import { SERVER_NAMES, type ServerName } from '../server-process.ts';
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

async function compareOne({ servers, workload, database, rows }: Heat, options: Options): Promise<Comparison> {
  const { connections, durationSeconds, warmUpSeconds } = options;
  for (const server of servers) {
    await measure(server, workload.requests, { connections, durationSeconds: warmUpSeconds });
  }
  const measured = new Map<ServerName, Round[]>(servers.map(({ name }) => [name, []]));
  for (let round = 0; round < options.rounds; round++) {
    for (const server of rotated(servers, round)) {
      await database.clearDrafts();
      measured.get(server.name)?.push(await measure(server, workload.requests, { connections, durationSeconds }));
    }
  }
  return summarize(workload, database.kind, rows, measured);
}

function oneLine({ database, rows, workload, servers, ratios }: Comparison): string {
  const costs = Object.entries(servers).map(([name, { cpuMicroseconds }]) => `${name} ${cpuMicroseconds.toFixed(1)}`);
  const { cpuOursToRaw, rateOursToHand } = ratios;
  const cpu = cpuOursToRaw === null ? '' : `; ours/raw ${cpuOursToRaw.toFixed(3)}`;
  const rate = rateOursToHand === null ? '' : `; requests/s ours/hand ${rateOursToHand.toFixed(2)}`;
  return `${database} ${rows} ${workload}: CPU µs/request ${costs.join(', ')}${cpu}${rate}`;
}
