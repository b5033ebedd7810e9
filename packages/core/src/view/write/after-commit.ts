import type { FastifyRequest } from 'fastify';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { transactionEnd } from '../../mikro/transaction-ends.ts';
import { checkFlushed } from '../../mikro/unflushed-changes.ts';
import { describe } from '../../errors/options.ts';

/**
 * Runs work after the current transaction of `request.em` is committed: send a mail, call another service, enqueue a
 * message. If the transaction is rolled back, the work does not run. Within a savepoint, the outermost transaction
 * counts. Without a transaction, the work runs at once.
 *
 * Several works run one after another, in the order of the calls. The response waits for them. Within the work,
 * `request.em` is a new entity manager outside of any transaction, so flush what the work changes. If the work fails or
 * leaves a change unflushed, the error is logged and the response stays the same, because the data is stored. Later
 * works still run.
 *
 * The work runs at most once. If the process ends right after the commit, it is lost. An outbox does not lose it
 * (docs/how-to-work-after-commit.md).
 *
 * @throws ImproperlyConfigured at once if `work` is not a function, or `request` is not a request of an application
 * with `viewset`
 * @returns a promise that resolves when the work is done, or at once if the work waits for a commit
 * @example
 * override async performDestroy(request: FastifyRequest, product: Product) {
 *   await super.performDestroy(request, product);
 *   await afterCommit(request, () => console.log(`${product.name} is gone`));
 * }
 */
export async function afterCommit(request: FastifyRequest, work: () => unknown): Promise<void> {
  checkArguments(request, work);
  const logged = async (run: () => unknown): Promise<void> => {
    try {
      await run();
    } catch (err) {
      request.log.error({ err }, 'work after a commit has failed');
    }
  };
  const end = transactionEnd(request.em);
  if (end === undefined) return logged(work);
  end.afterCommit(() =>
    logged(async () => {
      await work();
      // Nothing flushes the new entity manager.
      checkFlushed(request.em, 'Work after a commit');
    }),
  );
}

/** Without this check, an untyped program would learn of the mistake only from the log, after its data is stored. */
function checkArguments(request: unknown, work: unknown): void {
  if ((request as Partial<FastifyRequest> | undefined)?.em === undefined) {
    throw new ImproperlyConfigured(
      `afterCommit(request, work): "request" must be a request of an application with the plugin viewset, got ${describe(request)}`,
    );
  }
  if (typeof work === 'function') return;
  throw new ImproperlyConfigured(
    `afterCommit(request, work): "work" must be a function such as () => send(), got ${describe(work)}`,
  );
}
