import { type EntityManager, type MikroORM, TransactionContext } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { checkNotGivenUp, onGivenUp, tookTooLong } from '../given-up.ts';

/**
 * The entity manager of a transaction that the application has begun by `em.transactional()`, within its callback;
 * undefined outside of one. MikroORM hands it to the callback alone, so that other code would write past the transaction.
 */
export function transactionalManager({ em: { name, config } }: MikroORM): EntityManager | undefined {
  const em = TransactionContext.getEntityManager(name);
  // Two ORMs of one application may have one name.
  return em?.config === config ? em : undefined;
}

/** Refuses every statement: one that came while the transaction is being rolled back would run after it, outside of any. */
const ENDED = new Proxy(
  {},
  {
    get(): never {
      throw tookTooLong();
    },
  },
);

/**
 * Runs work in one transaction of the request's entity manager: committed when the work is done, rolled back when the
 * work throws. Inside a transaction it is a savepoint, whose fate the outer transaction decides.
 *
 * A request that is given up is rolled back at once, so that a hook which never settles holds no connection. What the hook
 * still asks of the entity manager then fails, because its transaction has ended.
 *
 * @param isKept asked when the work is done; false rolls it back all the same
 */
export async function inTransaction<Result>(
  request: FastifyRequest,
  work: () => Promise<Result>,
  isKept: () => boolean = () => true,
): Promise<Result> {
  checkNotGivenUp(request);
  const { em } = request;
  const outer = em.getTransactionContext<object>();
  await em.begin(outer === undefined ? {} : { ctx: outer });
  const own = em.getTransactionContext<object>();
  let isGivenUp = false;
  let stopListening: (() => void) | undefined;
  const givenUp = new Promise<never>((_, reject) => {
    stopListening = onGivenUp(request, () => {
      isGivenUp = true;
      em.setTransactionContext(outer ?? ENDED);
      reject(tookTooLong());
    });
  });
  try {
    // The request may have waited for a connection.
    checkNotGivenUp(request);
    const result = await Promise.race([givenUp, flushed(work())]);
    checkNotGivenUp(request);
    stopListening?.();
    if (isKept()) await em.commit();
    else await em.rollback();
    if (outer !== undefined) em.setTransactionContext(outer);
    return result;
  } catch (error) {
    // What counts is why the transaction failed. On a connection that is lost there is nothing to roll back.
    if (!isGivenUp) {
      await em.rollback().catch(ignore);
      if (outer !== undefined) em.setTransactionContext(outer);
      throw error;
    }
    await em.getConnection('write').rollback(own).catch(ignore);
    // A flush that was under way has put the transaction that it began with in force again.
    em.setTransactionContext(outer ?? ENDED);
    throw error;
  } finally {
    stopListening?.();
  }

  async function flushed(working: Promise<Result>): Promise<Result> {
    const result = await working;
    await em.flush();
    return result;
  }
}

function ignore(): void {}
