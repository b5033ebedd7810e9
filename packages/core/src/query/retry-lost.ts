import type { EntityManager } from '@mikro-orm/core';
import { isRepeatedLoss } from '../backends/lost-transactions.ts';
import { repeated } from '../support/repeated.ts';
import { backendOf } from './backend-of.ts';

/**
 * Runs work again while the database aborts its transaction because of others: at most 20 times, with growing
 * pauses. Use it for statements and transactions of your own, outside of a request or of `inTransaction`. Within a
 * transaction of the entity manager, the work runs once, because only the whole transaction can be repeated.
 *
 * Throws the error of the last attempt, for which `isTransactionLost` is true, and any other error of the work at once.
 *
 * @param work begins with nothing: it must find its entities itself, with an entity manager of its own
 * @example
 * await retryLost(orm.em, () =>
 *   orm.em.fork().transactional(async (em) => {
 *     const product = await em.findOneOrFail(Product, 1);
 *     product.stock += 1;
 *   }),
 * );
 */
export function retryLost<Result>(em: EntityManager, work: () => Promise<Result>): Promise<Result> {
  if (em.isInTransaction()) return work();
  const { errors } = backendOf(em);
  return repeated(work, (error, attempt) => isRepeatedLoss(errors, error, attempt));
}
