import {
  type EntityManager,
  type EntityName,
  type EventManager,
  type EventSubscriber,
  type MikroORM,
  TransactionContext,
} from '@mikro-orm/core';
import { originalTransaction } from './endable-transaction.ts';

/** Work that waits for the end of a transaction. It must not throw. */
type Work = () => unknown;

/** An event of a transaction, as MikroORM dispatches it. */
interface TransactionEvent {
  readonly em: EntityManager;
  readonly transaction?: object;
}

/** What waits for the end of one transaction, or of one savepoint of it. */
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

  /** Adds work for when the data is stored: after the outermost transaction is committed, in the order of the calls. */
  afterCommit(work: Work): void {
    this.#afterCommit.push(work);
  }

  /** Adds work for when nothing of the transaction will be stored. Where that is so by now, it is done at once. */
  async afterRollback(work: Work): Promise<void> {
    if (this.isUndone) await work();
    else this.#afterRollback.push(work);
  }

  /** Does the work for a transaction of which nothing will be stored. */
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

  /** If a commit has failed, only a rollback that succeeds tells that nothing was written. */
  async beginRollback(): Promise<void> {
    if (this.#state !== 'committing') await this.undo();
  }
}

/** The ends that something waits for, by the transaction itself. A savepoint has one from its start, which knows the transaction around it. */
const ends = new WeakMap<object, TransactionEnd>();
/** An ORM has no way to remove a subscriber, and may outlive many applications. */
const heard = new WeakSet<EventManager>();

/** Hears of the transactions of an ORM from now on. Those that begin before have no end that could be waited for. */
export function hearTransactions(orm: MikroORM): void {
  const events = orm.em.getEventManager();
  if (heard.has(events)) return;
  heard.add(events);
  events.registerSubscriber(makeSubscriber());
}

/** Returns the end of the current transaction of an entity manager; undefined outside of one. */
export function transactionEnd(em: EntityManager): TransactionEnd | undefined {
  const transaction = em.getTransactionContext<object>();
  return transaction && endOf(transaction);
}

function makeSubscriber(): EventSubscriber {
  /** The transactions in which an entity manager is about to make a savepoint. */
  const outer = new WeakMap<EntityManager, TransactionEnd>();
  return {
    // No entity: of transactions every subscriber hears.
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
    // What still comes of a transaction that was rolled back must know it.
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

/** Does work with a new entity manager in the place of that of the transaction, which has ended. */
async function withoutTransaction(em: EntityManager, works: readonly Work[]): Promise<void> {
  if (works.length === 0) return;
  await TransactionContext.create(em.fork(), async () => {
    for (const work of works) await work();
  });
}
