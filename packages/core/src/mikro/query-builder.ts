import type { EntityManager, EntityMetadata, FilterQuery } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import { primaryKey } from '../fields/primary-key.ts';

/** The part of MikroORM's SQL drivers that is used; the parameters behind the first are internal. */
interface SqlDriver {
  createQueryBuilder?(
    entity: unknown,
    transaction: undefined,
    connection: 'read',
    convertsTypes: boolean,
    loggerContext: undefined,
    alias: string,
    em: EntityManager,
  ): QueryBuilder;
}

interface QueryBuilder {
  select(fields: readonly string[]): this;
  where(condition: FilterQuery<object>): this;
  toQuery(): { readonly sql: string; readonly params: readonly unknown[] };
}

/**
 * The statement that MikroORM makes for the keys of the records that a condition in its words is true of.
 * @param isConverted true if MikroORM has made database values of the condition's values already
 */
export function keysQuery(
  em: EntityManager,
  meta: EntityMetadata,
  where: FilterQuery<object>,
  isConverted: boolean,
): { readonly sql: string; readonly params: readonly unknown[] } {
  const driver = em.getDriver() as unknown as SqlDriver;
  if (driver.createQueryBuilder === undefined) {
    throw new ImproperlyConfigured(`${meta.className}: matching() needs a SQL driver of MikroORM`);
  }
  const query = driver.createQueryBuilder(meta.class, undefined, 'read', !isConverted, undefined, 'm', em);
  return query
    .select([primaryKey(meta).key])
    .where(where)
    .toQuery();
}
