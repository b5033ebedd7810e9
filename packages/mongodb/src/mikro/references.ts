import {
  type EntityMetadata,
  type EntityProperty,
  ForeignKeyConstraintViolationException,
  ReferenceKind,
} from '@mikro-orm/core';
import { isPolymorphic } from '@viewset/core/backend';
import { isLeftOut } from './documents.ts';
import type { Document, MongoDriver, MongoSession } from './mongo-driver.ts';

/**
 * The field of a document that whoever locks it counts up. A write that changes nothing would not be one to MongoDB, and two
 * transactions would not notice each other.
 */
const LOCK_FIELD = '_lock';
export const LOCKING = { $inc: { [LOCK_FIELD]: 1 } } as const;

/** True if values of a document name others. */
export function namesOthers(meta: EntityMetadata, data: Document): boolean {
  return meta.relations.some((relation) => isReference(relation) && keysIn(data[relation.name]).length > 0);
}

/**
 * Checks that the records which new values refer to exist, and keeps others from deleting them before this transaction ends: each is
 * locked.
 *
 * @param changes values by the names of properties
 * @throws ForeignKeyConstraintViolationException if a record does not exist
 */
export async function lockReferences(
  driver: MongoDriver,
  session: MongoSession,
  meta: EntityMetadata,
  changes: readonly Document[],
): Promise<void> {
  for (const relation of meta.relations.filter(isReference)) {
    const keys = distinct(changes.flatMap((data) => keysIn(data[relation.name])));
    if (keys.length === 0) continue;
    const target = rootOf(relation.targetMeta!);
    const collection = driver.getConnection('write').getCollection(target.collection);
    const stored = keys.map((key) => storedKey(driver, target, key));
    const filter = { _id: { $in: stored } };
    const { matchedCount } = await collection.updateMany(filter, LOCKING, { session });
    if (matchedCount < keys.length) throw violation(meta, relation, 'is not present');
  }
}

/**
 * Does what the records that refer to deleted ones want (`deleteRule`): they are deleted too, or refer to nothing from now on.
 *
 * @param gone the keys of the records that are deleted together, by the roots of their entities: they keep none of each other
 * @throws ForeignKeyConstraintViolationException if there are others, which keep a record from being deleted
 */
export async function releaseReferences(
  driver: MongoDriver,
  session: MongoSession,
  meta: EntityMetadata,
  keys: readonly unknown[],
  gone: ReadonlyMap<EntityMetadata, readonly unknown[]> = new Map(),
): Promise<void> {
  const root = rootOf(meta);
  const going = new Map(gone).set(root, [...(gone.get(root) ?? []), ...keys]);
  for (const { owner, relation } of referrersOf(driver, meta)) {
    const [field] = relation.fieldNames as [string];
    const named = { [field]: { $in: keys } };
    const collection = driver.getConnection('write').getCollection(owner.collection);
    if (relation.kind === ReferenceKind.MANY_TO_MANY) {
      await collection.updateMany(named, { $pull: named }, { session });
    } else if (relation.deleteRule === 'set null') {
      await collection.updateMany(
        named,
        isLeftOut(owner, relation) ? { $unset: { [field]: '' } } : { $set: { [field]: null } },
        { session },
      );
    } else {
      const options = { session, projection: { _id: 1 }, ...(relation.deleteRule === 'cascade' ? {} : { limit: 1 }) };
      const others = { ...named, _id: { $nin: going.get(rootOf(owner)) ?? [] } };
      const found = (await collection.find(others, options).toArray()).map(({ _id }) => _id);
      if (found.length === 0) continue;
      if (relation.deleteRule !== 'cascade') throw violation(owner, relation, 'is still referenced');
      await releaseReferences(driver, session, owner, found, going);
      await collection.deleteMany({ _id: { $in: found } }, { session });
    }
  }
}

/** True if other documents may refer to those of an entity. */
export function isReferredTo(driver: MongoDriver, meta: EntityMetadata): boolean {
  return referrersOf(driver, meta).length > 0;
}

interface Referrer {
  readonly owner: EntityMetadata;
  readonly relation: EntityProperty;
}

const referrers = new WeakMap<EntityMetadata, readonly Referrer[]>();

function referrersOf(driver: MongoDriver, meta: EntityMetadata): readonly Referrer[] {
  const root = rootOf(meta);
  let known = referrers.get(root);
  if (known === undefined) {
    const owners = [...driver.getMetadata()].filter((owner) => owner.collection !== undefined && !owner.embeddable);
    known = owners.flatMap((owner) =>
      owner.relations
        .filter((relation) => isReference(relation) && rootOf(relation.targetMeta!) === root)
        .map((relation) => ({ owner, relation })),
    );
    referrers.set(root, known);
  }
  return known;
}

/** True of a relation whose references are kept: a SQL schema has a constraint for it. */
function isReference(relation: EntityProperty): boolean {
  const { kind, owner, targetMeta, persist, createForeignKeyConstraint } = relation;
  if (targetMeta === undefined || persist === false || isPolymorphic(relation)) return false;
  if (!createForeignKeyConstraint) return false;
  return kind === ReferenceKind.MANY_TO_ONE || (owner && kind !== ReferenceKind.ONE_TO_MANY);
}

function rootOf(meta: EntityMetadata): EntityMetadata {
  return meta.root;
}

function keysIn(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value.flatMap(keysIn) : [value];
}

function distinct(keys: readonly unknown[]): unknown[] {
  return [...new Map(keys.map((key) => [String(key), key])).values()];
}

/** Returns a key as it is stored: MikroORM may hand the text of an ObjectId over. */
export function storedKey(driver: MongoDriver, meta: EntityMetadata, key: unknown): unknown {
  const [pk] = meta.getPrimaryProps();
  return pk?.type === 'ObjectId' && typeof key === 'string' ? driver.getPlatform().denormalizePrimaryKey(key) : key;
}

/** Makes the error that a database with foreign keys gives: core reads it as it reads those. */
function violation(meta: EntityMetadata, { fieldNames }: EntityProperty, problem: string): Error {
  const error = Object.assign(new Error(`A record that a reference of ${meta.className} names ${problem}`), {
    table: meta.tableName,
    detail: `Key (${fieldNames.join(', ')})=() ${problem}`,
  });
  return new ForeignKeyConstraintViolationException(error);
}
