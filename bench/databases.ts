import type { BenchDatabase, DatabaseKind, TableSizes } from './data/database.ts';
import { createPostgresDatabase, openPostgresServer, type PostgresServer } from './data/postgres.ts';
import { createSqliteDatabase } from './data/sqlite.ts';

/** Makes databases for one run, and removes what is left of them after it. */
export class Databases {
  readonly #made: BenchDatabase[] = [];
  #server: PostgresServer | undefined;

  async create(kind: DatabaseKind, sizes: TableSizes): Promise<BenchDatabase> {
    const database =
      kind === 'sqlite'
        ? await createSqliteDatabase(sizes)
        : await createPostgresDatabase(await this.#postgres(), sizes);
    this.#made.push(database);
    return database;
  }

  async close(): Promise<void> {
    for (const database of this.#made) await database.remove();
    await this.#server?.stop();
  }

  async #postgres(): Promise<PostgresServer> {
    this.#server ??= await openPostgresServer();
    if (this.#server === undefined) {
      throw new Error('PostgreSQL is not installed, and TEST_POSTGRES_URL names no running one; see --db sqlite');
    }
    return this.#server;
  }
}
