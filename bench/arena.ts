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

/** One size of table on one database, on which servers can be started. */
export interface Arena {
  readonly database: BenchDatabase;
  readonly rows: number;
  readonly workloads: readonly Workload[];
  /** Starts the servers, each in a new process, and stops them when `use` is done. */
  readonly withServers: (use: (servers: readonly ServerProcess[]) => Promise<void>) => Promise<void>;
}

/** The servers side by side in an arena, all of which gave the same answers to one workload. */
export interface Heat extends Pick<Arena, 'database' | 'rows'> {
  readonly servers: readonly ServerProcess[];
  readonly workload: Workload;
}

export interface ArenaOptions extends Pick<Options, 'databases' | 'only'> {
  readonly rows: readonly number[];
  readonly servers: readonly ServerName[];
}

/** Runs `visit` on every database and size of table that the options name, one after the other. */
export async function forEachArena(
  options: ArenaOptions,
  visit: (arena: Arena) => Promise<void>,
): Promise<MachineFacts> {
  const cores = divideCores();
  const letSleep = keepAwake(cores);
  const databases = new Databases();
  const versions = new Set<string>();
  try {
    for (const kind of options.databases) {
      for (const rows of options.rows) {
        const database = await databases.create(kind, { products: rows, accounts: rows });
        versions.add(database.version);
        await visit(arenaOn(database, rows, cores, options));
      }
    }
  } finally {
    letSleep?.();
    await databases.close();
  }
  return machineFacts([...versions], cores, letSleep !== undefined);
}

/** Runs `visit` for every workload in every arena; the servers are started once in each. */
export async function forEachHeat(options: ArenaOptions, visit: (heat: Heat) => Promise<void>): Promise<MachineFacts> {
  return forEachArena(options, ({ database, rows, workloads: all, withServers }) =>
    withServers(async (servers) => {
      for (const workload of all) {
        await compareAnswers(servers, workload, database);
        await visit({ database, rows, servers, workload });
      }
    }),
  );
}

function arenaOn(database: BenchDatabase, rows: number, cores: Cores, { servers: names, only }: ArenaOptions): Arena {
  const { kind, location } = database;
  const secret = randomBytes(32).toString('hex');
  return {
    database,
    rows,
    workloads: workloads(rows, secret).filter(({ name }) => only.includes(name)),
    withServers: async (use) => {
      const servers: ServerProcess[] = [];
      try {
        for (const name of names) servers.push(await ServerProcess.start(name, { kind, location, secret }, cores));
        await use(servers);
      } finally {
        await Promise.all(servers.map((server) => server.stop()));
      }
    },
  };
}
