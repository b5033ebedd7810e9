import type { EntityManager, EntityMetadata, FilterQuery } from '@mikro-orm/core';

/**
 * The method by which `em.find` applies filters (internal in MikroORM). No public member tells of the filters that an
 * entity manager was given by `addFilter`. If none is on, the answer is the very condition that it was given.
 */
interface FilteringManager {
  applyFilters(entity: unknown, where: object, options: unknown, type: 'read', findOptions: object): Promise<unknown>;
}

const NOTHING = Object.freeze({});
const NO_OPTIONS: readonly string[] = Object.freeze([]);

function applyFilters(em: EntityManager, meta: EntityMetadata, where: object, options: unknown): Promise<unknown> {
  return (em as unknown as FilteringManager).applyFilters(meta.class, where, options, 'read', {});
}

/** A condition that notes when it is returned: an async function looks at once for `then` in the object that it returns. */
class NotedCondition {
  #isReturned = false;

  // eslint-disable-next-line unicorn/no-thenable -- it is looked for, and not there
  get then(): undefined {
    this.#isReturned = true;
    return undefined;
  }

  static isReturned(condition: NotedCondition): boolean {
    return condition.#isReturned;
  }
}

/**
 * True if no filter of MikroORM is on for an entity. A filter that is on may be run by this, and what it throws for lack of
 * a request's parameters is ignored.
 */
export function hasNoFilter(em: EntityManager, meta: EntityMetadata): boolean {
  const condition = new NotedCondition();
  const applied = applyFilters(em, meta, condition, NO_OPTIONS);
  if (NotedCondition.isReturned(condition)) return true;
  applied.catch(() => {});
  return false;
}

/** The condition of the filters that are on. */
export interface ActiveFilter {
  readonly where: FilterQuery<object>;
  /** True if a filter is strict: it hides the owners of what it hides as well. */
  readonly isStrict: boolean;
}

/** The filters that are on for an entity; undefined if none is, or none asks for anything. */
export async function activeFilter(
  em: EntityManager,
  meta: EntityMetadata,
  options: unknown,
): Promise<ActiveFilter | undefined> {
  const where = await applyFilters(em, meta, NOTHING, options);
  if (where === NOTHING || where === undefined || Object.keys(where as object).length === 0) return undefined;
  return { where: where as FilterQuery<object>, isStrict: isStrict(where) };
}

/** MikroORM marks the condition of a strict filter, and leaves the mark if it joins several. */
function isStrict(where: unknown): boolean {
  const { __strict, $and } = where as { __strict?: boolean; $and?: unknown };
  return __strict === true || (Array.isArray($and) && $and.some(isStrict));
}
