import { forEachHeat, type Heat } from '../heat.ts';
import type { MachineFacts } from '../machine.ts';
import type { Options } from '../options.ts';
import type { ServerProcess } from '../server-process.ts';
import { rotated } from '../statistics.ts';
import { type InProcessCost, type RoundSlices, summarizeCost } from './cost.ts';

/** A run of `pnpm bench in-process`, as stored in `results/`. */
export interface InProcessRun {
  readonly machine: MachineFacts;
  readonly settings: Pick<Options, 'rounds' | 'durationSeconds' | 'warmUpSeconds' | 'connections'>;
  readonly costs: readonly InProcessCost[];
}

const DEFAULT_ROWS = [1_000];
const DEFAULT_SERVERS = ['raw', 'ours'] as const;
/** Long enough for V8's periodic work, short compared with the seconds for which a machine is slow. */
export const SLICE_SECONDS = 0.05;

/** The cost of a request in JavaScript: complete requests, passed to the servers' applications without a network. */
export async function inProcess(options: Options): Promise<InProcessRun> {
  const costs: InProcessCost[] = [];
  const { servers = DEFAULT_SERVERS, rows = DEFAULT_ROWS } = options;
  const machine = await forEachHeat({ ...options, servers, rows }, async (heat) => {
    const cost = await costOf(heat, options);
    costs.push(cost);
    console.log(oneLine(cost));
  });
  const { rounds, durationSeconds, warmUpSeconds, connections } = options;
  return { machine, settings: { rounds, durationSeconds, warmUpSeconds, connections }, costs };
}

/** New processes for every round: V8 compiles the same code differently from one process to the next. */
async function costOf(heat: Heat, options: Options): Promise<InProcessCost> {
  const { database, rows, workload, withServers } = heat;
  const rounds: RoundSlices[] = [];
  for (let round = 0; round < options.rounds; round++) {
    await withServers(async (servers) => {
      rounds.push(await measureRound(rotated(servers, round), heat, options));
    });
  }
  return summarizeCost(workload, database.kind, rows, rounds);
}

/** The servers take turns slice by slice: a machine is slow for seconds at a time, which affects all of them equally. */
async function measureRound(
  servers: readonly ServerProcess[],
  { database, workload: { requests } }: Heat,
  { connections, durationSeconds, warmUpSeconds }: Options,
): Promise<RoundSlices> {
  for (const server of servers) await server.loadInProcess(requests, { connections, cpuSeconds: warmUpSeconds });
  const measured = new Map(servers.map(({ name }) => [name, [] as number[]]));
  const slices = Math.ceil(durationSeconds / SLICE_SECONDS);
  for (let slice = 0; slice < slices; slice++) {
    for (const server of servers) {
      await database.clearDrafts();
      const cost = await server.loadInProcess(requests, { connections, cpuSeconds: SLICE_SECONDS });
      measured.get(server.name)?.push(cost);
    }
  }
  return measured;
}

function oneLine({ database, rows, workload, servers, oursToRaw }: InProcessCost): string {
  const costs = Object.entries(servers).map(([name, { median }]) => `${name} ${median.toFixed(2)}`);
  const rounds = oursToRaw?.rounds.map((ratio) => ratio.toFixed(3)).join(' ');
  const ratio = oursToRaw === null ? '' : `; ours/raw ${oursToRaw.median.toFixed(3)} (rounds: ${rounds})`;
  return `${database} ${rows} ${workload}: CPU µs/request in process ${costs.join(', ')}${ratio}`;
}
