import type { EntityMetadata } from '@mikro-orm/core';
import type { Document, MongoDriver } from './mongo-driver.ts';

/** The collection that stores the last key of each collection with numeric keys. */
const COUNTERS = 'viewset_counters';

/** A majority-acknowledged count survives the loss of a server, so no key is used twice. */
const MAJORITY = { writeConcern: { w: 'majority' } } as const;

/** True if an entity's keys are integers that the database should count. */
export function hasCountedKey(meta: EntityMetadata): boolean {
  const [pk] = meta.getPrimaryProps();
  return pk?.autoincrement === true && pk.fieldNames[0] === '_id';
}

/**
 * Gives each new record without a key the next number, if the entity has counted keys. It counts outside of
 * transactions, so that writers do not wait for each other. A rollback or a crash leaves a gap. A key that the
 * application has chosen is never assigned again.
 *
 * @param rows values by property name; the key is added to them
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
 * The counter of one collection. This process sends one counting command at a time, for all callers that wait. Separate
 * commands would conflict on the counter's document and wait for each other.
 */
class Counter {
  readonly #add: (amount: number) => Promise<bigint>;
  #waiting: Taker[] = [];
  #isCounting = false;

  /** @param add adds to the counter, and resolves with the last number */
  constructor(add: (amount: number) => Promise<bigint>) {
    this.#add = add;
  }

  /** Reserves consecutive numbers, in the order of the calls. Resolves with the last one. */
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
  // The driver returns a Long if the value exceeds a number.
  return BigInt(String(counter!['last']));
}

/** Deletes a collection's counter with the collection, so that its keys start again. */
export function dropCounters(driver: MongoDriver): void {
  const connection = driver.getConnection('write');
  const drop = connection.dropCollection.bind(connection);
  connection.dropCollection = async (entity) => {
    const { root } = driver.getMetadata().get(entity);
    await connection.getCollection(COUNTERS).deleteMany({ _id: root.collection }, MAJORITY);
    return drop(entity);
  };
}
