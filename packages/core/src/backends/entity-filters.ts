import type { EntityManager, EntityMetadata, EntityProperty, FilterOptions } from '@mikro-orm/core';
import type { Awaitable } from '../support/awaitable.ts';
import { ImproperlyConfigured } from '../errors/errors.ts';
import type { FieldPath } from '../fields/field-path.ts';
import { isPolymorphic, isReference, ownsColumn } from '../fields/property.ts';
import { acrossRelations } from '../query/language/across-relations.ts';
import { always, and, inFilterScope, type Condition, isAlways, type FilterScope } from '../query/language/condition.ts';
import type { Query } from '../query/language/query.ts';
import { countedRecords, isRelatedPath } from '../query/language/related-path.ts';
import { relationCondition, whereCondition } from '../query/language/where-condition.ts';
import type { Purpose } from '../mikro/connection-for.ts';
import { activeFilter, hasNoFilter, relationFilters } from '../mikro/filters.ts';
import { hiddenTarget } from './check-entity.ts';
import { QueryMemo } from './query-memo.ts';
import { managerOf, purposeOf, readerOf, type Source } from './source.ts';

/** The filters of a related entity. Records that do not match are hidden. */
export interface RelatedFilter {
  readonly condition: Condition;
  /** True if a record is hidden together with its related record. */
  readonly required: boolean;
}

/** By the path from the root of the query to the related records: `role`, `role.parent`, `role.filter:parent`. */
export type RelatedFilters = ReadonlyMap<string, RelatedFilter>;

/** Returns the prefix for relations in a separate place. */
export function filterScopePrefix(prefix: string, place: FilterScope): string {
  return `${prefix}${place}:`;
}

/** The visible records of a query, and the entity manager to read them with. */
export interface Visible {
  readonly em: EntityManager;
  /** Decides whether a replica may answer. */
  readonly purpose: Purpose;
  readonly condition: Condition;
  /** Undefined if no related record is hidden. */
  readonly related: RelatedFilters | undefined;
}

/**
 * Adds MikroORM's enabled filters (soft deletion, tenants) to a query: the filters of the entity, the configuration and
 * the entity manager, with their parameters. The filters of a related entity hide the related record, which then reads
 * as NULL. If a record requires its related record, the record is hidden too, as in `em.find`. The `where` option of a
 * relation always hides related records.
 *
 * Without a filter, nothing depends on the request. Then the global entity manager reads, and no fork is needed.
 */
export function withFilters(source: Source, query: Query, paths: readonly FieldPath[]): Awaitable<Visible> {
  const reader = readerOf(source);
  const purpose = purposeOf(source);
  const walk = query.meta.relations.length > 0 ? walkOf(query, paths) : NO_WALK;
  const isPlain = query.filters === undefined && reader.global && areUnfiltered(reader, query.meta, walk.entities);
  if (isPlain) return { em: reader, purpose, condition: query.condition, related: undefined };
  return addFilters(managerOf(source), purpose, query, walk.relations);
}

const reachable = new WeakMap<EntityMetadata, Walk['entities']>();

/** True if no filter is on for an entity, nor for any entity that its relations reach. */
export function isUnfiltered(em: EntityManager, meta: EntityMetadata): boolean {
  let entities = reachable.get(meta);
  if (entities === undefined) reachable.set(meta, (entities = reachableEntities(meta)));
  return areUnfiltered(em, meta, entities);
}

function reachableEntities(meta: EntityMetadata): Walk['entities'] {
  const entities = new Set([meta]);
  const relations: EntityProperty[] = [];
  for (const entity of entities) {
    for (const relation of entity.relations.filter(isReference)) {
      relations.push(relation);
      entities.add(relation.targetMeta as EntityMetadata);
    }
  }
  return targetsOf(meta, relations);
}

/**
 * Lists the targets of relations, without duplicates and without the start. Undefined if a relation has its own filters
 * or condition, or several targets. Then each filter must be checked.
 */
function targetsOf(meta: EntityMetadata, relations: readonly EntityProperty[]): Walk['entities'] {
  const targets = new Set<EntityMetadata>();
  for (const relation of relations) {
    const { targetMeta } = relation;
    const isPlain = !isPolymorphic(relation) && relation.filters === undefined && relation.where === undefined;
    if (!isPlain || targetMeta === undefined) return undefined;
    if (targetMeta !== meta) targets.add(targetMeta);
  }
  return [...targets];
}

function areUnfiltered(em: EntityManager, meta: EntityMetadata, others: Walk['entities']): boolean {
  return hasNoFilter(em, meta) && others !== undefined && others.every((other) => hasNoFilter(em, other));
}

/** A relation that matters to a query. The key in the map is the path to its records. */
interface Relation {
  readonly step: EntityProperty;
  /** True for a relation of the read records. False for relations of related records, and for relations in filters. */
  readonly isDirect: boolean;
  /** False if the query does not use the relation. It may still hide the record. */
  readonly isTouched: boolean;
  /**
   * The entities whose filters use the relation, from the outermost to the innermost. The entity that the query itself
   * uses is not among them. Undefined if the query itself uses the relation.
   */
  readonly filterChain: readonly Entity[] | undefined;
}

/** The class of an entity. Its metadata may exist several times, because relations have copies. */
type Entity = EntityMetadata['class'];

type Relations = Map<string, Relation>;

/** The relations that matter to a query, by their paths. */
interface Walk {
  readonly relations: Relations;
  /** The entities at their ends. Undefined if each of their filters must be checked. */
  readonly entities: readonly EntityMetadata[] | undefined;
}

const NO_WALK: Walk = { relations: new Map(), entities: [] };

/** The walks of the views' own queries, which repeat, by the columns that they read. */
const walks = new QueryMemo<Walk>();

async function addFilters(em: EntityManager, purpose: Purpose, query: Query, walked: Relations): Promise<Visible> {
  const { meta, condition, filters, isLoaded = false } = query;
  const active = filters === false || isLoaded ? undefined : await activeFilter(em, meta, filters ?? {});
  // Copied, because the walk is cached for later queries.
  const relations: Relations = new Map(walked);
  const entityCondition =
    active === undefined ? always : convertFilter(relations, whereCondition(meta, active.where), '', []);
  const related = new Map<string, RelatedFilter>();
  const known = new Map<EntityProperty, RelatedFilter | undefined>();
  for (const [path, { step, isDirect, isTouched, filterChain }] of relations) {
    if (isDirect && isPolymorphic(step)) await checkTargets(em, meta, step, filters);
    if (!known.has(step)) known.set(step, await relatedFilter(em, step, filters));
    const filter = known.get(step);
    const required = isDirect && !isLoaded && filter?.required === true;
    if (filter === undefined || !(isTouched || required)) continue;
    const chain = filterChain === undefined ? [] : [...filterChain, entityOf(step)];
    related.set(path, { required, condition: convertFilter(relations, filter.condition, `${path}.`, chain) });
  }
  return {
    em,
    purpose,
    condition: and(entityCondition, condition),
    related: related.size === 0 ? undefined : related,
  };
}

/**
 * Converts a filter's conditions on relations to lookups in a separate place, and adds these relations. The filters of
 * their entities apply there too, as in `em.find`. To avoid endless recursion, a filter that leads back to an entity in
 * `filterChain` reads all records.
 *
 * @param prefix the path to the filtered records
 * @param filterChain the entities whose filters use the relation, see `Relation`
 */
function convertFilter(
  relations: Relations,
  condition: Condition,
  prefix: string,
  filterChain: readonly Entity[],
): Condition {
  if (condition.kind === 'and') {
    return and(...condition.conditions.map((one) => convertFilter(relations, one, prefix, filterChain)));
  }
  const lookups = condition.kind === 'matching' ? acrossRelations(condition) : undefined;
  if (lookups === undefined) return condition;
  const through: Relations = new Map();
  addCondition(through, lookups, filterScopePrefix(prefix, 'filter'));
  const leadsBack = [...through.values()].some(({ step }) => filterChain.includes(entityOf(step)));
  if (leadsBack) return inFilterScope('unfiltered', lookups);
  for (const [path, relation] of through) relations.set(path, { ...relation, filterChain });
  return inFilterScope('filter', lookups);
}

function entityOf({ targetMeta }: EntityProperty): Entity {
  return (targetMeta as EntityMetadata).class;
}

/**
 * @throws ImproperlyConfigured if a filter hides targets of a polymorphic relation. `em.find` would hide the records
 * that refer to them too
 */
async function checkTargets(
  em: EntityManager,
  { className }: EntityMetadata,
  relation: EntityProperty,
  filters: Query['filters'],
): Promise<void> {
  const options = relatedOptions(em, relation, filters);
  if (options === false || !em.config.get('autoJoinRefsForFilters')) return;
  for (const target of relation.polymorphTargets ?? []) {
    if ((await activeFilter(em, target, options)) === undefined) continue;
    throw new ImproperlyConfigured(`${className} is not supported: ${hiddenTarget(relation.name, target)}`);
  }
}

/** Returns the filters for related records, in MikroORM's form. False: no filters. */
function relatedOptions(em: EntityManager, relation: EntityProperty, filters: Query['filters']): FilterOptions {
  return em.config.get('filtersOnRelations') && (relationFilters(relation, filters) ?? {});
}

async function relatedFilter(
  em: EntityManager,
  step: EntityProperty,
  filters: Query['filters'],
): Promise<RelatedFilter | undefined> {
  const target = step.targetMeta;
  if (target === undefined || isPolymorphic(step)) return undefined;
  const condition = relationCondition(step);
  const options = relatedOptions(em, step, filters);
  const filter = options === false ? undefined : await activeFilter(em, target, options);
  if (filter === undefined) return isAlways(condition) ? undefined : { condition, required: false };
  const joins = em.config.get('autoJoinRefsForFilters') && step.owner;
  return {
    condition: and(condition, whereCondition(target, filter.where)),
    required: joins && (step.nullable !== true || filter.isStrict),
  };
}

function walkOf(query: Query, paths: readonly FieldPath[]): Walk {
  return query.author === 'view'
    ? walks.get(query, paths, () => walkRelations(query, paths))
    : walkRelations(query, paths);
}

/**
 * Includes every relation with a column in the entity's table, because it may hide the record together with the related
 * one.
 */
function walkRelations({ meta, condition, order }: Query, paths: readonly FieldPath[]): Walk {
  const walked: Relations = new Map();
  for (const path of paths) addPath(walked, path);
  for (const { path } of order.total) addPath(walked, path);
  addCondition(walked, condition);
  for (const property of meta.relations) {
    if (ownsColumn(property)) addRelation(walked, property, '', false);
  }
  const ends = [...walked.values()].map(({ step }) => step);
  return { relations: walked, entities: targetsOf(meta, ends) };
}

/** @param prefix the path to the start of this path */
function addPath(walked: Relations, path: FieldPath, prefix = ''): void {
  if (isRelatedPath(path)) {
    addCondition(walked, countedRecords(path), addSteps(walked, path.related.steps, prefix));
    return;
  }
  const { steps, property, isStored } = path;
  addSteps(walked, isReference(property) && isStored !== true ? [...steps, property] : steps, prefix);
}

/** Adds a chain of relations. Returns the prefix of the records at its end. */
function addSteps(walked: Relations, steps: readonly EntityProperty[], prefix: string): string {
  return steps.reduce((leading, step) => `${addRelation(walked, step, leading, true)}.`, prefix);
}

function addRelation(walked: Relations, step: EntityProperty, prefix: string, isTouched: boolean): string {
  const path = prefix + step.name;
  if (!walked.has(path)) walked.set(path, { step, isDirect: prefix === '', isTouched, filterChain: undefined });
  return path;
}

function addMatching(walked: Relations, condition: Extract<Condition, { kind: 'matching' }>, prefix: string): void {
  addSteps(walked, condition.steps, prefix);
  const lookups = condition.converted ? undefined : acrossRelations(condition);
  if (lookups !== undefined) addCondition(walked, lookups, prefix);
}

function addCondition(walked: Relations, condition: Condition, prefix = ''): void {
  switch (condition.kind) {
    case 'compare':
      return addPath(walked, condition.path, prefix);
    case 'not':
      return addCondition(walked, condition.condition, prefix);
    case 'some':
      return addCondition(walked, condition.condition, addSteps(walked, condition.steps, prefix));
    case 'after':
      for (const { path } of condition.keys) addPath(walked, path, prefix);
      return;
    case 'and':
    case 'or':
      for (const inner of condition.conditions) addCondition(walked, inner, prefix);
      return;
    case 'matching':
      return addMatching(walked, condition, prefix);
    case 'constant':
    case 'native':
    case 'filterScope':
  }
}
