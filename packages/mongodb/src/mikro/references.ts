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
 * The field that a lock increments. MongoDB ignores a write that changes nothing, so two transactions would not
 * conflict.
 */
const LOCK_FIELD = '_lock';
export const LOCKING = { $inc: { [LOCK_FIELD]: 1 } } as const;

/** True if values contain references to other documents. */
export function namesOthers(meta: EntityMetadata, data: Document): boolean {
  return meta.relations.some((relation) => isReference(relation) && keysIn(data[relation.name]).length > 0);
}

/**
 * Checks that the records in new references exist. Locks them, so that others cannot delete them before this
 * transaction ends.
 *
 * @param changes values by property name
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
 * Applies the `deleteRule` of references to deleted records: deletes the referring records, or sets the reference to
 * NULL.
 *
 * @param gone the keys of all records in this delete, by root entity; they do not block each other
 * @throws ForeignKeyConstraintViolationException if another record still refers to a deleted one and the rule forbids
 * it
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

/** True if other documents may refer to an entity's documents. */
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

/** True for a relation whose references are checked, as SQL schemas do with a constraint. */
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

/** Converts a key to its stored form, because MikroORM may pass an ObjectId as a string. */
export function storedKey(driver: MongoDriver, meta: EntityMetadata, key: unknown): unknown {
  const [pk] = meta.getPrimaryProps();
  return pk?.type === 'ObjectId' && typeof key === 'string' ? driver.getPlatform().denormalizePrimaryKey(key) : key;
}

/** Makes the same error as a database with foreign keys, so that core can handle it. */
function violation(meta: EntityMetadata, { fieldNames }: EntityProperty, problem: string): Error {
  const error = Object.assign(new Error(`A record that a reference of ${meta.className} names ${problem}`), {
    table: meta.tableName,
    detail: `Key (${fieldNames.join(', ')})=() ${problem}`,
  });
  return new ForeignKeyConstraintViolationException(error);
}
