import {
  type EntityManager,
  type EntityMetadata,
  type EntityProperty,
  type MikroORM,
  Reference,
  Utils,
  wrap,
} from '@mikro-orm/core';
import { isDeepStrictEqual } from 'node:util';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { metadataOf } from './entities.ts';

type Values = Readonly<Record<string, unknown>>;

/**
 * Checks that an entity manager has no changes that were never stored. Changes of entities are stored by `em.flush()`,
 * or at the end of a transaction. The library calls it at the end of each request and of each handler of an event. Call
 * it at the end of a job that you write yourself.
 *
 * @param em the entity manager of the work
 * @param who the work, which begins the message: `The nightly job`
 * @throws ImproperlyConfigured that names the changed entities, and how to store them
 * @example
 * const em = orm.em.fork();
 * const book = await em.findOneOrFail(Book, 1);
 * book.title = 'Ash';
 * checkFlushed(em, 'The nightly job');   // throws: The nightly job has changed Book, but the change is not stored: …
 */
export function checkFlushed(em: EntityManager, who: string): void {
  const names = unflushedEntities(em);
  if (names.length === 0) return;
  throw new ImproperlyConfigured(
    `${who} has changed ${names.join(', ')}, but the change is not stored: call "await em.flush()" of its entity manager, or do ` +
      'the work in a transaction, which flushes at its end (option "transaction" of an action, inTransaction(), ' +
      'em.transactional()); to drop the change, call em.clear()',
  );
}

/**
 * Lists the names of entities with changes that a flush would store: new, changed and removed ones. It only reads,
 * because computing change sets would disturb a flush that is under way. Changes that such a flush stores do not count.
 */
export function unflushedEntities(em: EntityManager): readonly string[] {
  const work = em.getUnitOfWork();
  const removed = new Set([...work.getRemoveStack(), ...work.getOrphanRemoveStack()]);
  const names = new Set<string>();
  for (const entities of [removed, work.getPersistStack(), work.getIdentityMap()]) {
    for (const entity of entities) {
      const meta = metadataOf(em, entity);
      if (names.has(meta.className) || isInFlush(entity)) continue;
      if (removed.has(entity) || isChanged(em, meta, entity)) names.add(meta.className);
    }
  }
  return [...names];
}

/** Reports whether an entity manager stands for the global one of an ORM, which is not the one of a request. */
export function isGlobal(em: EntityManager, orm: MikroORM): boolean {
  return em.getContext(false) === orm.em;
}

/** Reports whether a flush that is under way writes an entity. */
export function isInFlush(entity: object): boolean {
  const { __processing: isProcessing } = wrap(entity, true);
  return isProcessing;
}

function isChanged(em: EntityManager, meta: EntityMetadata, entity: object): boolean {
  if (meta.readonly === true) return false;
  const stored = em.getUnitOfWork().getOriginalEntityData(entity) as Values | undefined;
  if (stored === undefined) return wrap(entity).isInitialized();
  const snapshots = em.config.getComparator(em.getMetadata());
  const values = snapshots.prepareEntity(entity) as Values;
  if (!wrap(entity).isInitialized()) return hasNewValues(meta, values, stored);
  // MikroORM takes JSON with a key `constructor` for changed, so its differences are compared again.
  const changed = Object.keys(snapshots.diffEntities(meta.class, stored as object, values));
  return (
    changed.some(
      (name) =>
        !isDeepStrictEqual(stored[name], values[name]) &&
        !isSameValue(em, entity, stored[name], meta.properties[name as never] as EntityProperty | undefined),
    ) || meta.relations.some(({ name }) => hasNewRelated(em, entity[name as never]))
  );
}

/** Reports whether a reference, whose record was not loaded, has got values. */
function hasNewValues({ primaryKeys, root }: EntityMetadata, values: Values, stored: Values): boolean {
  return Object.keys(values).some(
    (name) =>
      !(primaryKeys as readonly string[]).includes(name) &&
      name !== root.discriminatorColumn &&
      values[name] !== undefined &&
      !isDeepStrictEqual(values[name], stored[name]),
  );
}

/**
 * Reports whether a value of a custom type is the one that was loaded, although it is converted to another value of the
 * database. A type that encrypts does that.
 */
function isSameValue(
  em: EntityManager,
  entity: object,
  stored: unknown,
  property: EntityProperty | undefined,
): boolean {
  if (property?.customType === undefined || stored === undefined) return false;
  const [outer, inner] = property.embedded ?? [property.name];
  const value = (entity as Values)[outer];
  const current = inner === undefined ? value : (value as Values | null | undefined)?.[inner];
  try {
    return isDeepStrictEqual(property.customType.convertToJSValue(stored, em.getPlatform()), current);
  } catch {
    return false;
  }
}

/** Reports whether a relation has new members, or leads to an entity that is not stored yet. */
function hasNewRelated(em: EntityManager, related: unknown): boolean {
  if (Utils.isCollection(related)) return related.isDirty();
  const target: unknown = Reference.unwrapReference(related as object);
  if (!Utils.isEntity(target)) return false;
  return em.getUnitOfWork().getOriginalEntityData(target) === undefined && wrap(target).isInitialized();
}
