import { randomBytes } from 'node:crypto';
import { keepAwake } from './awake-cores.ts';
import { type Cores, divideCores } from './cores.ts';
import type { BenchDatabase, DatabaseKind } from './data/database.ts';
import { Databases } from './databases.ts';
import { compareAnswers } from './equality.ts';
import { type MachineFacts, machineFacts } from './machine.ts';
import type { Options } from './options.ts';
import { type ServerName, ServerProcess } from './server-process.ts';
import { type Workload, workloads } from './workloads.ts';

/** The servers side by side on one database, all of which gave the same answers to one workload. */
export interface Heat {
  readonly database: BenchDatabase;
  readonly rows: number;
  readonly servers: readonly ServerProcess[];
  readonly workload: Workload;
}

export interface ArenaOptions extends Pick<Options, 'databases' | 'only'> {
  readonly rows: readonly number[];
  readonly servers: readonly ServerName[];
}

/** Runs `visit` for every workload on every database and size of table that the options name, one after the other. */
export async function forEachHeat(options: ArenaOptions, visit: (heat: Heat) => Promise<void>): Promise<MachineFacts> {
  const cores = divideCores();
  const letSleep = keepAwake(cores);
  const databases = new Databases();
  const versions = new Set<string>();
  try {
    for (const kind of options.databases) {
      for (const rows of options.rows) {
        const database = await databases.create(kind, { products: rows, accounts: rows });
        versions.add(database.version);
        await heatsOn(database, rows, cores, options, visit);
      }
    }
  } finally {
    letSleep?.();
    await databases.close();
  }
  return machineFacts([...versions], cores, letSleep !== undefined);
}

async function heatsOn(
  database: BenchDatabase,
  rows: number,
  cores: Cores,
  options: ArenaOptions,
  visit: (heat: Heat) => Promise<void>,
): Promise<void> {
  const secret = randomBytes(32).toString('hex');
  const servers: ServerProcess[] = [];
  try {
    for (const name of options.servers) servers.push(await startServer(name, database, secret, cores));
    for (const workload of workloads(rows, secret)) {
      if (!options.only.includes(workload.name)) continue;
      await compareAnswers(servers, workload, database);
      await visit({ database, rows, servers, workload });
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

function startServer(
  name: ServerName,
  { kind, location }: { kind: DatabaseKind; location: string },
  secret: string,
  cores: Cores,
): Promise<ServerProcess> {
  return ServerProcess.start(name, { kind, location, secret }, cores);
}
