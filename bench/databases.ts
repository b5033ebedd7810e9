import {
  type BenchDatabase,
  DATABASE_KINDS,
  DATABASE_TITLES,
  type DatabaseKind,
  type DatabaseServer,
  type TableSizes,
} from './data/database.ts';
import { createMongoDatabase, openMongoServer } from './data/mongo.ts';
import { createPostgresDatabase, openPostgresServer } from './data/postgres.ts';
import { createSqliteDatabase } from './data/sqlite.ts';

type ServerKind = Exclude<DatabaseKind, 'sqlite'>;

const OPEN = { postgresql: openPostgresServer, mongodb: openMongoServer } as const;
const VARIABLES = { postgresql: 'TEST_POSTGRES_URL', mongodb: 'TEST_MONGODB_URL' } as const;

/** Creates databases for one run, and removes them afterwards. */
export class Databases {
  readonly #made = new Set<BenchDatabase>();
  readonly #servers = new Map<ServerKind, DatabaseServer>();

  /** The given kinds; without any, every kind, but MongoDB only if it is available. */
  async kinds(named: readonly DatabaseKind[] | undefined): Promise<readonly DatabaseKind[]> {
    if (named !== undefined) return named;
    if ((await this.#open('mongodb')) !== undefined) return DATABASE_KINDS;
    console.error('MongoDB cannot be had here, and TEST_MONGODB_URL names none: nothing is measured on it');
    return DATABASE_KINDS.filter((kind) => kind !== 'mongodb');
  }

  async create(kind: DatabaseKind, sizes: TableSizes): Promise<BenchDatabase> {
    const database = await this.#create(kind, sizes);
    this.#made.add(database);
    return database;
  }

  /** Removes a database that is of no more use before the run ends. */
  async remove(database: BenchDatabase): Promise<void> {
    this.#made.delete(database);
    await database.remove();
  }

  async close(): Promise<void> {
    for (const database of this.#made) await database.remove();
    for (const server of this.#servers.values()) await server.stop();
  }

  async #create(kind: DatabaseKind, sizes: TableSizes): Promise<BenchDatabase> {
    if (kind === 'sqlite') return createSqliteDatabase(sizes);
    const server = await this.#open(kind);
    if (server === undefined) {
      throw new Error(`${DATABASE_TITLES[kind]} cannot be had, and ${VARIABLES[kind]} names no running one; see --db`);
    }
    return kind === 'mongodb' ? createMongoDatabase(server, sizes) : createPostgresDatabase(server, sizes);
  }

  async #open(kind: ServerKind): Promise<DatabaseServer | undefined> {
    const server = this.#servers.get(kind) ?? (await OPEN[kind]());
    if (server !== undefined) this.#servers.set(kind, server);
    return server;
  }
}
