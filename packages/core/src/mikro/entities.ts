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

/** Finds the metadata of a class that MikroORM has discovered, through its prototype, without an ORM. */
export function metaOf(Class: EntityClass<unknown>): EntityMetadata | undefined {
  const { __meta: meta } = Class.prototype as { readonly __meta?: EntityMetadata };
  return meta;
}

/** Returns the metadata of an entity. */
export function metadataOf(em: EntityManager, entity: object): EntityMetadata {
  return em.getMetadata(entity.constructor as EntityClass<object>);
}

/** Returns the entity manager of an entity; undefined if it has none. */
export function managerOfEntity(entity: object): EntityManager | undefined {
  const { __em: em } = wrap(entity, true);
  return em;
}

/** True for a loaded entity, not for a reference by key or another object. */
export function isLoaded(entity: object): boolean {
  return Utils.isEntity(entity) && wrap(entity, true).isInitialized();
}

/** Notifies the subscribers of entities that were made since the last call. */
export function dispatchOnLoad(em: EntityManager): Promise<void> {
  return em.getUnitOfWork().dispatchOnLoadEvent();
}

/** Marks relations as loaded, so that the entity's JSON contains them, as after `em.find`. */
export function showLoaded(entity: object, relations: readonly string[]): void {
  wrap(entity, true).setSerializationContext({ populate: relations as never });
}
