import type { MikroORM } from '@mikro-orm/core';

/**
 * Tells if a transaction can pass by records that others have locked, instead of waiting for them: true for PostgreSQL alone. On SQLite one
 * transaction writes at a time, and on MongoDB the second write of a record fails.
 *
 * What is passed by may be left as it was. So look again later, or treat it as if it were about to change.
 *
 * @example
 * import { LockMode } from '@mikro-orm/core';
 * const lockMode = canSkipLocked(orm) ? LockMode.PESSIMISTIC_PARTIAL_WRITE : LockMode.NONE;
 * await orm.em.transactional((em) => em.find(Product, { stock: 0 }, { lockMode }));
 * // SELECT … FROM product WHERE stock = 0 FOR UPDATE SKIP LOCKED
 */
export function canSkipLocked({ driver }: { readonly driver: Pick<MikroORM['driver'], 'getDependencies'> }): boolean {
  // The client package of the driver tells, as it does which dialect an ORM has.
  return driver.getDependencies().includes('pg');
}
