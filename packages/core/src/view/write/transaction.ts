import { type EntityManager, type MikroORM, TransactionContext, TransactionEventBroadcaster } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { readError } from '../../backends/database-errors.ts';
import { isRepeatedLoss, lossIn, meansLost } from '../../backends/lost-transactions.ts';
import { checkNotAborted, isAborted, onAbort, tookTooLong } from '../../http/abort-state.ts';
import type { Backend } from '../../backends/backend.ts';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { endable } from '../../mikro/endable-transaction.ts';
import { holdTransaction, transactionMethods } from '../../mikro/held-transaction.ts';
import { transactionEnd } from '../../mikro/transaction-ends.ts';
import { lacksTransactions } from '../../mikro/transactions.ts';
import { backendOf } from '../../query/backend-of.ts';
import { repeated } from '../../support/repeated.ts';
import { DeadlockGates } from './deadlock-gates.ts';
import { firstAttempt } from './first-attempt.ts';

/**
 * Returns the entity manager of a transaction that the application began by `em.transactional()`, inside its callback.
 * Undefined outside of one. MikroORM passes it only to the callback, so other code would write outside of the
 * transaction.
 */
export function transactionalManager({ em: { name, config } }: MikroORM): EntityManager | undefined {
  const em = TransactionContext.getEntityManager(name);
  // Two ORMs of one application may have the same name.
  return em?.config === config ? em : undefined;
}

/**
 * Runs work in one transaction of `request.em`, as the views do. After the work, the transaction is flushed and
 * committed. If the work throws, it is rolled back.
 *
 * Inside a transaction, it is a savepoint of the outer transaction. On a database without savepoints (MongoDB) it is a
 * part of the outer transaction, which cannot be committed if this part fails. After a failure, entities keep their
 * changes and the outer flush would write them: refresh them (`em.refresh`), or clear `request.em`, before the outer
 * work continues.
 *
 * If the request is given up (`handlerTimeoutMs`, or the client disconnected), the transaction is rolled back at once,
 * so work that never settles holds no connection. Later calls of `request.em` in the work fail, because the transaction
 * has ended.
 *
 * PostgreSQL stores nothing of a transaction in which a statement has failed, even if the work catches the error: it is
 * rolled back, and the call throws ImproperlyConfigured. Run a statement that may fail in an `inTransaction` of its
 * own.
 *
 * Within the work `em.begin()`, `em.commit()` and `em.rollback()` fail. MikroORM would forget the transaction, and
 * later writes could not be rolled back.
 *
 * Throws ImproperlyConfigured, and does not run the work, if the ORM has no transactions (`disableTransactions`).
 *
 * If the database aborts the transaction because of others (a deadlock or a serialization failure on PostgreSQL, a
 * write conflict on MongoDB), it is repeated, at most 20 times. Files and the works of `afterCommit` of the lost attempt
 * are discarded, and so are the status and headers of its reply. If it is lost each time, or cannot be repeated, the
 * client gets 409 `conflict` with `Retry-After`. It cannot be repeated if the work has read the body as a stream, or has
 * sent the response itself.
 *
 * @param work runs in the transaction, and again with an empty `request.em` after a lost one. So it must find its
 * records itself
 * @param isKept is called after the work; false rolls back the transaction
 * @example
 * app.post('/swap', (request) =>
 *   inTransaction(request, async () => {
 *     const [one, other] = await request.em.find(Book, { id: [1, 2] }, { orderBy: { id: 1 } });
 *     [one!.title, other!.title] = [other!.title, one!.title];
 *   }),
 * );
 */
export async function inTransaction<Result>(
  request: FastifyRequest,
  work: () => Promise<Result>,
  isKept: () => boolean = () => true,
): Promise<Result> {
  const { em } = request;
  const backend = backendOf(em);
  if (em.isInTransaction()) {
    return backend.hasSavepoints ? oneTransaction(request, work, isKept) : joinTransaction(em, work, isKept);
  }
  const first = firstAttempt(request);
  return repeated(
    () => inTurn(request, backend, () => oneTransaction(request, work, isKept)),
    (error, attempt) => isRepeatedLoss(backend.errors, error, attempt) && !isAborted(request) && first.canBeRepeated(),
    () => {
      em.clear();
      first.restore();
    },
  );
}

const gates = new WeakMap<Backend, DeadlockGates>();

/** Runs a transaction, one at a time if the route of its request has had deadlocks. */
function inTurn<Result>(request: FastifyRequest, backend: Backend, run: () => Promise<Result>): Promise<Result> {
  const isDeadlock = (error: unknown): boolean => {
    const loss = lossIn(backend.errors, error);
    return loss !== undefined && backend.errors.isDeadlock(loss);
  };
  return getOrMake(gates, backend, () => new DeadlockGates()).run(() => routeOf(request), run, isDeadlock);
}

function routeOf({ routeOptions: { method, url = '' } }: FastifyRequest): string {
  return `${String(method)} ${url}`;
}

/** Runs work as a part of the current transaction. */
async function joinTransaction<Result>(
  em: EntityManager,
  work: () => Promise<Result>,
  isKept: () => boolean,
): Promise<Result> {
  let isDone = false;
  const letGo = holdTransaction(em, isHeld);
  try {
    const result = await work();
    await em.flush();
    isDone = isKept();
    return result;
  } finally {
    letGo();
    if (!isDone) {
      await backendOf(em).markRollbackOnly(em, cannotGoOn);
      // The outer code may not roll back, and MikroORM reports no rollback after a failed commit.
      await transactionEnd(em)?.undo();
    }
  }
}

async function oneTransaction<Result>(
  request: FastifyRequest,
  work: () => Promise<Result>,
  isKept: () => boolean,
): Promise<Result> {
  checkNotAborted(request);
  const { em } = request;
  const backend = backendOf(em);
  const outer = em.getTransactionContext<object>();
  const { begin, commit, rollback } = transactionMethods(em);
  await begin(outer === undefined ? {} : { ctx: outer });
  const opened = em.getTransactionContext<object>();
  if (opened === undefined) throw lacksTransactions('a write of several steps');
  const { transaction, end, failure } = endable(opened);
  em.setTransactionContext(transaction);
  const letGo = holdTransaction(em, isHeld);
  const givenUp = Promise.withResolvers<never>();
  const stopListening = onAbort(request, () => {
    end(tookTooLong);
    if (outer !== undefined) {
      em.setTransactionContext(outer);
      letGo();
    }
    givenUp.reject(tookTooLong());
  });
  try {
    // The request may have been given up while it waited for a connection.
    checkNotAborted(request);
    const result = await Promise.race([givenUp.promise, flushAfter(work())]);
    checkNotAborted(request);
    stopListening();
    const isStored = isKept();
    const failed = failure();
    // The work has caught its error, but the transaction is lost.
    if (failed !== undefined && meansLost(backend.errors, failed)) throw failed;
    if (isStored && failed !== undefined) await checkStatements(em, opened);
    if (isStored) await commit().catch((error: unknown) => throwKnownError(em, error));
    else await rollback();
    end(hasEnded);
    em.setTransactionContext(outer);
    letGo();
    return result;
  } catch (error) {
    stopListening();
    end(isAborted(request) ? tookTooLong : hasEnded);
    // Keep the first error, which says why the transaction failed. A lost connection has nothing to roll back.
    await em.getConnection('write').rollback(opened, new TransactionEventBroadcaster(em)).catch(ignore);
    em.getUnitOfWork().clearActionsQueue();
    // Later calls of the entity manager by hooks of a given-up request must fail.
    const endless = outer === undefined && isAborted(request);
    em.setTransactionContext(endless ? transaction : outer);
    if (!endless) letGo();
    // The work may have thrown an error of its own instead.
    throw isAborted(request) || !meansLost(backend.errors, failure()) ? error : failure();
  } finally {
    backend.releaseTransaction(opened).catch(ignore);
  }

  async function flushAfter(working: Promise<Result>): Promise<Result> {
    const result = await working;
    await em.flush();
    return result;
  }
}

/** COMMIT checks deferred constraints. MikroORM returns its errors in the driver's form. */
function throwKnownError(em: EntityManager, error: unknown): never {
  const backend = backendOf(em);
  const known = readError(backend.errors, em.getPlatform(), error);
  if (known instanceof Error) commitErrors.add(known);
  throw known;
}

const commitErrors = new WeakSet<Error>();

/** Reports whether COMMIT failed with an error, which is about any statement of its transaction. */
export function isCommitError(error: unknown): boolean {
  return error instanceof Error && commitErrors.has(error);
}

/** PostgreSQL stores nothing after an error outside of a savepoint, but reports no error on COMMIT. */
async function checkStatements(em: EntityManager, transaction: object): Promise<void> {
  try {
    await em.getConnection('write').execute('select 1', [], 'get', transaction);
  } catch (cause) {
    throw new ImproperlyConfigured(
      'a statement of this transaction has failed, so the database stores nothing of it: to go on after an error, run the statement in an inTransaction() of its own',
      { cause },
    );
  }
}

function hasEnded(): Error {
  return new Error('The transaction of this request has ended');
}

function isHeld(method: string): Error {
  return new ImproperlyConfigured(
    `em.${method}() was called within the transaction of a request, which ends with its work: an error rolls it back, and inTransaction() makes one within it`,
  );
}

function cannotGoOn(): Error {
  return new Error(
    'A part of this transaction has failed, and the database has no savepoints to roll it back by itself: all of it is rolled back',
  );
}

function ignore(): void {}
