import { type EntityManager, ReferenceKind, Utils } from '@mikro-orm/core';
import { originOf } from './entities.ts';

/**
 * Has the next flush delete an entity. Where MikroORM keeps no table for a relation of many to many, it wants all that refer to
 * the entity to be loaded; the database itself takes the entity out of them (`MongoExtension`).
 */
export function removeEntity(em: EntityManager, entity: object): void {
  if (!em.getPlatform().usesPivotTable()) {
    for (const { kind, mappedBy, name } of originOf(entity).meta.relations) {
      const others: unknown = (entity as Record<string, unknown>)[name];
      if (kind !== ReferenceKind.MANY_TO_MANY || mappedBy === undefined || !Utils.isCollection(others)) continue;
      if (!others.isInitialized(true)) others.hydrate([]);
    }
  }
  em.remove(entity);
}
