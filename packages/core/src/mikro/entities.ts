import { type EntityClass, type EntityManager, type EntityMetadata, helper, wrap } from '@mikro-orm/core';

/** Finds the metadata of a class that MikroORM has discovered, which every record of it leads to. */
export function metaOf(Class: EntityClass<unknown>): EntityMetadata | undefined {
  const { __meta: meta } = Class.prototype as { readonly __meta?: EntityMetadata };
  return meta;
}

/** Tells the subscribers of the entities that were made since the last time; internal in MikroORM. */
export function dispatchOnLoad(em: EntityManager): Promise<void> {
  return em.getUnitOfWork().dispatchOnLoadEvent();
}

/** Marks relations as loaded, so that JSON of the entity holds them, as it does after `em.find`. */
export function showLoaded(entity: object, relations: readonly string[]): void {
  wrap(entity, true).setSerializationContext({ populate: relations as never });
}

/** The entity manager that an entity belongs to, its metadata, and the values of its primary key. */
export function originOf(entity: object): {
  readonly em: EntityManager | undefined;
  readonly meta: EntityMetadata;
  readonly keys: readonly unknown[];
} {
  const own = helper(entity);
  const { __em: em, __meta: meta } = own;
  return { em, meta, keys: own.getPrimaryKeys() ?? [] };
}
