import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { missingServer, TEST_DATABASES, type TestDatabase } from '@viewset/testing';
import { fastify } from 'fastify';
import t, { type Test } from 'tap';
import { MIGRATIONS } from '../migrations/index.ts';
import { MIGRATIONS_TABLE } from '../src/database.ts';
import { migrateDatabase } from '../src/migrate-database.ts';
import { readSettings } from '../src/settings.ts';
import { freshDatabase, pastShop, queryDatabase } from './support/database.ts';
import type { Page } from './support/records.ts';
import { SECRET_KEY, type Variables } from './support/running-shop.ts';
import { ShopInside } from './support/shop-inside.ts';
import { ADMIN, openShop } from './support/shop.ts';

const MIGRATE = fileURLToPath(new URL('../src/migrate.ts', import.meta.url));
const PRODUCTION = { NODE_ENV: 'production', ADMIN_PASSWORD: ADMIN.password };
const skip = missingServer('postgresql');

/** Runs the command `migrate` without starting a process. */
async function migrate(databaseUrl: string, variables: Variables = {}): Promise<void> {
  const given = { SECRET_KEY, BCRYPT_ROUNDS: '4', DATABASE_URL: databaseUrl, ...variables };
  await migrateDatabase(readSettings(given), fastify().log);
}

/** Runs the command `migrate`, and returns its exit code and its output. */
async function runCommand(databaseUrl: string): Promise<{ code: number; output: string }> {
  const env = { PATH: process.env['PATH'], SECRET_KEY, BCRYPT_ROUNDS: '4', DATABASE_URL: databaseUrl };
  const child = spawn(process.execPath, [MIGRATE], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: Number(code), output: output + errors };
}

/** The statements that would change a database to the schema of the entities; empty if it has that schema. */
const missingStatements = (databaseUrl: string): Promise<string> =>
  pastShop(databaseUrl, (_em, orm) => orm.schema.getUpdateSchemaSQL({ wrap: false }));

async function executed(databaseUrl: string): Promise<string[]> {
  const rows = await queryDatabase<{ name: string }>(databaseUrl, `select name from ${MIGRATIONS_TABLE} order by id`);
  return rows.map(({ name }) => name);
}

const NAMES = MIGRATIONS.map(({ name }) => name);

t.test('in production too the first start on an empty database makes the schema', { skip }, async (t) => {
  const databaseUrl = await freshDatabase(t, 'postgresql');
  const shop = await openShop(t, { kind: 'postgresql', databaseUrl, variables: PRODUCTION });
  t.equal((await shop.get<Page<unknown>>('/api/products')).body.count, 50);
  t.same(await executed(databaseUrl), NAMES);
});

t.test('in production a start never migrates a database in use, and the command does', { skip }, async (t) => {
  const databaseUrl = await freshDatabase(t, 'postgresql');
  await migrate(databaseUrl, PRODUCTION);
  t.same(await executed(databaseUrl), NAMES);
  const shop = await openShop(t, { kind: 'postgresql', databaseUrl, variables: PRODUCTION });
  t.equal((await shop.get<Page<unknown>>('/api/products')).body.count, 50);
  await shop.login();
  await shop.process.stop();

  await migrate(databaseUrl, PRODUCTION);
  t.same(await executed(databaseUrl), NAMES, 'once more changes nothing');
  t.same(await queryDatabase(databaseUrl, 'select count(*)::int from account'), [{ count: 1 }]);

  await queryDatabase(databaseUrl, `delete from ${MIGRATIONS_TABLE} where name = '${NAMES.at(-1)}'`);
  await t.rejects(new ShopInside().start(t, { DATABASE_URL: databaseUrl, ...PRODUCTION }), {
    name: 'ImproperlyConfigured',
    message: new RegExp(`missing: ${NAMES.at(-1)}[^]*pnpm --filter @viewset/shop migrate`),
  });
});

t.test('concurrent migrations', { skip }, async (t) => {
  const databaseUrl = await freshDatabase(t, 'postgresql');
  const results = await Promise.all([1, 2, 3].map(() => runCommand(databaseUrl)));
  for (const { code, output } of results) t.equal(code, 0, output);
  t.same(await executed(databaseUrl), NAMES, 'each migration ran once');
  t.same(await queryDatabase(databaseUrl, 'select count(*)::int from product'), [{ count: 50 }]);
});

t.test('a migration that fails leaves nothing behind', { skip }, async (t) => {
  const databaseUrl = await freshDatabase(t, 'postgresql');
  await queryDatabase(databaseUrl, 'create table account (id int)');
  const { code } = await runCommand(databaseUrl);
  t.equal(code, 1);
  t.same(await executed(databaseUrl), []);
  t.same(await queryDatabase(databaseUrl, `select 1 from pg_tables where tablename in ('product', 'role')`), []);
});

t.test('every way to a schema ends at the schema of the entities', async (t) => {
  for (const kind of TEST_DATABASES.filter((each) => each !== 'mongodb')) {
    for (const [way, make] of Object.entries(waysTo(kind))) {
      await t.test(`${way} on ${kind}`, { skip: missingServer(kind) }, async (t) => {
        const databaseUrl = await freshDatabase(t, kind);
        await make(t, databaseUrl);
        t.equal(await missingStatements(databaseUrl), '', 'what stands here is what the next migration has to do');
      });
    }
  }
});

function waysTo(kind: TestDatabase): Record<string, (t: Test, databaseUrl: string) => Promise<unknown>> {
  return {
    'a first start': async (t, databaseUrl) => (await openShop(t, { kind, databaseUrl })).process.stop(),
    'the command': async (_, databaseUrl) => migrate(databaseUrl),
  };
}

t.test('on SQLite a start adds columns that an older file lacks, and keeps its data', async (t) => {
  const databaseUrl = await freshDatabase(t, 'sqlite');
  const first = await openShop(t, { kind: 'sqlite', databaseUrl });
  await first.process.stop();
  await queryDatabase(databaseUrl, 'update product set stock = 4711');
  await queryDatabase(databaseUrl, 'drop table session');
  const second = await openShop(t, { kind: 'sqlite', databaseUrl, variables: PRODUCTION });
  t.equal((await second.get<Page<{ stock: number }>>('/api/products')).body.results[0]?.stock, 4711);
  await second.login();
  await second.process.stop();
  t.equal(await missingStatements(databaseUrl), '');
});

/** The columns that the first version did not have. */
const LATER_TABLES = ['session', 'api_key', 'two_factor', 'identity', 'passkey'];
const LATER_INDEXES = ['account_name_index', 'product_name_index', 'product_price_index', 'product_stock_index'];

t.test('on PostgreSQL a migration adds what an older database lacks', { skip }, async (t) => {
  const databaseUrl = await freshDatabase(t, 'postgresql');
  await migrate(databaseUrl);
  for (const table of LATER_TABLES) await queryDatabase(databaseUrl, `drop table ${table}`);
  for (const index of LATER_INDEXES) await queryDatabase(databaseUrl, `drop index ${index}`);
  await queryDatabase(databaseUrl, `delete from ${MIGRATIONS_TABLE} where name <> '${NAMES[0]}'`);
  await migrate(databaseUrl, PRODUCTION);
  t.equal(await missingStatements(databaseUrl), '');
});

t.test('on SQLite a start in production creates the schema', async (t) => {
  const shop = await openShop(t, { kind: 'sqlite', variables: PRODUCTION });
  t.equal((await shop.get<Page<unknown>>('/api/products')).body.count, 50);
});

t.test('the names of migrations are unique and in order', async (t) => {
  t.same(NAMES, [...new Set(NAMES)].toSorted());
});
