import type { EntityManager, EntityMetadata, MetadataStorage, MikroORM } from '@mikro-orm/core';
import { isRecord } from '../json.ts';
import { changedValues, completeValues, isLeftOut, newDocument } from './mongo-documents.ts';
import { convertLostConnections, namingKeys } from './mongo-errors.ts';
import { countKeys, dropCounters, hasCountedKey } from './mongo-counters.ts';
import {
  type Document,
  type MongoConnection,
  type MongoDriver,
  mongoDriverOf,
  type MongoSession,
  type WriteOptions,
} from './mongo-driver.ts';
import { inLine, lineOf } from './mongo-line.ts';
import { nameKeyColumn, storeExactly } from './mongo-metadata.ts';
import {
  isReferredTo,
  LOCKING,
  lockReferences,
  namesOthers,
  releaseReferences,
  storedKey,
} from './mongo-references.ts';
import { inSession, settleCommits, waitingForOthers } from './mongo-session.ts';

const extended = new WeakSet<object>();

/**
 * Has MikroORM keep on MongoDB the promises of entities that SQL databases keep by their schema. Give it to every ORM on MongoDB; on
 * other databases it does nothing.
 *
 * - Keys: the column of a primary key is `_id`, whatever the property is called. Whole numbers are counted, outside of transactions:
 *   one that is rolled back leaves a gap.
 * - References: a record that one refers to must exist, and is kept from being deleted, set to NULL or deleted along (`deleteRule`),
 *   within the same transaction. Not so a reference with `createForeignKeyConstraint: false`. An ORM without transactions
 *   (`disableTransactions`) writes no reference that is to be kept: ImproperlyConfigured.
 * - Unique fields may be NULL any number of times.
 * - A flush is a transaction (`implicitTransactions`).
 *
 * @example
 * import { MikroORM } from '@mikro-orm/mongodb';
 *
 * const orm = await MikroORM.init({
 *   clientUrl: 'mongodb://localhost/shop?replicaSet=rs0',
 *   entities: [Product],
 *   extensions: [MongoExtension],
 * });
 * await orm.schema.update();   // collections and indexes
 */
export const MongoExtension: { readonly register: (orm: MikroORM) => void } = Object.freeze({
  register(orm: MikroORM): void {
    const driver = mongoDriverOf(orm);
    if (driver === undefined || extended.has(driver)) return;
    extended.add(driver);
    const { onMetadata, afterDiscovered, ...others } = orm.config.get('discovery');
    orm.config.set('discovery', {
      ...others,
      onMetadata: (meta, platform) => {
        nameKeyColumn(meta);
        return onMetadata?.(meta, platform);
      },
      afterDiscovered: (entities, platform) => {
        storeExactly(entities, platform);
        leaveNullsOut(entities);
        return afterDiscovered?.(entities, platform);
      },
    });
    orm.config.set('implicitTransactions', true);
    convertLostConnections(driver.getPlatform());
    extendDriver(driver);
    dropCounters(driver);
    for (const purpose of ['read', 'write'] as const) readEveryKey(driver.getConnection(purpose));
    askForCommits(driver.getConnection('write'));
  },
});

/** True if the ORM of an entity manager was made with the extension. */
export function isExtended(em: EntityManager): boolean {
  return extended.has(em.getDriver());
}

/**
 * Has the client of a connection read lists under every key: it looks the keys up whose values it leaves as bytes, and finds
 * `constructor` in an object that has a prototype.
 */
function readEveryKey(connection: MongoConnection): void {
  const createClient = connection.createClient.bind(connection);
  connection.createClient = () => {
    createClient();
    Object.setPrototypeOf(connection.getClient().bsonOptions.fieldsAsRaw, null);
  };
}

/** Has every transaction that begins on a connection ask for its commit until it knows the outcome. */
function askForCommits(connection: MongoConnection): void {
  const begin = connection.begin.bind(connection);
  connection.begin = async (options) => {
    const session = await begin(options);
    if (options?.ctx === undefined) settleCommits(session);
    return session;
  };
}

/** Has the indexes of several fields forget documents that lack one: MikroORM does so for one field. */
function leaveNullsOut(entities: MetadataStorage): void {
  for (const meta of entities) {
    for (const unique of meta.uniques) {
      if (unique.properties === undefined || unique.where !== undefined) continue;
      const nullable = [unique.properties].flat().flatMap((name) => {
        const property = meta.properties[name as never];
        return property !== undefined && isLeftOut(meta, property) ? property.fieldNames : [];
      });
      if (nullable.length > 0) unique.where = Object.fromEntries(nullable.map((field) => [field, { $exists: true }]));
    }
  }
}

/** Puts what MongoDB does not do by itself around the methods of MikroORM's driver that write: the unit of work calls them too. */
function extendDriver(driver: MongoDriver): void {
  const own = {
    insertMany: driver.nativeInsertMany.bind(driver),
    update: driver.nativeUpdate.bind(driver),
    updateMany: driver.nativeUpdateMany.bind(driver),
    delete: driver.nativeDelete.bind(driver),
  };
  const collectionOf = (meta: EntityMetadata) => driver.getConnection('write').getCollection(meta.collection);
  const metaOf = (entity: EntityMetadata['class']): EntityMetadata => driver.getMetadata().get(entity);

  driver.nativeInsertMany = async (entity, rows, options = {}) => {
    const meta = metaOf(entity);
    const values = rows.map((row) => completeValues(driver.getPlatform(), meta, row));
    await countKeys(driver, meta, values);
    const documents = values.map((complete) => newDocument(meta, complete));
    return referring(driver, meta, documents, options, (inner) =>
      namingKeys(collectionOf(meta), () => own.insertMany(entity, documents, inner)),
    );
  };
  driver.nativeInsert = (entity, row, options) => driver.nativeInsertMany(entity, [row], options);
  driver.nativeUpdate = (entity, where, data, options = {}) => {
    const meta = metaOf(entity);
    checkUpsert(meta, options, [where, data]);
    const changes = countedChanges(meta, data);
    return referring(driver, meta, [changes], options, (inner) => own.update(entity, where, changes, inner));
  };
  driver.nativeUpdateMany = (entity, where, rows, options = {}) => {
    const meta = metaOf(entity);
    checkUpsert(meta, options, [...where, ...rows]);
    const changes = rows.map((row) => countedChanges(meta, row));
    return referring(driver, meta, changes, options, (inner) =>
      namingKeys(collectionOf(meta), () => own.updateMany(entity, where, changes, inner)),
    );
  };
  driver.nativeDelete = (entity, where, options = {}) => {
    const meta = metaOf(entity);
    if (!isReferredTo(driver, meta)) return waiting(options.ctx, () => own.delete(entity, where, options));
    return inSession(driver, meta, options.ctx, async (session) => {
      const inner = { ...options, ctx: session };
      const found = await driver.find(entity, where, { ...inner, fields: meta.primaryKeys });
      const keys = found.map((row) => storedKey(driver, meta, row[meta.primaryKeys[0]!]));
      if (keys.length > 0) await releaseReferences(driver, session, meta, keys);
      return own.delete(entity, where, inner);
    });
  };
  driver.lockPessimistic = async (entity, { ctx }) => {
    const { __helper: helper, constructor } = entity as { __helper: { getPrimaryKey(): unknown }; constructor: never };
    const meta = metaOf(constructor);
    await lockIn(driver, meta, ctx!, { _id: storedKey(driver, meta, helper.getPrimaryKey()) });
  };
}

/**
 * Returns the changes of a document, which are never none: MongoDB counts a document that stays as it was as not updated, and does not
 * see that two transactions meet in it.
 */
function countedChanges(meta: EntityMetadata, data: Document): Document {
  const changes = changedValues(meta, data);
  return meta.versionProperty === undefined ? { ...changes, ...LOCKING } : changes;
}

/** MongoDB would make a key of its own, which is no number. */
function checkUpsert(meta: EntityMetadata, { upsert }: WriteOptions, named: readonly unknown[]): void {
  if (upsert !== true || !hasCountedKey(meta)) return;
  const [pk] = meta.primaryKeys as [string];
  if (named.some((part) => !isRecord(part) || pk in part || '_id' in part)) return;
  throw new Error(`${meta.className}: on MongoDB an upsert needs the primary key, "${pk}": it is not counted for one`);
}

/** Writes documents that may refer to others: if they do, in a transaction. */
function referring<Result>(
  driver: MongoDriver,
  meta: EntityMetadata,
  documents: readonly Document[],
  options: WriteOptions,
  write: (options: WriteOptions) => Promise<Result>,
): Promise<Result> {
  if (!documents.some((data) => namesOthers(meta, data))) return waiting(options.ctx, () => write(options));
  return inSession(driver, meta, options.ctx, async (session) => {
    await lockReferences(driver, session, meta, documents);
    return write({ ...options, ctx: session });
  });
}

function waiting<Result>(session: MongoSession | undefined, write: () => Promise<Result>): Promise<Result> {
  return session === undefined ? write() : waitingForOthers(session, write);
}

/** Keeps others from writing documents until the transaction of an entity manager ends. */
export async function lockDocuments(em: EntityManager, meta: EntityMetadata, filter: Document): Promise<void> {
  await lockIn(em.getDriver() as unknown as MongoDriver, meta, em.getTransactionContext<MongoSession>()!, filter);
}

async function lockIn(
  driver: MongoDriver,
  meta: EntityMetadata,
  session: MongoSession,
  filter: Document,
): Promise<void> {
  const collection = driver.getConnection('write').getCollection(meta.collection);
  const lock = (): Promise<unknown> => collection.updateMany(filter, LOCKING, { session });
  // A transaction that has begun may hold what others in line wait for.
  if (!session.transaction.isStarting) return void (await lock());
  await inLine(driver, lineOf(meta, filter), (deadline) => waitingForOthers(session, lock, deadline));
}
