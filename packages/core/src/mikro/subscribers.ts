import { type EntityMetadata, type EventManager, type EventSubscriber, EventType, Utils } from '@mikro-orm/core';

/** The ways to write a record, of which subscribers hear. */
type Written = 'create' | 'update' | 'destroy';

/** Events of an entity that is written one way or another; a subscriber hears of those of the entities that it names. */
const EVENTS_OF: Readonly<Record<Written, readonly EventType[]>> = {
  create: [
    EventType.onInit,
    EventType.beforeCreate,
    EventType.afterCreate,
    EventType.beforeUpsert,
    EventType.afterUpsert,
  ],
  update: [EventType.beforeUpdate, EventType.afterUpdate],
  destroy: [EventType.beforeDelete, EventType.afterDelete],
};
/** Events of a flush: a subscriber with such a method hears of every flush, whatever entities it names. */
const FLUSH_EVENTS = [EventType.beforeFlush, EventType.onFlush, EventType.afterFlush] as const;
/** Events of a transaction, which every flush has. */
const TRANSACTION_EVENTS = [
  EventType.beforeTransactionStart,
  EventType.afterTransactionStart,
  EventType.beforeTransactionCommit,
  EventType.afterTransactionCommit,
  EventType.beforeTransactionRollback,
  EventType.afterTransactionRollback,
] as const;

/** Tells if a subscriber hears of the writes of an entity by now. One may come at any time, and none ever leaves. */
export function isHeard(events: EventManager, meta: EntityMetadata, written: Written): boolean {
  const named = [...EVENTS_OF[written], ...FLUSH_EVENTS, ...TRANSACTION_EVENTS];
  if (named.some((event) => events.hasListeners(event, meta))) return true;
  return [...events.getSubscribers()].some((subscriber) => listensToFlushes(subscriber, meta));
}

/** A subscriber that names its entities and says `flushesOfOthers: false` asks for no flush that has nothing of them. */
function listensToFlushes(
  subscriber: EventSubscriber & { readonly flushesOfOthers?: boolean },
  meta: EntityMetadata,
): boolean {
  if (!FLUSH_EVENTS.some((event) => subscriber[event] !== undefined)) return false;
  const named = subscriber.getSubscribedEntities?.() ?? [];
  const isAbout =
    named.length === 0 || named.some((entity) => meta.class === entity || meta.className === Utils.className(entity));
  return isAbout || subscriber.flushesOfOthers !== false;
}
