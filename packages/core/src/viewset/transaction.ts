import type { FastifyRequest } from 'fastify';
import { checkNotGivenUp } from '../given-up.ts';

/**
 * Runs work in one transaction of the request's entity manager: committed when it is done, rolled back when it throws or
 * the client has been told meanwhile that it took too long, so that a request that fails leaves nothing behind. Inside a
 * transaction already, it is a savepoint.
 */
export async function inTransaction<Result>(request: FastifyRequest, work: () => Promise<Result>): Promise<Result> {
  const { em } = request;
  await em.begin();
  let result: Result;
  try {
    result = await work();
    checkNotGivenUp(request);
    await em.commit();
  } catch (error) {
    // On a connection that is lost there is nothing to roll back; what counts is why the transaction failed.
    await em.rollback().catch(() => {});
    throw error;
  }
  return result;
}
