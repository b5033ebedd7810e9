import type { EntityManager, EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Awaitable } from '../awaitable.ts';
import type { FieldPath } from '../fields/field-path.ts';
import { isReference, ownsColumn } from '../fields/property.ts';
import { and, type Condition } from '../language/condition.ts';
import type { OrderKey } from '../language/order.ts';
import { whereCondition } from '../language/where-condition.ts';
import { activeFilter, hasNoFilter } from '../mikro/filters.ts';
import { managerOf, readerOf, type Source } from './source.ts';

/** What related records must be like to be seen: the filters of their own entity. */
export interface RelatedFilter {
  readonly condition: Condition;
  /** True if a record is not seen itself whose related record is not. */
  readonly required: boolean;
}

/** By the path that leads to the related records from the root of the query: `role`, `role.parent`. */
export type RelatedFilters = ReadonlyMap<string, RelatedFilter>;

/** The records that a query asks for, and the columns that it touches. */
export interface Asked {
  readonly meta: EntityMetadata;
  readonly condition: Condition;
  readonly order: readonly OrderKey[];
  readonly paths: readonly FieldPath[];
}

/** The records that may be seen of those that were asked for, and the entity manager to read them with. */
export interface Visible {
  readonly em: EntityManager;
  readonly condition: Condition;
  /** Undefined if no related record is hidden. */
  readonly related: RelatedFilters | undefined;
}

/**
 * Adds MikroORM's filters that are on (soft deletion, tenants): those of the entity, of the configuration and of the
 * entity manager, with their parameters. Those of a related entity hide the related record, which then reads as NULL; if
 * a record cannot be without it, the record as well, as `em.find` has it.
 *
 * Without a filter nothing depends on the request, so that it is read with the global entity manager and needs no fork.
 */
export function withFilters(source: Source, asked: Asked): Awaitable<Visible> {
  const reader = readerOf(source);
  const walked = reader.config.get('filtersOnRelations') ? walkedRelations(asked) : undefined;
  if (hasNoFilter(reader, asked.meta) && (walked === undefined || leadUnfiltered(reader, asked.meta, walked))) {
    return { em: reader, condition: asked.condition, related: undefined };
  }
  return addFilters(managerOf(source), asked, walked ?? new Map<string, Relation>());
}

function leadUnfiltered(em: EntityManager, meta: EntityMetadata, walked: Walked): boolean {
  let last = meta;
  for (const { steps } of walked.values()) {
    const relation = steps.at(-1) as EntityProperty;
    const isAsked = relation.targetMeta === last && relation.filters === undefined && relation.polymorphic !== true;
    if (!isAsked && !leadsUnfiltered(em, relation)) return false;
    last = relation.targetMeta as EntityMetadata;
  }
  return true;
}

/** A relation that matters to a query, at the end of its path. */
interface Relation {
  readonly steps: readonly EntityProperty[];
  /** False if the query does not touch it: it may hide the record all the same. */
  readonly isTouched: boolean;
}

type Walked = Map<string, Relation>;

function leadsUnfiltered(em: EntityManager, { filters, polymorphic, targetMeta }: EntityProperty): boolean {
  return polymorphic !== true && filters === undefined && targetMeta !== undefined && hasNoFilter(em, targetMeta);
}

/** True if no filter is on for an entity, nor for anything that its relations lead to. */
export function isUnfiltered(em: EntityManager, meta: EntityMetadata): boolean {
  return hasNoFilter(em, meta) && relationsBeyond(meta).every((relation) => leadsUnfiltered(em, relation));
}

const beyond = new WeakMap<EntityMetadata, readonly EntityProperty[]>();

/** The relations of an entity and of all entities that they lead to. */
function relationsBeyond(meta: EntityMetadata): readonly EntityProperty[] {
  let relations = beyond.get(meta);
  if (relations === undefined) {
    const entities = new Set([meta]);
    for (const { relations: further } of entities) {
      for (const { targetMeta } of further.filter(isReference)) entities.add(targetMeta as EntityMetadata);
    }
    beyond.set(meta, (relations = [...entities].flatMap((entity) => entity.relations.filter(isReference))));
  }
  return relations;
}

async function addFilters(em: EntityManager, { meta, condition }: Asked, walked: Walked): Promise<Visible> {
  const own = await activeFilter(em, meta, {});
  const related = new Map<string, RelatedFilter>();
  for (const [key, { steps, isTouched }] of walked) {
    const filter = await relatedFilter(em, steps);
    if (filter !== undefined && (isTouched || filter.required)) related.set(key, filter);
  }
  return {
    em,
    condition: own === undefined ? condition : and(whereCondition(meta, own.where), condition),
    related: related.size === 0 ? undefined : related,
  };
}

async function relatedFilter(em: EntityManager, steps: readonly EntityProperty[]): Promise<RelatedFilter | undefined> {
  const step = steps.at(-1) as EntityProperty;
  const target = step.targetMeta;
  if (step.polymorphic === true || target === undefined || step.filters === (false as never)) return undefined;
  const filter = await activeFilter(em, target, step.filters ?? {});
  if (filter === undefined) return undefined;
  const joins = em.config.get('autoJoinRefsForFilters') && steps.length === 1 && step.owner;
  return {
    condition: whereCondition(target, filter.where),
    required: joins && (step.nullable !== true || filter.isStrict),
  };
}

/** Every relation with a column of the entity's own may hide the record along with the related one. */
function walkedRelations({ meta, condition, order, paths }: Asked): Walked | undefined {
  const walked: Walked = new Map();
  for (const path of paths) addPath(walked, path);
  for (const { path } of order) addPath(walked, path);
  addCondition(walked, condition);
  for (const property of meta.relations) {
    if (ownsColumn(property)) addRelation(walked, property.name, [property], false);
  }
  return walked.size === 0 ? undefined : walked;
}

function addPath(walked: Walked, { steps, property }: FieldPath): void {
  if (steps.length === 0 && property.targetMeta === undefined) return;
  let key = '';
  for (const [index, step] of steps.entries()) {
    key += (index === 0 ? '' : '.') + step.name;
    addRelation(walked, key, steps.slice(0, index + 1), true);
  }
  if (!isReference(property)) return;
  addRelation(walked, key + (steps.length === 0 ? '' : '.') + property.name, [...steps, property], true);
}

function addRelation(walked: Walked, key: string, steps: readonly EntityProperty[], isTouched: boolean): void {
  if (!walked.has(key)) walked.set(key, { steps, isTouched });
}

function addCondition(walked: Walked, condition: Condition): void {
  switch (condition.kind) {
    case 'compare':
      addPath(walked, condition.path);
      break;
    case 'and':
    case 'or':
      for (const inner of condition.conditions) addCondition(walked, inner);
      break;
    case 'not':
      addCondition(walked, condition.condition);
      break;
    case 'after':
      for (const { path } of condition.keys) addPath(walked, path);
      break;
    default:
  }
}
