import {
  type EntityClass,
  type EntityManager,
  type EntityMetadata,
  type PrimaryProperty,
  Utils,
  wrap,
} from '@mikro-orm/core';

/** The name of an entity's primary key; internal in MikroORM. */
export type PrimaryKeyName<Entity> = PrimaryProperty<Entity>;

/** Finds the metadata of a class that MikroORM has discovered, which its prototype leads to; without an ORM at hand. */
export function metaOf(Class: EntityClass<unknown>): EntityMetadata | undefined {
  const { __meta: meta } = Class.prototype as { readonly __meta?: EntityMetadata };
  return meta;
}

/** Returns the metadata of an entity. */
export function metadataOf(em: EntityManager, entity: object): EntityMetadata {
  return em.getMetadata(entity.constructor as EntityClass<object>);
}

/** Returns the entity manager that an entity belongs to; undefined if it belongs to none. */
export function managerOfEntity(entity: object): EntityManager | undefined {
  const { __em: em } = wrap(entity, true);
  return em;
}

/** True of an entity that is loaded, rather than a reference by its key, or another object. */
export function isLoaded(entity: object): boolean {
  return Utils.isEntity(entity) && wrap(entity, true).isInitialized();
}

/** Tells the subscribers of the entities that were made since the last time. */
export function dispatchOnLoad(em: EntityManager): Promise<void> {
  return em.getUnitOfWork().dispatchOnLoadEvent();
}

/** Marks relations as loaded, so that JSON of the entity holds them, as it does after `em.find`. */
export function showLoaded(entity: object, relations: readonly string[]): void {
  wrap(entity, true).setSerializationContext({ populate: relations as never });
}
