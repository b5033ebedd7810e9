import { Collection, type EntityManager, ReferenceKind } from '@mikro-orm/core';
import { metadataOf } from './entities.ts';

/**
 * Has the next flush delete an entity. Where MikroORM keeps no table for a relation of many to many, it wants all that refer to
 * the entity to be loaded; the database itself takes the entity out of them (`MongoExtension`).
 */
export function removeEntity(em: EntityManager, entity: object): void {
  if (!em.getPlatform().usesPivotTable()) {
    for (const { kind, mappedBy, name } of metadataOf(em, entity).relations) {
      const others: unknown = (entity as Record<string, unknown>)[name];
      if (kind !== ReferenceKind.MANY_TO_MANY || mappedBy === undefined || !Collection.isCollection(others)) continue;
      if (!others.isInitialized(true)) Collection.create(entity, name as never, undefined, true);
    }
  }
  em.remove(entity);
}
