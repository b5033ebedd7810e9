import { Collection, type EntityManager, ReferenceKind } from '@mikro-orm/core';
import { metadataOf } from './entities.ts';

/**
 * Makes the next flush delete an entity. If a many-to-many relation has no pivot table, MikroORM requires every
 * referring entity to be loaded. This avoids that: `MongoExtension` removes the references in the database.
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
