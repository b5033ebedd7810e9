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
    await em.rollback();
    throw error;
  }
  return result;
}
