import type { EntityManager } from '@mikro-orm/core';

/** The methods that begin and end an entity manager's transaction. */
const METHODS = ['begin', 'commit', 'rollback'] as const;

/** The methods of an entity manager that `holdTransaction` blocks. */
export type TransactionMethods = Pick<EntityManager, (typeof METHODS)[number]>;

/**
 * Keeps an entity manager in its transaction. Calls that begin another transaction or end this one fail with the error
 * that `problem` makes. Otherwise MikroORM would forget the transaction, and later writes would be stored at once.
 *
 * @returns a function that releases the entity manager; it does nothing if the transaction was already held
 */
export function holdTransaction(em: EntityManager, problem: (method: string) => Error): () => void {
  if (Object.hasOwn(em, 'commit')) return () => {};
  for (const name of METHODS) {
    const refuse = (): Promise<never> => Promise.reject(problem(name));
    Object.defineProperty(em, name, { value: refuse, configurable: true });
  }
  return () => {
    for (const name of METHODS) Reflect.deleteProperty(em, name);
  };
}

/** Returns the original methods of an entity manager, without `holdTransaction`. */
export function transactionMethods(em: EntityManager): TransactionMethods {
  const methods = Object.getPrototypeOf(em) as EntityManager;
  return {
    begin: (options) => methods.begin.call(em, options),
    commit: () => methods.commit.call(em),
    rollback: () => methods.rollback.call(em),
  };
}
