import type { EntityMetadata } from '@mikro-orm/core';
import { newValues } from './mongo-documents.ts';
import type { Document, MongoDriver } from './mongo-driver.ts';

/** The collection that has the last key of each collection whose keys are numbers. */
const COUNTERS = 'viewset_counters';

/** An acknowledged count outlives the server that has counted: no key comes twice. */
const MAJORITY = { writeConcern: { w: 'majority' } } as const;

/** True if the keys of an entity are whole numbers that the database is to count. */
export function hasCountedKey(meta: EntityMetadata): boolean {
  const [pk] = meta.getPrimaryProps();
  return pk?.autoincrement === true && pk.fieldNames[0] === '_id';
}

/** Makes documents of the values of new records, by the names of properties. */
export async function newDocuments(
  driver: MongoDriver,
  meta: EntityMetadata,
  rows: readonly Document[],
): Promise<Document[]> {
  const documents = rows.map((row) => newValues(driver.getPlatform(), meta, row));
  if (hasCountedKey(meta)) await countKeys(driver, meta, documents);
  return documents;
}

/**
 * Gives each new document without a key the next number: outside of any transaction, so that writers do not wait for each
 * other. A transaction that is rolled back, or a crash, leaves a gap. A key that the application has chosen is never given again.
 *
 * @param rows values by the names of properties
 */
async function countKeys(driver: MongoDriver, meta: EntityMetadata, rows: readonly Document[]): Promise<void> {
  const [pk] = meta.getPrimaryProps();
  const name = pk!.name;
  const isChosen = (row: Document): boolean => row[name] !== undefined && row[name] !== null;
  const missing = rows.filter((row) => !isChosen(row));
  const chosen = rows.filter(isChosen).map((row) => BigInt(row[name] as string | number | bigint));
  const greatest = chosen.reduce((one, other) => (other > one ? other : one), 0n);
  if (chosen.length > 0) await count(driver, meta, { $max: { last: greatest } });
  if (missing.length === 0) return;
  const last = await count(driver, meta, { $inc: { last: missing.length } });
  const isBig = pk!.customType?.convertToDatabaseValue(1, driver.getPlatform()) === 1n;
  for (const [index, row] of missing.entries()) {
    const key = last - BigInt(missing.length - 1 - index);
    row[name] = isBig ? key : Number(key);
  }
}

async function count(driver: MongoDriver, { root }: EntityMetadata, update: Document): Promise<bigint> {
  const counters = driver.getConnection('write').getCollection(COUNTERS);
  const options = { upsert: true, returnDocument: 'after', ...MAJORITY };
  const counter = await counters.findOneAndUpdate({ _id: root.collection }, update, options);
  // A Long, if a number cannot hold it.
  return BigInt(String(counter!['last']));
}

/** Has the counter of a collection go with it: its keys begin anew. */
export function dropCounters(driver: MongoDriver): void {
  const connection = driver.getConnection('write');
  const drop = connection.dropCollection.bind(connection);
  connection.dropCollection = async (entity) => {
    const { root } = driver.getMetadata().get(entity);
    await connection.getCollection(COUNTERS).deleteMany({ _id: root.collection }, MAJORITY);
    return drop(entity);
  };
}
