import { randomBytes } from 'node:crypto';
import { keepAwake } from './awake-cores.ts';
import { type Cores, divideCores } from './cores.ts';
import type { BenchDatabase } from './data/database.ts';
import { Databases } from './databases.ts';
import { compareAnswers } from './equality.ts';
import { type MachineFacts, machineFacts } from './machine.ts';
import type { Options } from './options.ts';
import { type ServerName, ServerProcess } from './server-process.ts';
import { type Workload, workloads } from './workloads.ts';

/** One workload on one size of table on one database. */
export interface Heat {
  readonly database: BenchDatabase;
  readonly rows: number;
  readonly workload: Workload;
  /** Whether the load generator may poll: it has cores to itself, on which a database server would be too. See `load.ts`. */
  readonly polls: boolean;
  /** Starts the servers, each in a new process, checks that all return the same responses, and stops them when `use` is done. */
  readonly withServers: (use: (servers: readonly ServerProcess[]) => Promise<void>) => Promise<void>;
}

export interface HeatOptions extends Pick<Options, 'databases' | 'only'> {
  readonly rows: readonly number[];
  readonly servers: readonly ServerName[];
}

/** Runs `visit` for every workload on every database and size of table that the options name, one after the other. */
export async function forEachHeat(options: HeatOptions, visit: (heat: Heat) => Promise<void>): Promise<MachineFacts> {
  const cores = divideCores();
  const letSleep = keepAwake(cores);
  const databases = new Databases();
  const versions = new Set<string>();
  try {
    const kinds = await databases.kinds(options.databases);
    const tables = kinds.flatMap((kind) => options.rows.map((rows) => ({ kind, rows })));
    for (const { kind, rows } of tables) {
      const database = await databases.create(kind, { products: rows, accounts: rows, baskets: Math.ceil(rows / 10) });
      versions.add(database.version);
      for (const heat of heatsOn(database, rows, cores, options)) await visit(heat);
    }
  } finally {
    letSleep?.();
    await databases.close();
  }
  return machineFacts([...versions], cores, letSleep !== undefined);
}

function heatsOn(database: BenchDatabase, rows: number, cores: Cores, { servers: names, only }: HeatOptions): Heat[] {
  const { kind, location } = database;
  const secret = randomBytes(32).toString('hex');
  const chosen = workloads(kind, rows, secret).filter(({ name }) => only.includes(name));
  return chosen.map((workload) => ({
    database,
    rows,
    workload,
    polls: kind === 'sqlite' && cores.load !== undefined,
    withServers: async (use) => {
      const servers: ServerProcess[] = [];
      try {
        for (const name of names) servers.push(await ServerProcess.start(name, { kind, location, secret }, cores));
        await compareAnswers(servers, workload, database);
        await use(servers);
      } finally {
        await Promise.all(servers.map((server) => server.stop()));
      }
    },
  }));
}
