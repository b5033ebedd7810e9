import {
  type Dictionary,
  type EntityManager,
  type EntityMetadata,
  type EntityProperty,
  type FilterDef,
  type FilterOptions,
  type FilterQuery,
  QueryHelper,
  TransactionContext,
  Utils,
} from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { isEmpty } from '../support/json.ts';

/** The method of `em.find` that applies filters (internal in MikroORM). */
interface FilteringManager {
  applyFilters(entity: unknown, where: object, options: unknown, type: 'read', findOptions: object): Promise<unknown>;
}

type Filters = Dictionary<FilterDef>;

const NOTHING = Object.freeze({});
const NO_OPTIONS: string[] = [];

function applyFilters(em: EntityManager, meta: EntityMetadata, options: unknown): Promise<unknown> {
  return (em as unknown as FilteringManager).applyFilters(meta.class, NOTHING, options, 'read', {});
}

const NO_PARAMETERS = /^No arguments provided for filter '(.+)'$/;

/**
 * Explains MikroORM's error for a filter whose parameters nobody has set. Undefined for other errors.
 *
 * @param entity the filtered entity, if it is known
 */
export function missingParameters(error: unknown, entity?: string): ImproperlyConfigured | undefined {
  const name = error instanceof Error ? NO_PARAMETERS.exec(error.message)?.[1] : undefined;
  if (name === undefined) return undefined;
  return new ImproperlyConfigured(
    `the filter "${name}"${entity === undefined ? '' : ` of ${entity}`} has no parameters: for each request, call ` +
      `request.em.setFilterParams("${name}", …) in a hook before the view reads, also if nobody is logged in; in a job or a ` +
      'handler of events, call it on the entity manager that reads; for tenants, use tenant(), which does both',
    { cause: error },
  );
}

/** MikroORM's function that finds the active filters. */
const search: {
  getActiveFilters(this: void, meta: EntityMetadata, options: unknown, filters: Filters): FilterDef[];
} = QueryHelper;

const added = new WeakMap<EntityManager, Filters | null>();

/**
 * The filters that `addFilter` has given to an entity manager, now and later. No public member lists them. This
 * observes which filters MikroORM searches when it applies filters; null if they are not the expected ones.
 */
function addedFilters(em: EntityManager, meta: EntityMetadata): Filters | null {
  const known = added.get(em);
  if (known !== undefined) return known;
  const seen: Filters[] = [];
  const { getActiveFilters } = search;
  search.getActiveFilters = (_meta, _options, filters) => {
    seen.push(filters);
    return [];
  };
  try {
    applyFilters(em, meta, NO_OPTIONS).catch(() => {});
  } finally {
    search.getActiveFilters = getActiveFilters;
  }
  const [ofConfig, ofManager = null, ofEntity] = seen;
  const isKnown = ofConfig === em.config.get('filters') && ofEntity === meta.filters;
  const found = isKnown ? ofManager : null;
  added.set(em, found);
  return found;
}

/** True if no MikroORM filter is active for an entity. It does not evaluate filters. */
export function hasNoFilter(em: EntityManager, meta: EntityMetadata): boolean {
  const ofManager = addedFilters(inContext(em), meta);
  return (
    ofManager !== null &&
    areOff(ofManager, meta) &&
    areOff(em.config.get('filters'), meta) &&
    areOff(meta.filters, meta)
  );
}

/**
 * Returns the entity manager behind the global one, within a transaction or a RequestContext. Forks inherit its
 * filters.
 */
function inContext(em: EntityManager): EntityManager {
  if (!em.global) return em;
  const context = TransactionContext.getEntityManager(em.name) ?? em.config.get('context')(em.name);
  // Two ORMs of one application may have the same name.
  return context?.config === em.config ? context : em;
}

function areOff(filters: Filters, meta: EntityMetadata): boolean {
  return isEmpty(filters) || search.getActiveFilters(meta, NO_OPTIONS, filters).length === 0;
}

/**
 * Returns the filters for the other end of a relation, as MikroORM merges the filters of the relation and of a query;
 * undefined: the defaults.
 */
export function relationFilters(
  { filters }: EntityProperty,
  ofQuery: FilterOptions | undefined,
): FilterOptions | undefined {
  if (typeof filters !== 'object' || typeof ofQuery !== 'object') return ofQuery ?? filters;
  return Utils.mergeConfig({}, optionsByName(filters), optionsByName(ofQuery));
}

/** A list of names activates these filters. */
function optionsByName(filters: Exclude<FilterOptions, boolean>): Dictionary<boolean | Dictionary> {
  return Array.isArray(filters) ? Object.fromEntries(filters.map((name) => [name, true])) : filters;
}

/** Marks a filter that no query set can turn off, neither by its name nor with all others. */
export const ALWAYS_ON: unique symbol = Symbol('viewset.alwaysOn');

/** Returns the options of a query without those that would turn off a filter that is always on. */
export function keepAlwaysOn(em: EntityManager, meta: EntityMetadata, options: FilterOptions): FilterOptions {
  if (options === true || Array.isArray(options)) return options;
  const ofConfig = em.config.get('filters');
  const isAlwaysOn = (name: string): boolean => ALWAYS_ON in (ofConfig[name] ?? {});
  if (!Object.keys(ofConfig).some(isAlwaysOn)) return options;
  const entries = Object.entries(options === false ? everyFilterOff(em, meta) : options);
  return Object.fromEntries(entries.filter(([name, option]) => option !== false || !isAlwaysOn(name)));
}

function everyFilterOff(em: EntityManager, meta: EntityMetadata): Dictionary<false> {
  const ofEntities = [...em.getMetadata()].map(({ filters }) => filters);
  const all = [em.config.get('filters'), addedFilters(inContext(em), meta) ?? {}, ...ofEntities];
  return Object.fromEntries(all.flatMap((filters) => Object.keys(filters)).map((name) => [name, false]));
}

/** Returns the filters that a query activates or gives parameters, without those that it turns off. */
export function filtersPutOn(filters: FilterOptions | undefined): FilterOptions {
  if (filters === undefined || filters === false) return {};
  if (filters === true || Array.isArray(filters)) return filters;
  return Object.fromEntries(Object.entries(filters).filter(([, option]) => option !== false));
}

/** The condition of the filters that are on. */
export interface ActiveFilter {
  readonly where: FilterQuery<object>;
  /** True if a filter is strict: it also hides the owners of hidden records. */
  readonly isStrict: boolean;
}

/** Returns the condition of an entity's active filters; undefined if there is none, or it is empty. */
export async function activeFilter(
  em: EntityManager,
  meta: EntityMetadata,
  options: unknown,
): Promise<ActiveFilter | undefined> {
  const where = await applyFilters(em, meta, options).catch((error: unknown) => {
    throw missingParameters(error, meta.className) ?? error;
  });
  if (where === NOTHING || where === undefined || isEmptyWhere(where as object)) return undefined;
  return { where: where as FilterQuery<object>, isStrict: isStrict(where) };
}

/** True for an empty condition. The keys of SQL fragments, which MikroORM also makes from JSON, are symbols. */
export function isEmptyWhere(where: object): boolean {
  return Object.keys(where).length === 0 && Object.getOwnPropertySymbols(where).length === 0;
}

/** MikroORM marks the condition of a strict filter, and keeps the mark when it joins several. */
function isStrict(where: unknown): boolean {
  const { __strict, $and } = where as { __strict?: boolean; $and?: unknown };
  return __strict === true || (Array.isArray($and) && $and.some(isStrict));
}
