import type { EntityManager, EntityName, EventManager, EventSubscriber, MikroORM, UnitOfWork } from '@mikro-orm/core';
import { AsyncLocalStorage } from 'node:async_hooks';

/** Gets the entities that a flush is about to write, before its first statement. */
export type FlushListener = (entities: readonly object[], em: EntityManager) => Promise<void>;

interface FlushEvent {
  readonly em: EntityManager;
  readonly uow: UnitOfWork;
}

const current = new AsyncLocalStorage<FlushListener>();
/** A subscriber cannot be removed, and an ORM may outlive many applications. */
const observed = new WeakSet<EventManager>();

/** Passes the flushes of some work on to its listener. Costs a look at the current listener for each other flush. */
class FlushObserver implements EventSubscriber {
  /** It only observes, so writes without the unit of work stay possible (`hasSubscriber`). */
  readonly flushesOfOthers = false;

  /** Not an entity: every subscriber receives the events of flushes. */
  getSubscribedEntities(): EntityName[] {
    return [FlushObserver];
  }

  async onFlush({ em, uow }: FlushEvent): Promise<void> {
    const listener = current.getStore();
    if (listener === undefined) return;
    const entities = uow.getChangeSets().map(({ entity }) => entity as object);
    if (entities.length > 0) await listener(entities, em);
  }
}

/** Makes `withFlushListener` work with an ORM. */
export function observeFlushes(orm: MikroORM): void {
  const events = orm.em.getEventManager();
  if (observed.has(events)) return;
  observed.add(events);
  events.registerSubscriber(new FlushObserver());
}

/** Tells the listener of the current work that statements outside of a flush are about to write entities. */
export async function announceWrite(entities: readonly object[], em: EntityManager): Promise<void> {
  await current.getStore()?.(entities, em);
}

/**
 * Runs work whose flushes call a listener. Work inside with a listener of its own calls only that one.
 *
 * @param listener must not flush
 */
export function withFlushListener<Result>(listener: FlushListener, work: () => Promise<Result>): Promise<Result> {
  return current.run(listener, work);
}
