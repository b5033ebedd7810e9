import { randomBytes } from 'node:crypto';
import { type Db, Decimal128, type Document, MongoClient } from 'mongodb';
import { startMongo } from '../../scripts/servers.ts';
import { batches, type BenchDatabase, type DatabaseServer, UNUSABLE_PASSWORD, type TableSizes } from './database.ts';
import { openOrm } from './open-orm.ts';
import { accountRow, CHILDREN, LABELS, labelsOf, lineRow, productRow, ROLES } from './rows.ts';

/** The collection in which keys are counted: `MongoExtension` names it so. */
export const COUNTERS = 'viewset_counters';

/** The server of TEST_MONGODB_URL, or one started on loopback; undefined if MongoDB is not available. */
export async function openMongoServer(): Promise<DatabaseServer | undefined> {
  const url = process.env['TEST_MONGODB_URL'];
  if (url !== undefined && url !== '') return { url, stop: async () => {} };
  return startMongo();
}

/** A separate database on the server. */
export async function createMongoDatabase(server: DatabaseServer, sizes: TableSizes): Promise<BenchDatabase> {
  const url = new URL(server.url);
  url.pathname = `/viewset_bench_${randomBytes(6).toString('hex')}`;
  const location = url.href;
  const orm = await openOrm('mongodb', location);
  await orm.schema.create();
  await orm.close();
  const client = await MongoClient.connect(location);
  const database = client.db();
  await seed(database, sizes);
  const { version } = await database.command({ buildInfo: 1 });
  return {
    kind: 'mongodb',
    location,
    version: `MongoDB ${version}`,
    clearDrafts: async () => {
      await database.collection('draft').deleteMany({});
      await database.collection<{ _id: string }>(COUNTERS).deleteOne({ _id: 'draft' });
    },
    remove: async () => {
      await database.dropDatabase();
      await client.close();
    },
  };
}

/** Keys are set here, so that only keys of drafts are counted. */
async function seed(database: Db, { products, accounts, baskets }: TableSizes): Promise<void> {
  await insert(database, 'role', ROLES.length, (id) => ({ name: ROLES[id - 1] }));
  await insert(database, 'product', products, (id) => {
    const [name, price, stock] = productRow(id);
    return { name, price: Decimal128.fromString(price), stock };
  });
  await insert(database, 'account', accounts, (id) => {
    const [name, email, role, isActive] = accountRow(id);
    const created = new Date(Date.UTC(2025, 0, 1));
    return { name, email, role, is_active: isActive, password: UNUSABLE_PASSWORD, created_at: created };
  });
  await insert(database, 'label', LABELS, (id) => ({ name: `Label ${id}` }));
  await insert(database, 'basket', baskets, (id) => ({ name: `Basket ${id}`, labels: labelsOf(id) }));
  await insert(database, 'line', baskets * CHILDREN, (id) => {
    const [name, amount, basket] = lineRow(id, baskets);
    return { name, amount, basket };
  });
}

async function insert(
  database: Db,
  collection: string,
  count: number,
  documentOf: (id: number) => Document,
): Promise<void> {
  for (const ids of batches(count)) {
    const documents = ids.map((id) => ({ _id: id, ...documentOf(id) }));
    await database.collection<{ _id: number }>(collection).insertMany(documents);
  }
}
