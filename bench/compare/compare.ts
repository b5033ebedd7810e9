import { divideCores } from '../cores.ts';
import { randomBytes } from 'node:crypto';
import type { BenchDatabase } from '../data/database.ts';
import { Databases } from '../databases.ts';
import { compareAnswers } from '../equality.ts';
import { measure, type Round } from '../load.ts';
import { machineFacts } from '../machine.ts';
import type { Options } from '../options.ts';
import { ServerProcess, type ServerName } from '../server-process.ts';
import { rotated } from '../statistics.ts';
import { type Workload, workloads } from '../workloads.ts';
import { type Comparison, type ComparisonRun, summarize } from './comparison.ts';

const DEFAULT_ROWS = [1_000, 100_000];
/** Part of a round's duration that every server is loaded for, unmeasured, before a workload's first round. */
const WARM_UP = 0.5;

/** Floor, raw, hand and ours side by side: every workload, on every database and size of table. */
export async function compare(options: Options): Promise<ComparisonRun> {
  const cores = divideCores();
  const databases = new Databases();
  const comparisons: Comparison[] = [];
  const versions = new Set<string>();
  const secret = randomBytes(32).toString('hex');
  try {
    for (const kind of options.databases) {
      for (const rows of options.rows ?? DEFAULT_ROWS) {
        const database = await databases.create(kind, { products: rows, accounts: rows });
        versions.add(database.version);
        const servers: ServerProcess[] = [];
        try {
          for (const name of options.servers) {
            servers.push(await ServerProcess.start(name, { kind, location: database.location, secret }, cores));
          }
          for (const workload of workloads(rows, secret)) {
            if (!options.only.includes(workload.name)) continue;
            const comparison = await compareOne(servers, workload, database, rows, options);
            comparisons.push(comparison);
            console.log(oneLine(comparison));
          }
        } finally {
          await Promise.all(servers.map((server) => server.stop()));
        }
      }
    }
  } finally {
    await databases.close();
  }
  const { rounds, durationSeconds, connections } = options;
  return {
    machine: machineFacts([...versions], cores),
    settings: { rounds, durationSeconds, connections },
    comparisons,
  };
}

async function compareOne(
  servers: readonly ServerProcess[],
  workload: Workload,
  database: BenchDatabase,
  rows: number,
  options: Options,
): Promise<Comparison> {
  await compareAnswers(servers, workload, database);
  const load = { connections: options.connections, durationSeconds: options.durationSeconds };
  for (const server of servers) {
    await measure(server, workload.requests, { ...load, durationSeconds: load.durationSeconds * WARM_UP });
  }
  const measured = new Map<ServerName, Round[]>(servers.map(({ name }) => [name, []]));
  for (let round = 0; round < options.rounds; round++) {
    for (const server of rotated(servers, round)) {
      await database.clearDrafts();
      measured.get(server.name)?.push(await measure(server, workload.requests, load));
    }
  }
  return summarize(workload, database.kind, rows, measured);
}

function oneLine({ database, rows, workload, servers, ratios }: Comparison): string {
  const costs = Object.entries(servers).map(([name, { cpuMicroseconds }]) => `${name} ${cpuMicroseconds.toFixed(1)}`);
  const { cpuOursToRaw, rateOursToHand } = ratios;
  const verdict = cpuOursToRaw === null ? '' : `  ours/raw ${cpuOursToRaw.toFixed(3)}`;
  const rate = rateOursToHand === null ? '' : `  rate ours/hand ${rateOursToHand.toFixed(2)}`;
  return `${database} ${rows} ${workload}: CPU µs/request ${costs.join(', ')}${verdict}${rate}`;
}
