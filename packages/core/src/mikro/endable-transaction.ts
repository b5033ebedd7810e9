import type { EntityManager } from '@mikro-orm/core';
import { collectionIn } from './mongo-driver.ts';

/**
 * A transaction of Kysely, as far as it is needed: one within it is made by a savepoint. That of MongoDB is a session, which has none.
 */
export interface KyselyTransaction {
  savepoint(name: string): { execute(): Promise<KyselyTransaction> };
}

/** A transaction, and the end of it. */
export interface EndableTransaction {
  /** Stands for the transaction wherever MikroORM takes one. */
  readonly transaction: object;
  /** Has every statement fail that comes from now on, with the error that `problem` makes. */
  readonly end: (problem: () => Error) => void;
}

/**
 * Makes a transaction that can be ended for everybody who holds it, those within it included. Kysely refuses statements only
 * once a rollback was answered, and those of a savepoint not even then: they would run on a connection that is back in the
 * pool, outside of any transaction or in somebody else's.
 */
export function endable(own: object): EndableTransaction {
  let problem: (() => Error) | undefined;
  return {
    transaction: guarded(own as KyselyTransaction, () => {
      if (problem !== undefined) throw problem();
    }),
    end: (why) => {
      problem = why;
    },
  };
}

/** The transactions that stand-ins stand for. */
const originals = new WeakMap<object, object>();

/** Returns the transaction itself that the driver knows: the same one for all that stand for it. */
export function originalTransaction(transaction: object): object {
  const original = originals.get(transaction);
  return original === undefined ? transaction : originalTransaction(original);
}

function guarded(transaction: KyselyTransaction, check: (name: string | symbol) => void): KyselyTransaction {
  const standIn = new Proxy(transaction, {
    get(_target, name) {
      check(name);
      if (name === 'savepoint') {
        return (savepoint: string) => ({
          execute: async () => guarded(await transaction.savepoint(savepoint).execute(), check),
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

/** Gives back what a transaction holds beyond its end: MongoDB's driver keeps a session until it is told. */
export async function releaseTransaction(transaction: object): Promise<void> {
  await (transaction as { endSession?: () => Promise<void> }).endSession?.();
}

/**
 * Ends the transaction of an entity manager on MongoDB, of which a part has failed: the server rolls back one of which a command
 * fails, so that nobody can commit it. Whoever has begun the transaction may still roll it back, of which MikroORM's subscribers then hear;
 * whatever else is asked of it fails with the error that `problem` makes.
 */
export async function spoilTransaction(em: EntityManager, problem: () => Error): Promise<void> {
  const session = em.getTransactionContext<object>();
  if (session === undefined) return;
  const failing = { $expr: { $spoil: 1 } };
  await collectionIn(em, 'spoilt')
    .find(failing, { session })
    .toArray()
    .catch(() => {});
  const standIn = guarded(session as KyselyTransaction, (name) => {
    if (name !== 'abortTransaction') throw problem();
  });
  em.setTransactionContext(standIn);
}
