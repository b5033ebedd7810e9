import { type EntityManager, type EntityMetadata, type FilterQuery, QueryFlag } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { primaryKey } from '../fields/primary-key.ts';

/** The part of MikroORM's SQL entity manager that is used. */
export interface SqlEntityManager {
  createQueryBuilder(entity: EntityMetadata['class'], alias: string): QueryBuilder;
}

interface QueryBuilder {
  unsetFlag(flag: QueryFlag): this;
  select(fields: readonly string[]): this;
  where(condition: FilterQuery<object>): this;
  toQuery(): { readonly sql: string; readonly params: readonly unknown[] };
}

/**
 * The statement that MikroORM builds to select the keys of records that match one of its conditions.
 * @param isConverted true if MikroORM has already converted the condition's values to database values
 */
export function keysQuery(
  em: EntityManager,
  meta: EntityMetadata,
  where: FilterQuery<object>,
  isConverted: boolean,
): { readonly sql: string; readonly params: readonly unknown[] } {
  const { createQueryBuilder } = em as Partial<SqlEntityManager>;
  if (createQueryBuilder === undefined) {
    throw new ImproperlyConfigured(`${meta.className}: matching() needs a SQL driver of MikroORM`);
  }
  const query = createQueryBuilder.call(em, meta.class, 'm');
  if (isConverted) query.unsetFlag(QueryFlag.CONVERT_CUSTOM_TYPES);
  return query
    .select([primaryKey(meta).key])
    .where(where)
    .toQuery();
}
