import Sqlite from 'better-sqlite3';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BenchDatabase, UNUSABLE_PASSWORD, type TableSizes } from './database.ts';
import { openOrm } from './open-orm.ts';
import { accountRow, CHILDREN, LABELS, labelsOf, lineRow, productRow, ROLES } from './rows.ts';

/** A SQLite file in write-ahead mode, in a temporary folder. */
export async function createSqliteDatabase(sizes: TableSizes): Promise<BenchDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'viewset-bench-'));
  const location = join(folder, 'bench.sqlite');
  const orm = await openOrm('sqlite', location);
  await orm.schema.create();
  await orm.close();
  const database = new Sqlite(location);
  database.pragma('journal_mode = wal');
  seed(database, sizes);
  const version = database.prepare<[], string>('select sqlite_version()').pluck().get() ?? '';
  return {
    kind: 'sqlite',
    location,
    version: `SQLite ${version}`,
    clearDrafts: async () => {
      database.exec(`delete from draft; delete from sqlite_sequence where name = 'draft'`);
    },
    remove: async () => {
      database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function seed(database: Sqlite.Database, { products, accounts, baskets }: TableSizes): void {
  const insertRole = database.prepare('insert into role (name) values (?)');
  const insertProduct = database.prepare('insert into product (name, price, stock) values (?, ?, ?)');
  const insertAccount = database.prepare(
    `insert into account (name, email, role_id, is_active, password, created_at)
     values (?, ?, ?, ?, '${UNUSABLE_PASSWORD}', ${Date.UTC(2025, 0, 1)})`,
  );
  const insertBasket = database.prepare('insert into basket (name) values (?)');
  const insertLine = database.prepare('insert into line (name, amount, basket_id) values (?, ?, ?)');
  const insertLabel = database.prepare('insert into label (name) values (?)');
  const tie = database.prepare('insert into basket_labels (basket_id, label_id) values (?, ?)');
  database.transaction(() => {
    for (const role of ROLES) insertRole.run(role);
    for (let id = 1; id <= products; id++) insertProduct.run(...productRow(id));
    for (let id = 1; id <= accounts; id++) {
      const [name, email, role, isActive] = accountRow(id);
      insertAccount.run(name, email, role, Number(isActive));
    }
    for (let id = 1; id <= LABELS; id++) insertLabel.run(`Label ${id}`);
    for (let id = 1; id <= baskets; id++) insertBasket.run(`Basket ${id}`);
    for (let id = 1; id <= baskets * CHILDREN; id++) insertLine.run(...lineRow(id, baskets));
    for (let id = 1; id <= baskets; id++) for (const label of labelsOf(id)) tie.run(id, label);
  })();
  database.exec('analyze');
  database.pragma('wal_checkpoint(truncate)');
}
