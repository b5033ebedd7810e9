import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { startPostgres } from '../../scripts/servers.ts';
import { batches, type BenchDatabase, type DatabaseServer, UNUSABLE_PASSWORD, type TableSizes } from './database.ts';
import { openOrm } from './open-orm.ts';
import { accountRow, CHILDREN, LABELS, labelsOf, lineRow, productRow, ROLES } from './rows.ts';

/** The server of TEST_POSTGRES_URL, or one started on loopback; undefined if PostgreSQL is not installed. */
export async function openPostgresServer(): Promise<DatabaseServer | undefined> {
  const url = process.env['TEST_POSTGRES_URL'];
  if (url !== undefined && url !== '') return { url, stop: async () => {} };
  return startPostgres();
}

/** A separate database on the server. */
export async function createPostgresDatabase(server: DatabaseServer, sizes: TableSizes): Promise<BenchDatabase> {
  const name = `viewset_bench_${randomBytes(6).toString('hex')}`;
  await run(server.url, (client) => client.query(`create database "${name}"`));
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  const location = url.href;
  const orm = await openOrm('postgresql', location);
  await orm.schema.create();
  await orm.close();
  const version = await run(location, async (client) => {
    await seed(client, sizes);
    const { rows } = await client.query<{ server_version: string }>('show server_version');
    return rows[0]?.server_version ?? '';
  });
  return {
    kind: 'postgresql',
    location,
    version: `PostgreSQL ${version.split(' ')[0]}`,
    clearDrafts: async () => {
      await run(location, (client) => client.query('truncate draft restart identity'));
    },
    remove: async () => {
      await run(server.url, (client) => client.query(`drop database if exists "${name}" with (force)`));
    },
  };
}

async function seed(client: Client, { products, accounts, baskets }: TableSizes): Promise<void> {
  await client.query('insert into role (name) select * from unnest($1::text[])', [ROLES]);
  for (const ids of batches(products)) {
    const rows = ids.map(productRow);
    await client.query(
      'insert into product (name, price, stock) select * from unnest($1::text[], $2::numeric[], $3::int[])',
      columns(rows, 3),
    );
  }
  for (const ids of batches(accounts)) {
    const rows = ids.map(accountRow);
    await client.query(
      `insert into account (name, email, role_id, is_active, password, created_at)
       select *, '${UNUSABLE_PASSWORD}', timestamptz '2025-01-01Z'
       from unnest($1::text[], $2::text[], $3::int[], $4::bool[])`,
      columns(rows, 4),
    );
  }
  await seedBaskets(client, baskets);
  await client.query('vacuum analyze');
}

async function seedBaskets(client: Client, baskets: number): Promise<void> {
  await client.query(`insert into label (name) select 'Label ' || id from generate_series(1, ${LABELS}) id`);
  await client.query(`insert into basket (name) select 'Basket ' || id from generate_series(1, ${baskets}) id`);
  for (const ids of batches(baskets * CHILDREN)) {
    const rows = ids.map((id) => lineRow(id, baskets));
    await client.query(
      'insert into line (name, amount, basket_id) select * from unnest($1::text[], $2::int[], $3::int[])',
      columns(rows, 3),
    );
  }
  for (const ids of batches(baskets)) {
    const rows = ids.flatMap((id) => labelsOf(id).map((label) => [id, label]));
    await client.query(
      'insert into basket_labels (basket_id, label_id) select * from unnest($1::int[], $2::int[])',
      columns(rows, 2),
    );
  }
}

function columns(rows: readonly (readonly unknown[])[], width: number): unknown[][] {
  return Array.from({ length: width }, (_, column) => rows.map((row) => row[column]));
}

async function run<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
