import { randomUUID } from 'node:crypto';
import type { EntityManager, EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { type Condition, type FieldPath, fieldPath, type Projection } from '@viewset/core';
import { checkNotAborted, onAbort, type RowWrite } from '@viewset/core/backend';
import { cancelCommands } from '../mikro/cancel.ts';
import { collectionOf } from '../mikro/collection.ts';
import { countKeys } from '../mikro/counters.ts';
import { changedValues, completeValues, newDocument } from '../mikro/documents.ts';
import {
  type Document,
  driverOf,
  type MongoCollection,
  type MongoDriver,
  type MongoSession,
} from '../mikro/mongo-driver.ts';
import { inLine, lineOf } from '../mikro/line.ts';
import { isReferredTo, lockReferences, namesOthers, releaseReferences } from '../mikro/references.ts';
import { inSession } from '../mikro/session.ts';
import { inWriteSlot } from '../mikro/write-slots.ts';
import { runCommand } from './command.ts';
import { filterOf } from './condition.ts';
import { rowReader } from './rows.ts';
import { storedValue } from './stored-value.ts';

/** Stores a document, and returns it as a record. */
export async function insertDocument<Record>({
  em,
  meta,
  projection,
  request,
  data,
}: RowWrite<Record> & { readonly data: object }): Promise<Record> {
  const driver = driverOf(em);
  const values = completeValues(em.getPlatform(), meta, storedValues(em, meta, data));
  await countKeys(driver, meta, [values]);
  const document = renamed(meta, newDocument(meta, values));
  await writing({ em, meta, request }, 'insertOne', [document], async (collection, comment) => {
    // Bodies with references never reach this command, but a column's default may be a reference.
    if (!namesOthers(meta, values)) {
      return byItself({ em, request }, () => collection.insertOne(document, { comment }));
    }
    return inTransaction(driver, meta, request, async (session) => {
      const inserted = await collection.insertOne(document, { comment, session });
      await lockReferences(driver, session, meta, [values]);
      return inserted;
    });
  });
  return recordOf(projection, renamed(meta, values));
}

/** Updates the document that matches the condition, and returns it as a record; undefined if none matches. */
export async function updateDocument<Record>({
  em,
  meta,
  projection,
  request,
  data,
  condition,
}: RowWrite<Record> & { readonly data: object; readonly condition: Condition }): Promise<Record | undefined> {
  const filter = filterOf(em, meta, condition);
  const update = updateOf(meta, changedValues(meta, storedValues(em, meta, data)));
  const found = await writing({ em, meta, request }, 'findOneAndUpdate', [filter, update], (collection, comment) =>
    inTurn({ em, meta, request }, filter, () =>
      collection.findOneAndUpdate(filter, update, { comment, returnDocument: 'after' }),
    ),
  );
  return found === null ? undefined : recordOf(projection, found);
}

/** True if other documents may refer to this entity's, so that a delete needs a transaction. */
export function mayBeReferredTo(em: EntityManager, meta: EntityMetadata): boolean {
  return isReferredTo(driverOf(em), meta);
}

/** Deletes the document that matches the condition; returns false if none does. */
export async function removeDocument({
  em,
  meta,
  request,
  condition,
}: Omit<RowWrite<unknown>, 'projection'> & { readonly condition: Condition }): Promise<boolean> {
  const driver = driverOf(em);
  const filter = filterOf(em, meta, condition);
  const removed = await writing({ em, meta, request }, 'findOneAndDelete', [filter], async (collection, comment) => {
    const options = { comment, projection: { _id: 1 } };
    if (!isReferredTo(driver, meta)) {
      return inTurn({ em, meta, request }, filter, () => collection.findOneAndDelete(filter, options));
    }
    return inTransaction(driver, meta, request, async (session) => {
      const document = await collection.findOneAndDelete(filter, { ...options, session });
      if (document !== null) await releaseReferences(driver, session, meta, [document['_id']]);
      return document;
    });
  });
  return removed !== null;
}

/**
 * Runs a write on an entity's collection. If the request is aborted while the command waits, cancels the command, which
 * a comment identifies.
 */
async function writing<Result>(
  { em, meta, request }: Omit<RowWrite<unknown>, 'projection'>,
  name: string,
  parts: readonly Document[],
  write: (collection: MongoCollection, comment: string) => Promise<Result>,
): Promise<Result> {
  checkNotAborted(request);
  const driver = driverOf(em);
  const comment = randomUUID();
  const stopListening = onAbort(request, () => void cancelCommands(driver, comment).catch(ignore));
  try {
    const collection = collectionOf(em, meta, 'write');
    return await runCommand(em, meta, name, parts, () => write(collection, comment));
  } catch (error) {
    checkNotAborted(request);
    throw error;
  } finally {
    stopListening();
  }
}

/**
 * Runs a single write command. In this process, one command at a time writes the same document. It waits in the server
 * for other transactions.
 */
function inTurn<Result>(
  { em, meta, request }: Omit<RowWrite<unknown>, 'projection'>,
  filter: Document,
  command: () => Promise<Result>,
): Promise<Result> {
  return inLine(driverOf(em), `write ${lineOf(meta, filter)}`, () => byItself({ em, request }, command));
}

function byItself<Result>(
  { em, request }: Pick<RowWrite<unknown>, 'em' | 'request'>,
  command: () => Promise<Result>,
): Promise<Result> {
  return inWriteSlot(driverOf(em), async () => {
    checkNotAborted(request);
    return command();
  });
}

/** Runs the commands of a write in one transaction. Does not commit if the request was aborted. */
function inTransaction<Result>(
  driver: MongoDriver,
  meta: EntityMetadata,
  request: object,
  commands: (session: MongoSession) => Promise<Result>,
): Promise<Result> {
  return inSession(driver, meta, undefined, async (session) => {
    const result = await commands(session);
    checkNotAborted(request);
    return result;
  });
}

function ignore(): void {}

/** Converts values to their stored form, by property name. */
function storedValues(em: EntityManager, meta: EntityMetadata, data: object): Document {
  const values: Document = {};
  for (const [name, value] of Object.entries(data) as [string, unknown][]) {
    if (value !== undefined) values[name] = storedValue(fieldPath(meta, name, '.'), value, em.getPlatform());
  }
  return values;
}

function updateOf(meta: EntityMetadata, changes: Document): Document {
  const entries = Object.entries(renamed(meta, changes));
  const [set, unset] = [
    entries.filter(([, value]) => value !== undefined),
    entries.filter(([, value]) => value === undefined),
  ];
  return {
    ...(set.length > 0 && { $set: Object.fromEntries(set) }),
    ...(unset.length > 0 && { $unset: Object.fromEntries(unset) }),
  };
}

/** Renames values from properties to the fields that store them. */
function renamed(meta: EntityMetadata, values: Document): Document {
  const document: Document = {};
  for (const [name, value] of Object.entries(values)) document[fieldOf(meta, name)] = value;
  return document;
}

function fieldOf(meta: EntityMetadata, name: string): string {
  return (meta.properties[name as never] as EntityProperty).fieldNames[0]!;
}

const readers = new WeakMap<readonly FieldPath[], (document: Document) => unknown[]>();

function recordOf<Record>(projection: Projection<Record>, document: Document): Record {
  let read = readers.get(projection.paths);
  if (read === undefined) readers.set(projection.paths, (read = rowReader(projection.paths)));
  return projection.readRow(read(document));
}
