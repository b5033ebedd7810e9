import type { MikroORM } from '@mikro-orm/core';

/**
 * Reports whether a transaction can skip records that others have locked, instead of waiting: true only for PostgreSQL.
 * On SQLite one transaction writes at a time, and on MongoDB the second write of a record fails.
 *
 * A skipped record may stay unchanged. So look again later, or treat it as if it were about to change.
 *
 * @example
 * import { LockMode } from '@mikro-orm/core';
 * const lockMode = canSkipLocked(orm) ? LockMode.PESSIMISTIC_PARTIAL_WRITE : LockMode.NONE;
 * await orm.em.transactional((em) => em.find(Product, { stock: 0 }, { lockMode }));
 * // SELECT … FROM product WHERE stock = 0 FOR UPDATE SKIP LOCKED
 */
export function canSkipLocked({ driver }: { readonly driver: Pick<MikroORM['driver'], 'getDependencies'> }): boolean {
  // The client package of the driver decides, as it does for the dialect.
  return driver.getDependencies().includes('pg');
}
