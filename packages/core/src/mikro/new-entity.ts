import { type EntityManager, type EntityName, UniqueConstraintViolationException } from '@mikro-orm/core';

/**
 * Makes an entity from data for a new record, which the next flush stores. If MikroORM already has an entity with this
 * key, it would return that one and write nothing.
 *
 * @throws UniqueConstraintViolationException if that entity exists, as the database does for any other record
 */
export function newEntity<Entity extends object>(em: EntityManager, name: EntityName<Entity>, data: object): Entity {
  const made = em.getUnitOfWork().getPersistStack();
  const { size } = made;
  const entity: Entity = em.create(name, data as never, { persist: true });
  const isStored = em.getUnitOfWork().getOriginalEntityData(entity) !== undefined;
  if (!isStored && made.size > size) return entity;
  const { tableName, primaryKeys, properties } = em.getMetadata(name);
  const columns = primaryKeys.flatMap((key) => properties[key].fieldNames).join(', ');
  const error = Object.assign(new Error('A record with this key is there already'), {
    table: tableName,
    detail: `Key (${columns})=() already exists.`,
  });
  throw new UniqueConstraintViolationException(error);
}
