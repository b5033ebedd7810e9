import type { EntityMetadata } from '@mikro-orm/core';
import { isRecord } from '@viewset/core/backend';
import { countKeys, hasCountedKey } from './counters.ts';
import { lockIn } from './document-locks.ts';
import { changedValues, completeValues, newDocument } from './documents.ts';
import type { Document, MongoDriver, MongoSession, WriteOptions } from './mongo-driver.ts';
import { namingKeys } from './mongo-errors.ts';
import { isReferredTo, LOCKING, lockReferences, namesOthers, releaseReferences, storedKey } from './references.ts';
import { inSession, waitingForOthers } from './session.ts';

/**
 * Extends the writing methods of MikroORM's driver with what MongoDB does not do itself. The unit of work calls them
 * too.
 */
export function extendDriver(driver: MongoDriver): void {
  const original = {
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
      namingKeys(collectionOf(meta), () => original.insertMany(entity, documents, inner)),
    );
  };
  driver.nativeInsert = (entity, row, options) => driver.nativeInsertMany(entity, [row], options);
  driver.nativeUpdate = (entity, where, data, options = {}) => {
    const meta = metaOf(entity);
    checkUpsert(meta, options, [where, data]);
    const changes = countedChanges(meta, data);
    return referring(driver, meta, [changes], options, (inner) => original.update(entity, where, changes, inner));
  };
  driver.nativeUpdateMany = (entity, where, rows, options = {}) => {
    const meta = metaOf(entity);
    checkUpsert(meta, options, [...where, ...rows]);
    const changes = rows.map((row) => countedChanges(meta, row));
    return referring(driver, meta, changes, options, (inner) =>
      namingKeys(collectionOf(meta), () => original.updateMany(entity, where, changes, inner)),
    );
  };
  driver.nativeDelete = (entity, where, options = {}) => {
    const meta = metaOf(entity);
    if (!isReferredTo(driver, meta)) return waiting(options.ctx, () => original.delete(entity, where, options));
    return inSession(driver, meta, options.ctx, async (session) => {
      const inner = { ...options, ctx: session };
      const found = await driver.find(entity, where, { ...inner, fields: meta.primaryKeys });
      const keys = found.map((row) => storedKey(driver, meta, row[meta.primaryKeys[0]!]));
      if (keys.length > 0) await releaseReferences(driver, session, meta, keys);
      return original.delete(entity, where, inner);
    });
  };
  driver.lockPessimistic = async (entity, { ctx }) => {
    const { __helper: helper, constructor } = entity as { __helper: { getPrimaryKey(): unknown }; constructor: never };
    const meta = metaOf(constructor);
    await lockIn(driver, meta, ctx!, { _id: storedKey(driver, meta, helper.getPrimaryKey()) });
  };
}

/**
 * Returns a document's changes, always with at least one. MongoDB does not count unchanged documents as updated, and an
 * unchanged document does not conflict with other transactions.
 */
function countedChanges(meta: EntityMetadata, data: Document): Document {
  const changes = changedValues(meta, data);
  return meta.versionProperty === undefined ? { ...changes, ...LOCKING } : changes;
}

/** MongoDB would generate a key that is not a number. */
function checkUpsert(meta: EntityMetadata, { upsert }: WriteOptions, named: readonly unknown[]): void {
  if (upsert !== true || !hasCountedKey(meta)) return;
  const [pk] = meta.primaryKeys as [string];
  if (named.some((part) => !isRecord(part) || pk in part || '_id' in part)) return;
  throw new Error(`${meta.className}: on MongoDB an upsert needs the primary key, "${pk}": it is not counted for one`);
}

/** Writes documents. If they refer to others, it uses a transaction. */
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
