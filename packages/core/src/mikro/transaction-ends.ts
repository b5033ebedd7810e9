import {
  type EntityManager,
  type EntityName,
  type EventManager,
  type EventSubscriber,
  type MikroORM,
  TransactionContext,
} from '@mikro-orm/core';
import { originalTransaction } from './endable-transaction.ts';

/** Work to do at the end of a transaction. It must not throw. */
type Work = () => unknown;

/** A transaction event from MikroORM. */
interface TransactionEvent {
  readonly em: EntityManager;
  readonly transaction?: object;
}

/** The work to do at the end of a transaction, or of a savepoint. */
export class TransactionEnd {
  readonly #outer: TransactionEnd | undefined;
  readonly #afterCommit: Work[] = [];
  readonly #afterRollback: Work[] = [];
  #state: 'open' | 'committing' | 'undone' = 'open';

  constructor(outer?: TransactionEnd) {
    this.#outer = outer;
  }

  get isUndone(): boolean {
    return this.#state === 'undone' || this.#outer?.isUndone === true;
  }

  /** Adds work for after the outermost transaction is committed. It runs in the order of the calls. */
  afterCommit(work: Work): void {
    this.#afterCommit.push(work);
  }

  /** Adds work for after a rollback. If the transaction is already rolled back, it runs at once. */
  async afterRollback(work: Work): Promise<void> {
    if (this.isUndone) await work();
    else this.#afterRollback.push(work);
  }

  /** Runs the work for a rolled-back transaction. */
  async undo(): Promise<void> {
    this.#state = 'undone';
    this.#afterCommit.length = 0;
    for (const work of this.#afterRollback.splice(0)) await work();
  }

  beginCommit(): void {
    this.#state = 'committing';
  }

  async commit(em: EntityManager): Promise<void> {
    const works = this.#afterCommit.splice(0);
    if (this.#outer === undefined) return withoutTransaction(em, works);
    this.#outer.#afterCommit.push(...works);
    this.#outer.#afterRollback.push(...this.#afterRollback.splice(0));
  }

  /** After a failed commit, only a successful rollback proves that nothing was written. */
  async beginRollback(): Promise<void> {
    if (this.#state !== 'committing') await this.undo();
  }
}

/**
 * The ends of transactions with waiting work, by transaction. A savepoint has one from its start, which refers to the
 * surrounding transaction.
 */
const ends = new WeakMap<object, TransactionEnd>();
/** A subscriber cannot be removed, and an ORM may outlive many applications. */
const subscribed = new WeakSet<EventManager>();

/** Subscribes to the transactions of an ORM. Transactions that began earlier are not observed. */
export function hearTransactions(orm: MikroORM): void {
  const events = orm.em.getEventManager();
  if (subscribed.has(events)) return;
  subscribed.add(events);
  events.registerSubscriber(makeSubscriber());
}

/** Returns the end of the current transaction of an entity manager; undefined outside of one. */
export function transactionEnd(em: EntityManager): TransactionEnd | undefined {
  const transaction = em.getTransactionContext<object>();
  return transaction && endOf(transaction);
}

function makeSubscriber(): EventSubscriber {
  /** The surrounding transactions of savepoints that are about to start, by entity manager. */
  const outer = new WeakMap<EntityManager, TransactionEnd>();
  return {
    // Not an entity: every subscriber receives the events of transactions.
    getSubscribedEntities: (): EntityName[] => [TransactionEnd],
    beforeTransactionStart: ({ em, transaction }: TransactionEvent) => {
      if (transaction === undefined) outer.delete(em);
      else outer.set(em, endOf(transaction));
    },
    afterTransactionStart: ({ em, transaction }: TransactionEvent) => {
      const around = outer.get(em);
      const original = originalTransaction(transaction!);
      if (around === undefined) ends.delete(original);
      else ends.set(original, new TransactionEnd(around));
    },
    beforeTransactionCommit: ({ transaction }: TransactionEvent) => waitedFor(transaction!)?.beginCommit(),
    afterTransactionCommit: ({ em, transaction }: TransactionEvent) => waitedFor(transaction!)?.commit(em),
    // Work that is added to a rolled-back transaction later must know about the rollback.
    beforeTransactionRollback: ({ transaction }: TransactionEvent) => endOf(transaction!).beginRollback(),
    afterTransactionRollback: ({ transaction }: TransactionEvent) => endOf(transaction!).undo(),
  };
}

function waitedFor(transaction: object): TransactionEnd | undefined {
  return ends.get(originalTransaction(transaction));
}

function endOf(transaction: object): TransactionEnd {
  let end = waitedFor(transaction);
  if (end === undefined) ends.set(originalTransaction(transaction), (end = new TransactionEnd()));
  return end;
}

/** Runs work with a new entity manager, because the transaction has ended. */
async function withoutTransaction(em: EntityManager, works: readonly Work[]): Promise<void> {
  if (works.length === 0) return;
  await TransactionContext.create(em.fork(), async () => {
    for (const work of works) await work();
  });
}
