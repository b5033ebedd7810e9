import type { EntityManager, EntityMetadata, FilterQuery } from '@mikro-orm/core';

/**
 * MikroORM's own way to apply its filters, as `em.find` calls it (internal there). It answers with the very condition it
 * was given if no filter is on, and says so before it has waited for anything.
 */
interface FilteringManager {
  applyFilters(entity: unknown, where: object, options: unknown, type: 'read', findOptions: object): Promise<unknown>;
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
  const filtering = em as unknown as FilteringManager;
  const where = await filtering.applyFilters(meta.class, NOTHING, options, 'read', {});
  if (where === NOTHING || where === undefined || Object.keys(where as object).length === 0) return undefined;
  return { where: where as FilterQuery<object>, isStrict: isStrict(where) };
}

const NOTHING = Object.freeze({});

/** MikroORM marks the condition of a strict filter, and leaves the mark if it joins several. */
function isStrict(where: unknown): boolean {
  const { __strict, $and } = where as { __strict?: boolean; $and?: unknown };
  return __strict === true || (Array.isArray($and) && $and.some(isStrict));
}

let hasComeBack = false;

/** A promise looks for `then` in what it is resolved with; nothing else does. */
class Probe {
  // eslint-disable-next-line unicorn/no-thenable -- it is looked for, and not there
  get then(): undefined {
    hasComeBack = true;
    return undefined;
  }
}

const PROBE = new Probe();

/** No options. A filter with a function would read its arguments from them next, and then call the function. */
const NO_OPTIONS: unknown = Object.setPrototypeOf(
  Object.defineProperty([], 'forEach', { value: () => {} }),
  new Proxy(
    {},
    {
      get: () => {
        throw new Error('A filter is on');
      },
    },
  ),
);

const ignore = (): void => {};

/**
 * True if no filter of MikroORM is on for an entity, at once and without running any filter: an entity manager does not
 * tell which filters it was given, nor when, but without any it gives back at once the condition that it got.
 */
export function hasNoFilter(em: EntityManager, meta: EntityMetadata): boolean {
  hasComeBack = false;
  const filtering = em as unknown as FilteringManager;
  filtering.applyFilters(meta.class, PROBE, NO_OPTIONS, 'read', NOTHING).catch(ignore);
  return hasComeBack;
}
