import { Utils, type EntityManager, type EntityMetadata, type EntityProperty, type FilterQuery } from '@mikro-orm/core';
import type { FieldPath } from '../../fields/field-path.ts';
import { isReference } from '../../fields/field-type.ts';
import { always, type Condition } from '../../language/condition.ts';
import { askFilters, NO_FILTER } from '../../mikro/ask-filters.ts';
import type { EntityPlan } from './entity-plan.ts';
import type { OrderKey } from '../../language/order.ts';
import type { RelatedFilter } from './scope.ts';
import { whereCondition } from '../../language/where-condition.ts';

/** What MikroORM's filters add to a query: soft deletion, tenants. */
export interface EntityFilters {
  readonly condition: Condition;
  readonly related: ReadonlyMap<string, RelatedFilter> | undefined;
}

/**
 * The filters that are on: those of the entity, of the configuration and of the entity manager, with their parameters.
 * Those of a related entity hide the related record, which then reads as NULL; where a record cannot be without it, the
 * record as well, as `em.find` has it.
 */
export async function entityFilters(
  em: EntityManager,
  plan: EntityPlan,
  condition: Condition,
  paths: readonly FieldPath[],
  order: readonly OrderKey[],
): Promise<EntityFilters> {
  const own = await filterOf(em, plan.meta, {});
  const { config } = em;
  const ownCondition = own?.condition ?? always;
  if (!config.get('filtersOnRelations')) return { condition: ownCondition, related: undefined };
  const walked = new Map<string, readonly EntityProperty[]>();
  for (const property of plan.hiding) walked.set(property.name, [property]);
  for (const path of paths) addPath(walked, path);
  for (const { path } of order) addPath(walked, path);
  addCondition(walked, condition);
  let related: Map<string, RelatedFilter> | undefined;
  for (const [key, steps] of walked) {
    const filter = await relatedFilter(em, steps);
    if (filter !== undefined) (related ??= new Map<string, RelatedFilter>()).set(key, filter);
  }
  return { condition: ownCondition, related };
}

async function relatedFilter(em: EntityManager, steps: readonly EntityProperty[]): Promise<RelatedFilter | undefined> {
  const step = steps.at(-1) as EntityProperty;
  if (step.polymorphic || step.filters === (false as never)) return undefined;
  const condition = await filterOf(em, step.targetMeta as EntityMetadata, step.filters ?? {});
  if (condition === undefined) return undefined;
  const joins = em.config.get('autoJoinRefsForFilters') && steps.length === 1 && step.owner;
  return { condition: condition.condition, required: joins && (step.nullable !== true || condition.isStrict) };
}

interface Found {
  readonly condition: Condition;
  readonly isStrict: boolean;
}

async function filterOf(em: EntityManager, meta: EntityMetadata, options: unknown): Promise<Found | undefined> {
  const where = await askFilters(em, meta.class, options);
  if (where === NO_FILTER || where === undefined || !Utils.hasObjectKeys(where as object)) return undefined;
  return { condition: whereCondition(meta, where as FilterQuery<object>), isStrict: isStrict(where) };
}

/** MikroORM marks the condition of a strict filter, and leaves the mark where it joins several. */
function isStrict(where: unknown): boolean {
  const { __strict, $and } = where as { __strict?: boolean; $and?: unknown };
  return __strict === true || (Array.isArray($and) && $and.some(isStrict));
}

function addPath(walked: Map<string, readonly EntityProperty[]>, { steps, property }: FieldPath): void {
  let key = '';
  for (const [index, step] of steps.entries()) {
    key += (index === 0 ? '' : '.') + step.name;
    if (!walked.has(key)) walked.set(key, steps.slice(0, index + 1));
  }
  if (!isReference(property)) return;
  key += (steps.length === 0 ? '' : '.') + property.name;
  if (!walked.has(key)) walked.set(key, [...steps, property]);
}

function addCondition(walked: Map<string, readonly EntityProperty[]>, condition: Condition): void {
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
