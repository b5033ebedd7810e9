/** Compiles what `mikro/` says of the drivers against their published types: what an interface names is public there. */
import type { LibSqlConnection as OrmLibSqlConnection } from '@mikro-orm/libsql';
import type {
  SqlEntityManager as OrmEntityManager,
  PostgreSqlConnection,
  PostgreSqlPlatform,
  DatabaseSchema,
  DatabaseTable,
  SqlSchemaGenerator,
} from '@mikro-orm/postgresql';
import type { SqliteConnection as OrmSqliteConnection } from '@mikro-orm/sqlite';
import t from 'tap';
import type { CancellableClient } from '../../src/mikro/cancel-statement.ts';
import type { SchemaTable, TableGenerator, TableSchema, TableSchemaClass } from '../../src/mikro/column-differences.ts';
import type { KyselyTransaction } from '../../src/mikro/endable-transaction.ts';
import type { RunningTransaction } from '../../src/mikro/ended-transaction.ts';
import type { PooledClient, WatchedPool } from '../../src/mikro/lost-connections.ts';
import type { TextualPlatform } from '../../src/mikro/platform.ts';
import type { PgClient, PgPool, PgQuery, SqlConnection } from '../../src/mikro/postgresql-pool.ts';
import type { SqlEntityManager } from '../../src/mikro/query-builder.ts';
import type { SqliteConnection, SqliteDatabase } from '../../src/mikro/sqlite-database.ts';

type Pool = Awaited<ReturnType<PostgreSqlConnection['getNativeClient']>>;
type Client = Pool extends { connect(): Promise<infer Client>; connect(callback: never): void } ? Client : never;
type Transaction = Awaited<ReturnType<PostgreSqlConnection['begin']>>;
type Database = Awaited<ReturnType<OrmSqliteConnection['getNativeClient']>>;
type LibSqlDatabase = Awaited<ReturnType<OrmLibSqlConnection['getNativeClient']>>;

/** The names of an interface of ours that a published type lacks; any type lacks all. */
type Missing<Ours, Published> = 0 extends 1 & Published ? keyof Ours : Exclude<keyof Ours, keyof Published>;

const pool = (published: Pool): PgPool => published;
const watched = (published: Pool): WatchedPool => published;
const pooled = (published: Client): PooledClient => published;
const client = (published: Client): Pick<PgClient, 'query' | 'host' | 'port'> => published;
const connection = (published: PostgreSqlConnection): SqlConnection => published;
const transaction = (published: Transaction): KyselyTransaction => published;
const running = (published: Transaction): RunningTransaction => published;
const platform = (published: PostgreSqlPlatform): TextualPlatform => published;
const manager = (published: OrmEntityManager): SqlEntityManager => published;
const sqlite = (published: OrmSqliteConnection): SqliteConnection => published;
const database = (published: Database): SqliteDatabase => published;
const libSql = (published: OrmLibSqlConnection): SqliteConnection => published;
const generator = (published: SqlSchemaGenerator): TableGenerator => published;
const tables = (published: DatabaseSchema): TableSchema => published;
const table = (published: DatabaseTable): SchemaTable => published;
const tableClass = (published: Pick<typeof DatabaseSchema, 'create'>): TableSchemaClass => published;
const query = (ours: PgQuery): Parameters<Client['query']>[0] => ours as never;

const missing: [
  Missing<PgPool, Pool>,
  Missing<WatchedPool, Pool>,
  Missing<PooledClient, Client>,
  Missing<SqlConnection, PostgreSqlConnection>,
  Missing<KyselyTransaction, Transaction>,
  Missing<RunningTransaction, Transaction>,
  Missing<SqliteDatabase, Database>,
  Missing<TableSchemaClass, typeof DatabaseSchema>,
  Missing<SqliteDatabase, LibSqlDatabase>,
][number][] = [];

/** What pg's types lack is in the list of `mikro/README.md`. */
const secret: Record<Missing<CancellableClient, Client>, true> = { processID: true, secretKey: true };

t.test('the types of the drivers have every member that mikro/ uses, but for two of pg', async (t) => {
  const fitting = [
    pool,
    watched,
    pooled,
    client,
    connection,
    transaction,
    running,
    platform,
    manager,
    sqlite,
    database,
    libSql,
    generator,
    tables,
    table,
    tableClass,
    query,
  ];
  t.ok(fitting.every((fits) => typeof fits === 'function'));
  t.strictSame(missing, []);
  t.strictSame(Object.keys(secret), ['processID', 'secretKey']);
});
