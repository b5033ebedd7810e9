import type { EntityManager } from '@mikro-orm/core';

/** MikroORM's own, as `em.find` calls it: it answers with the very condition it was given where no filter is on. */
interface FilteringManager {
  applyFilters(entity: unknown, where: object, options: unknown, type: 'read', findOptions: object): Promise<unknown>;
}

/** What `askFilters` answers where no filter is on; a filter that is on and adds nothing is another thing. */
export const NO_FILTER = Object.freeze({});

/** What MikroORM's filters that are on ask of an entity's records. */
export function askFilters(em: EntityManager, entity: unknown, options: unknown): Promise<unknown> {
  return (em as unknown as FilteringManager).applyFilters(entity, NO_FILTER, options, 'read', {});
}
