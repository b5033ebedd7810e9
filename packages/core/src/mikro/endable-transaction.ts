/** A transaction of Kysely, as far as it is needed: one within it is made by a savepoint. Those of other backends may have none. */
export interface KyselyTransaction {
  savepoint(name: string): { execute(): Promise<KyselyTransaction> };
}

/** A transaction, and the end of it. */
export interface EndableTransaction {
  /** Stands for the transaction wherever MikroORM takes one. */
  readonly transaction: object;
  /** Has every statement fail that comes from now on, with the error that `problem` makes. */
  readonly end: (problem: () => Error) => void;
  /** Tells if a statement of Kysely has failed, whether or not somebody caught its error. */
  readonly hasFailed: () => boolean;
}

/**
 * Makes a transaction that can be ended for everybody who holds it, those within it included. Kysely refuses statements only
 * once a rollback was answered, and those of a savepoint not even then: they would run on a connection that is back in the
 * pool, outside of any transaction or in somebody else's.
 */
export function endable(own: object): EndableTransaction {
  let problem: (() => Error) | undefined;
  const watched = watch(own);
  return {
    transaction: guardTransaction(own, () => {
      if (problem !== undefined) throw problem();
    }),
    end: (why) => {
      problem = why;
    },
    hasFailed: () => watched.hasFailed,
  };
}

/** What runs the statements of a transaction of Kysely, and of those within it. */
interface Executor {
  executeQuery(...query: unknown[]): Promise<unknown>;
}

interface Watched {
  hasFailed: boolean;
}

const executors = new WeakMap<Executor, Watched>();

/** Notes if a statement fails. Other backends than those of Kysely have no executor. */
function watch(own: { readonly getExecutor?: () => Executor }): Watched {
  const executor = own.getExecutor?.();
  if (executor === undefined) return { hasFailed: false };
  const known = executors.get(executor);
  if (known !== undefined) return known;
  const watched = { hasFailed: false };
  executors.set(executor, watched);
  const executeQuery = executor.executeQuery.bind(executor);
  executor.executeQuery = (...query) =>
    executeQuery(...query).catch((error: unknown) => {
      watched.hasFailed = true;
      throw error;
    });
  return watched;
}

/** The transactions that stand-ins stand for. */
const originals = new WeakMap<object, object>();

/** Returns the transaction itself that the driver knows: the same one for all that stand for it. */
export function originalTransaction(transaction: object): object {
  const original = originals.get(transaction);
  return original === undefined ? transaction : originalTransaction(original);
}

/**
 * Makes a stand-in for a transaction.
 *
 * @param check is called with the name of each member that somebody asks for; may throw
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
      // Kysely's private fields are those of the transaction itself.
      const value: unknown = Reflect.get(transaction, name, transaction);
      return typeof value === 'function' ? (value.bind(transaction) as unknown) : value;
    },
  });
  originals.set(standIn, transaction);
  return standIn;
}
