import type { EntityManager } from '@mikro-orm/core';

/** The methods by which an entity manager begins and ends a transaction that it stays in. */
const METHODS = ['begin', 'commit', 'rollback'] as const;

/** The methods of an entity manager that `holdTransaction` takes away from all others. */
export type TransactionMethods = Pick<EntityManager, (typeof METHODS)[number]>;

/**
 * Has an entity manager stay in its transaction: to begin another one, or to end this one, fails with the error that `problem` makes.
 * MikroORM would forget the transaction, and store whatever is written after that at once and for good.
 *
 * @returns a function that takes that back; within a transaction that is held already it does nothing
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

/** Returns the methods of an entity manager as they are without `holdTransaction`. */
export function transactionMethods(em: EntityManager): TransactionMethods {
  const own = Object.getPrototypeOf(em) as EntityManager;
  return {
    begin: (options) => own.begin.call(em, options),
    commit: () => own.commit.call(em),
    rollback: () => own.rollback.call(em),
  };
}
