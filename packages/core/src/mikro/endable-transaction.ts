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
  /** Tells if a statement has failed, whether or not somebody caught its error. */
  readonly hasFailed: () => boolean;
}

/**
 * Makes a transaction that can be ended for everybody who holds it, those within it included. Kysely refuses statements only
 * once a rollback was answered, and those of a savepoint not even then: they would run on a connection that is back in the
 * pool, outside of any transaction or in somebody else's.
 */
export function endable(own: object): EndableTransaction {
  let problem: (() => Error) | undefined;
  let hasFailed = false;
  const check = (): void => {
    if (problem !== undefined) throw problem();
  };
  const failed = (error: unknown): never => {
    hasFailed = true;
    throw error;
  };
  return {
    transaction: guardTransaction(own, check, failed),
    end: (why) => {
      problem = why;
    },
    hasFailed: () => hasFailed,
  };
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
 * @param failed is called with the error of each statement of Kysely that fails, and throws it
 */
export function guardTransaction<Transaction extends object>(
  transaction: Transaction,
  check: (name: string | symbol) => void,
  failed?: (error: unknown) => never,
): Transaction {
  const standIn = new Proxy(transaction, {
    get(_target, name) {
      check(name);
      if (name === 'savepoint') {
        return (savepoint: string) => ({
          execute: async () => {
            const within = await (transaction as unknown as KyselyTransaction).savepoint(savepoint).execute();
            return guardTransaction(within, check, failed);
          },
        });
      }
      // Kysely's private fields are those of the transaction itself.
      const value: unknown = Reflect.get(transaction, name, transaction);
      if (typeof value !== 'function') return value;
      const bound = value.bind(transaction) as (...args: unknown[]) => unknown;
      if (name !== 'executeQuery' || failed === undefined) return bound;
      return (...args: unknown[]) => (bound(...args) as Promise<unknown>).catch(failed);
    },
  });
  originals.set(standIn, transaction);
  return standIn;
}
