import { writeFileSync } from 'node:fs';
import { forEachHeat, type Heat } from '../heat.ts';
import { measure, type Round, warmUp } from '../load.ts';
import type { Options } from '../options.ts';
import type { ServerName, ServerProcess } from '../server-process.ts';
import { rotated } from '../statistics.ts';
import { type CpuProfile, functionTimes, type FunctionTime } from './cpu-profile.ts';
import { profileReport } from './report.ts';

const DEFAULT_ROWS = [1_000];
const DEFAULT_SERVERS = ['raw', 'ours'] as const;
const SAMPLE_INTERVAL_MICROSECONDS = 100;

/** A server's profile of one workload. */
export interface ProfiledServer {
  readonly name: ServerName;
  readonly requests: number;
  readonly cpuMicroseconds: number;
  readonly functions: readonly FunctionTime[];
  /** Makes microseconds of the processor a request of the profiler's microseconds. */
  readonly scale: number;
}

/**
 * Profiles the servers, raw and ours unless told otherwise, and prints where their time goes, side by side. The profiles
 * themselves, for Chrome's DevTools, are left in `results/`.
 */
export async function profile(options: Options): Promise<void> {
  const { servers = DEFAULT_SERVERS, rows = DEFAULT_ROWS } = options;
  await forEachHeat({ ...options, servers, rows }, async (heat) => {
    const title = `${heat.database.kind}, ${heat.rows} rows: ${heat.workload.title}`;
    await heat.withServers(async (running) => {
      const profiled = await profileServers(running, heat, options);
      console.log(`\n## ${title}\n\n${profileReport(profiled)}`);
    });
  });
}

/** The servers take turns, so that what else the machine does meets them alike. */
async function profileServers(
  servers: readonly ServerProcess[],
  { workload, database, polls }: Heat,
  { connections, durationSeconds, warmUpSeconds, rounds }: Options,
): Promise<ProfiledServer[]> {
  await warmUp(servers, workload.requests, { connections, durationSeconds: warmUpSeconds, polls });
  const slices = new Map<ServerName, Slice[]>(servers.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const server of rotated(servers, round)) {
      await server.startProfile(SAMPLE_INTERVAL_MICROSECONDS);
      const measured = await measure(server, workload.requests, { connections, durationSeconds, polls });
      const cpuProfile = await server.stopProfile<CpuProfile>();
      slices.get(server.name)?.push({ round: measured, functions: functionTimes(cpuProfile) });
      writeFileSync(profileFile(`${database.kind}-${workload.name}-${server.name}`), JSON.stringify(cpuProfile));
    }
  }
  return servers.map(({ name }) => average(name, slices.get(name) ?? []));
}

interface Slice {
  readonly round: Round;
  readonly functions: readonly FunctionTime[];
}

/** Times a request, such that they add up to what the process took of the processor while it was profiled. */
function average(name: ServerName, slices: readonly Slice[]): ProfiledServer {
  const requests = slices.reduce((sum, { round }) => sum + round.requests, 0);
  const cpu = slices.reduce((sum, { round }) => sum + round.cpuMicrosecondsPerRequest * round.requests, 0) / requests;
  const functions = slices.flatMap((slice) => slice.functions);
  const sampled = functions.reduce((sum, { selfMicroseconds }) => sum + selfMicroseconds, 0) / requests;
  return { name, requests, cpuMicroseconds: cpu, functions, scale: cpu / sampled / requests };
}

function profileFile(name: string): URL {
  return new URL(`../results/${name}.cpuprofile`, import.meta.url);
}
