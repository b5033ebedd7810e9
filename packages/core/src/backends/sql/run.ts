import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../../awaitable.ts';
import { and, type Condition, isNever } from '../../language/condition.ts';
import { entityFilters } from './entity-filters.ts';
import { entityPlan, type EntityPlan } from './entity-plan.ts';
import { bindStatement, oneRow, type Query, type Slice } from './statement.ts';
import { isKnownUnfiltered } from '../../mikro/unfiltered.ts';

/** The rows of a query; where it takes none, no statement is run. */
export function readRows(em: EntityManager, meta: EntityMetadata, query: Query): Awaitable<unknown[][]> {
  if (isNever(query.condition) || query.slice?.limit === 0) return [];
  const plan = entityPlan(em, meta);
  return whenReady(withFilters(em, plan, query), (filtered) => run(em, plan, filtered));
}

export async function readCount(em: EntityManager, meta: EntityMetadata, condition: Condition): Promise<number> {
  if (isNever(condition)) return 0;
  const [row] = await readRows(em, meta, oneRow('count', { condition }));
  return Number(row?.[0]);
}

export async function readExists(em: EntityManager, meta: EntityMetadata, condition: Condition): Promise<boolean> {
  return (await readRows(em, meta, oneRow('exists', { condition }, ANY))).length > 0;
}

const ANY: Slice = { offset: 0, limit: 1 };

function run(em: EntityManager, plan: EntityPlan, query: Query): Awaitable<unknown[][]> {
  const { statement, values } = bindStatement(em, plan, query);
  return plan.dialect.read(em, (reader) => reader.rows(statement, values));
}

/** Adds the filters of MikroORM that are on. */
export function withFilters(em: EntityManager, plan: EntityPlan, query: Query): Awaitable<Query> {
  if (isKnownUnfiltered(em, plan.meta)) return query;
  const { select, condition, order } = query;
  const paths = typeof select === 'string' ? [] : select.paths;
  return entityFilters(em, plan, condition, paths, order).then((filters) => ({
    ...query,
    condition: and(filters.condition, condition),
    related: filters.related,
  }));
}
