import {
  type EntityManager,
  type EntityMetadata,
  type EntityName,
  type EntityProperty,
  UniqueConstraintViolationException,
} from '@mikro-orm/core';
import { isInlineEmbeddable, targetOf } from '../fields/property.ts';
import { withJsonDefaults } from './json-default.ts';

/**
 * Makes an entity from data for a new record, which the next flush stores. If MikroORM already has an entity with this
 * key, it would return that one and write nothing.
 *
 * @throws UniqueConstraintViolationException if that entity exists, as the database does for any other record
 */
export function newEntity<Entity extends object>(em: EntityManager, name: EntityName<Entity>, data: object): Entity {
  const made = em.getUnitOfWork().getPersistStack();
  const { size } = made;
  const given = withJsonDefaults(em.getMetadata(name).props, data);
  const entity: Entity = em.create(name, given as never, { persist: true });
  const isStored = em.getUnitOfWork().getOriginalEntityData(entity) !== undefined;
  if (!isStored && made.size > size) {
    setAbsent(entity, em.getMetadata(name));
    return entity;
  }
  const { tableName, primaryKeys, properties } = em.getMetadata(name);
  const columns = primaryKeys.flatMap((key) => properties[key].fieldNames).join(', ');
  const error = Object.assign(new Error('A record with this key is there already'), {
    table: tableName,
    detail: `Key (${columns})=() already exists.`,
  });
  throw new UniqueConstraintViolationException(error);
}

/**
 * Sets the embeddables that a new record does not have to null, so that all their columns are NULL. Otherwise the
 * database would store the defaults of these columns.
 */
function setAbsent(object: object, { properties }: EntityMetadata): void {
  const values = object as Record<string, unknown>;
  for (const property of Object.values<EntityProperty>(properties)) {
    const { name, embedded, nullable, onCreate } = property;
    if (embedded !== undefined || !isInlineEmbeddable(property)) continue;
    const value = values[name];
    if (typeof value === 'object' && value !== null) setAbsent(value, targetOf(property) as EntityMetadata);
    else if (value === undefined && nullable === true && onCreate === undefined) values[name] = null;
  }
}
