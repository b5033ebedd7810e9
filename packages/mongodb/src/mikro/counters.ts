import type { EntityMetadata } from '@mikro-orm/core';
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

/**
 * Gives each new record without a key the next number, if the keys of the entity are counted: outside of any transaction, so that writers
 * do not wait for each other. A transaction that is rolled back, or a crash, leaves a gap. A key that the application has chosen is never
 * given again.
 *
 * @param rows values by the names of properties, which the key is added to
 */
export async function countKeys(driver: MongoDriver, meta: EntityMetadata, rows: readonly Document[]): Promise<void> {
  if (!hasCountedKey(meta)) return;
  const [pk] = meta.getPrimaryProps();
  const name = pk!.name;
  const isChosen = (row: Document): boolean => row[name] !== undefined && row[name] !== null;
  const missing = rows.filter((row) => !isChosen(row));
  const chosen = rows.filter(isChosen).map((row) => BigInt(row[name] as string | number | bigint));
  const greatest = chosen.reduce((one, other) => (other > one ? other : one), 0n);
  if (chosen.length > 0) await count(driver, meta, { $max: { last: greatest } });
  if (missing.length === 0) return;
  const last = await counterOf(driver, meta).take(missing.length);
  const isBig = pk!.customType?.convertToDatabaseValue(1, driver.getPlatform()) === 1n;
  for (const [index, row] of missing.entries()) {
    const key = last - BigInt(missing.length - 1 - index);
    row[name] = isBig ? key : Number(key);
  }
}

interface Taker {
  readonly amount: number;
  resolve(this: void, last: bigint): void;
  reject(this: void, error: unknown): void;
}

/**
 * The counter of one collection. One command of this process counts at a time, for all who wait by then: they would meet in the one
 * document of the counter, and each wait for those before.
 */
class Counter {
  readonly #add: (amount: number) => Promise<bigint>;
  #waiting: Taker[] = [];
  #isCounting = false;

  /** @param add counts on, and resolves with the last number */
  constructor(add: (amount: number) => Promise<bigint>) {
    this.#add = add;
  }

  /** Takes so many numbers, which follow each other, in the order of the calls. Resolves with the last of them. */
  take(amount: number): Promise<bigint> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ amount, resolve, reject });
      if (!this.#isCounting) void this.#serve();
    });
  }

  async #serve(): Promise<void> {
    this.#isCounting = true;
    while (this.#waiting.length > 0) {
      const served = this.#waiting;
      this.#waiting = [];
      const sum = served.reduce((total, { amount }) => total + amount, 0);
      try {
        let last = (await this.#add(sum)) - BigInt(sum);
        for (const { amount, resolve } of served) resolve((last += BigInt(amount)));
      } catch (error) {
        for (const { reject } of served) reject(error);
      }
    }
    this.#isCounting = false;
  }
}

const counters = new WeakMap<MongoDriver, Map<string, Counter>>();

function counterOf(driver: MongoDriver, meta: EntityMetadata): Counter {
  let known = counters.get(driver);
  if (known === undefined) counters.set(driver, (known = new Map<string, Counter>()));
  const { collection } = meta.root;
  let counter = known.get(collection);
  if (counter === undefined) {
    counter = new Counter((amount) => count(driver, meta, { $inc: { last: amount } }));
    known.set(collection, counter);
  }
  return counter;
}

async function count(driver: MongoDriver, { root }: EntityMetadata, update: Document): Promise<bigint> {
  const collection = driver.getConnection('write').getCollection(COUNTERS);
  const options = { upsert: true, returnDocument: 'after', ...MAJORITY };
  const counter = await collection.findOneAndUpdate({ _id: root.collection }, update, options);
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
