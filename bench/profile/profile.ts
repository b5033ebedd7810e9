import { writeFileSync } from 'node:fs';
import { forEachHeat, type Heat } from '../heat.ts';
import type { Options } from '../options.ts';
import type { ServerName, ServerProcess } from '../server-process.ts';
import { type CpuProfile, functionTimes } from './cpu-profile.ts';
import type { FunctionCost } from './function-costs.ts';
import { functionAllocations, type HeapProfile } from './heap-profile.ts';
import { ALLOCATED, CPU_TIME, type Counted, profileReport } from './report.ts';

const DEFAULT_ROWS = [1_000];
const DEFAULT_SERVERS = ['raw', 'ours'] as const;
const SAMPLE_INTERVAL_MICROSECONDS = 100;
const SAMPLE_INTERVAL_BYTES = 4096;

/** A server's profile of one workload. */
export interface ProfiledServer {
  readonly name: ServerName;
  /** The cost of a request. */
  readonly cost: number;
  readonly functions: readonly FunctionCost[];
  /** Computes the cost of a request from the counts of the profiler. */
  readonly scale: number;
}

/** Profiles a server for as long as `load` runs, which resolves with the microseconds that a request took. */
type Profile = (server: ServerProcess, load: () => Promise<number>, file: URL) => Promise<Omit<ProfiledServer, 'name'>>;

/**
 * Prints the time of the servers by function, side by side; by default of raw and ours. The profiles for Chrome's DevTools are stored in
 * `results/`.
 */
export function profile(options: Options): Promise<void> {
  return profileServers(options, CPU_TIME, async (server, load, file) => {
    await server.startProfile(SAMPLE_INTERVAL_MICROSECONDS);
    const cost = await load();
    const cpuProfile = await server.stopProfile<CpuProfile>();
    writeFileSync(file, JSON.stringify(cpuProfile));
    const functions = functionTimes(cpuProfile);
    return { cost, functions, scale: cost / sumOf(functions) };
  });
}

/** Prints the allocations of the servers. Other load on the machine does not change them. */
export function allocations(options: Options): Promise<void> {
  const { durationSeconds } = options;
  return profileServers(options, ALLOCATED, async (server, load) => {
    await server.startAllocations(SAMPLE_INTERVAL_BYTES);
    const requests = (durationSeconds * 1e6) / (await load());
    const functions = functionAllocations(await server.stopAllocations<HeapProfile>());
    return { cost: sumOf(functions) / requests, functions, scale: 1 / requests };
  });
}

/** Gives the requests to the servers without a network, as `in-process` does. */
async function profileServers(options: Options, counted: Counted, profileServer: Profile): Promise<void> {
  const { servers = DEFAULT_SERVERS, rows = DEFAULT_ROWS } = options;
  await forEachHeat({ ...options, servers, rows }, async (heat) => {
    await heat.withServers(async (running) => {
      const profiled: ProfiledServer[] = [];
      for (const server of running) {
        const load = await warmUp(server, heat, options);
        const file = profileFile(`${heat.database.kind}-${heat.workload.name}-${server.name}`);
        profiled.push({ name: server.name, ...(await profileServer(server, load, file)) });
      }
      const title = `${heat.database.kind}, ${heat.rows} rows: ${heat.workload.title}`;
      console.log(`\n## ${title}\n\n${profileReport(profiled, counted)}`);
    });
  });
}

async function warmUp(
  server: ServerProcess,
  { workload: { requests }, database }: Heat,
  { connections, durationSeconds, warmUpSeconds }: Options,
): Promise<() => Promise<number>> {
  const load = (cpuSeconds: number): Promise<number> => server.loadInProcess(requests, { connections, cpuSeconds });
  await load(warmUpSeconds);
  await database.clearDrafts();
  return () => load(durationSeconds);
}

function sumOf(functions: readonly FunctionCost[]): number {
  return functions.reduce((sum, { self }) => sum + self, 0);
}

function profileFile(name: string): URL {
  return new URL(`../results/${name}.cpuprofile`, import.meta.url);
}
