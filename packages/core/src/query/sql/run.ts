import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../../awaitable.ts';
import { fieldPath } from '../../fields/field-path.ts';
import { and, type Condition } from '../condition.ts';
import { entityFilters } from '../entity-filters.ts';
import { entityPlan, type EntityPlan } from './entity-plan.ts';
import type { OrderKey } from '../order.ts';
import type { Selection } from './selection.ts';
import { bindStatement, type Query } from './statement.ts';
import { isKnownUnfiltered } from './unfiltered.ts';

/** Which of the records to read. */
export interface Slice {
  readonly offset: number;
  readonly limit: number;
}

/** What rows to read. */
export interface RowQuery {
  readonly condition: Condition;
  readonly order: readonly OrderKey[];
  readonly slice: Slice | undefined;
  readonly select: Selection;
  readonly locked: boolean;
}

export function readRows(em: EntityManager, meta: EntityMetadata, query: RowQuery): Awaitable<unknown[][]> {
  if (isNever(query.condition) || query.slice?.limit === 0) return [];
  const plan = entityPlan(em, meta);
  const asked = isOne(meta, query) ? { ...query, order: [], slice: undefined } : query;
  return whenReady(withFilters(em, plan, asked), (filtered) => {
    const { statement, values } = bindStatement(em, plan, filtered);
    return plan.dialect.read(em, (reader) => reader.rows(statement, values));
  });
}

export async function readCount(em: EntityManager, meta: EntityMetadata, condition: Condition): Promise<number> {
  if (isNever(condition)) return 0;
  const [row] = await readOne(em, meta, condition, 'count');
  return Number(row?.[0]);
}

export async function readExists(em: EntityManager, meta: EntityMetadata, condition: Condition): Promise<boolean> {
  if (isNever(condition)) return false;
  return (await readOne(em, meta, condition, 'exists')).length > 0;
}

function readOne(
  em: EntityManager,
  meta: EntityMetadata,
  condition: Condition,
  select: 'count' | 'exists',
): Awaitable<unknown[][]> {
  const plan = entityPlan(em, meta);
  const slice = select === 'exists' ? { offset: 0, limit: 1 } : undefined;
  return whenReady(withFilters(em, plan, { condition, select, order: [], slice, locked: false }), (query) => {
    const { statement, values } = bindStatement(em, plan, query);
    return plan.dialect.read(em, (reader) => reader.rows(statement, values));
  });
}

/** Adds the filters of MikroORM that are on. */
export function withFilters(
  em: EntityManager,
  plan: EntityPlan,
  query: Omit<Query, 'related' | 'counted'>,
  counted = false,
): Awaitable<Query> {
  const { select, condition, order, slice, locked } = query;
  if (isKnownUnfiltered(em, plan.meta)) return { select, condition, order, slice, locked, counted, related: undefined };
  const paths = typeof select === 'string' ? [] : select.paths;
  return whenReady(entityFilters(em, plan, condition, paths, order), (filters) => ({
    ...query,
    counted,
    condition: and(filters.condition, condition),
    related: filters.related,
  }));
}

/** True where the condition names the primary key, so that there is no order among the records, and no second one. */
function isOne(meta: EntityMetadata, { condition, slice }: RowQuery): boolean {
  if (slice?.offset !== 0) return false;
  const pk = fieldPath(meta, meta.primaryKeys[0] as string, '.');
  const parts = condition.kind === 'and' ? condition.conditions : [condition];
  return parts.some((part) => part.kind === 'compare' && part.path === pk && part.lookup === 'exact');
}

export function isNever(condition: Condition): boolean {
  return condition.kind === 'constant' && !condition.value;
}
