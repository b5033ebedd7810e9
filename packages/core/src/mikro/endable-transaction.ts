import { errorFrom } from '../errors/errors.ts';

/**
 * The part of a Kysely transaction that is needed. A nested transaction is a savepoint. Transactions of other backends
 * may have no savepoints.
 */
export interface KyselyTransaction {
  savepoint(name: string): { execute(): Promise<KyselyTransaction> };
}

/** A transaction, and a function that ends it. */
export interface EndableTransaction {
  /** A proxy of the transaction, to pass to MikroORM. */
  readonly transaction: object;
  /** Makes every later statement fail, with the error that `problem` makes. */
  readonly end: (problem: () => Error) => void;
  /** Returns the error of the first Kysely statement that has failed, even if it was caught. */
  readonly failure: () => Error | undefined;
}

/**
 * Makes a transaction that can be ended for all its users, including its savepoints. Kysely rejects statements only
 * after a rollback was answered, and for a savepoint not even then. Those statements would run on a connection that is
 * back in the pool, outside of any transaction or in somebody else's.
 */
export function endable(driverTransaction: object): EndableTransaction {
  let problem: (() => Error) | undefined;
  const watched = watch(driverTransaction);
  return {
    transaction: guardTransaction(driverTransaction, () => {
      if (problem !== undefined) throw problem();
    }),
    end: (why) => {
      problem = why;
    },
    failure: () => watched.failure,
  };
}

/** Runs the statements of a Kysely transaction, or of a savepoint. */
interface Executor {
  executeQuery(...query: unknown[]): Promise<unknown>;
}

interface Watched {
  failure: Error | undefined;
}

const executors = new WeakMap<Executor, Watched>();

/** Records the first error of a statement. Backends without Kysely have no executor. */
function watch(driverTransaction: { readonly getExecutor?: () => Executor }): Watched {
  const executor = driverTransaction.getExecutor?.();
  if (executor === undefined) return { failure: undefined };
  const known = executors.get(executor);
  if (known !== undefined) return known;
  const watched: Watched = { failure: undefined };
  executors.set(executor, watched);
  const executeQuery = executor.executeQuery.bind(executor);
  executor.executeQuery = (...query) =>
    executeQuery(...query).catch((error: unknown) => {
      watched.failure ??= errorFrom(error);
      throw error;
    });
  return watched;
}

/** The transactions behind their proxies. */
const originals = new WeakMap<object, object>();

/** Returns the driver's transaction behind any number of proxies. */
export function originalTransaction(transaction: object): object {
  const original = originals.get(transaction);
  return original === undefined ? transaction : originalTransaction(original);
}

/**
 * Makes a proxy of a transaction.
 *
 * @param check is called with the name of each member that is read; may throw
 */
export function guardTransaction<Transaction extends object>(
  transaction: Transaction,
  check: (name: string | symbol) => void,
): Transaction {
  const standIn = new Proxy(transaction, {
    get(_target, name) {
      check(name);
      if (name === 'savepoint') {
        return (savepoint: string) => ({
          execute: async () =>
            guardTransaction(await (transaction as unknown as KyselyTransaction).savepoint(savepoint).execute(), check),
        });
      }
      // Kysely's private fields exist only on the transaction itself.
      const value: unknown = Reflect.get(transaction, name, transaction);
      return typeof value === 'function' ? (value.bind(transaction) as unknown) : value;
    },
  });
  originals.set(standIn, transaction);
  return standIn;
}
