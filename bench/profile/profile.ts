import { writeFileSync } from 'node:fs';
import { forEachHeat } from '../arena.ts';
import type { DatabaseKind } from '../data/database.ts';
import { measure } from '../load.ts';
import type { Options } from '../options.ts';
import { SERVER_NAMES, type ServerName, type ServerProcess } from '../server-process.ts';
import type { Workload } from '../workloads.ts';
import { type CpuProfile, functionTimes, type FunctionTime } from './cpu-profile.ts';
import { profileReport } from './report.ts';

const DEFAULT_ROWS = [1_000];
const DEFAULT_SERVERS = ['raw', 'ours'] as const;
const SAMPLE_INTERVAL_MICROSECONDS = 100;

/** A server's profile of one workload. */
export interface ProfiledServer {
  readonly name: ServerName;
  readonly requests: number;
  readonly functions: readonly FunctionTime[];
}

/**
 * Profiles the servers, raw and ours unless told otherwise, and prints where their time goes, side by side. The profiles
 * themselves, for Chrome's DevTools, are left in `results/`.
 */
export async function profile(options: Options): Promise<void> {
  const servers = options.servers === SERVER_NAMES ? DEFAULT_SERVERS : options.servers;
  await forEachHeat({ ...options, servers, rows: options.rows ?? DEFAULT_ROWS }, async (heat) => {
    const { database, rows, workload } = heat;
    const profiled: ProfiledServer[] = [];
    for (const server of heat.servers) profiled.push(await profileOne(server, workload, database.kind, options));
    console.log(`\n## ${database.kind}, ${rows} rows: ${workload.title}\n\n${profileReport(profiled)}`);
  });
}

async function profileOne(
  server: ServerProcess,
  { name, requests }: Workload,
  database: DatabaseKind,
  { connections, durationSeconds }: Options,
): Promise<ProfiledServer> {
  await measure(server, requests, { connections, durationSeconds });
  await server.startProfile(SAMPLE_INTERVAL_MICROSECONDS);
  const round = await measure(server, requests, { connections, durationSeconds });
  const cpuProfile = await server.stopProfile<CpuProfile>();
  const file = new URL(`../results/${database}-${name}-${server.name}.cpuprofile`, import.meta.url);
  writeFileSync(file, JSON.stringify(cpuProfile));
  return { name: server.name, requests: round.requests, functions: functionTimes(cpuProfile) };
}
