import type { EntityManager } from '@mikro-orm/core';

/**
 * Runs work in one transaction of the entity manager: committed when it is done, rolled back when it throws, so that a
 * request that fails leaves nothing behind. Inside a transaction already, it is a savepoint.
 */
export async function inTransaction<Result>(em: EntityManager, work: () => Promise<Result>): Promise<Result> {
  await em.begin();
  let result: Result;
  try {
    result = await work();
    await em.commit();
  } catch (error) {
    // On a connection that is lost there is nothing to roll back; what counts is why the transaction failed.
    await em.rollback().catch(() => {});
    throw error;
  }
  return result;
}
