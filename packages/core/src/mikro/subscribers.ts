import { type EntityMetadata, type EventManager, type EventSubscriber, EventType, Utils } from '@mikro-orm/core';

/** The writes of a record that subscribers can observe. */
type Written = 'create' | 'update' | 'destroy';

/** The events of each write. A subscriber receives those of the entities that it names. */
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
/** The events of a flush. A subscriber with such a method receives every flush, whatever entities it names. */
const FLUSH_EVENTS = [EventType.beforeFlush, EventType.onFlush, EventType.afterFlush] as const;
/** The events of a transaction. Every flush has them. */
const TRANSACTION_EVENTS = [
  EventType.beforeTransactionStart,
  EventType.afterTransactionStart,
  EventType.beforeTransactionCommit,
  EventType.afterTransactionCommit,
  EventType.beforeTransactionRollback,
  EventType.afterTransactionRollback,
] as const;

/**
 * Reports whether a subscriber currently receives the writes of an entity. Subscribers may be added at any time, and
 * are never removed.
 */
export function hasSubscriber(events: EventManager, meta: EntityMetadata, written: Written): boolean {
  const named = [...EVENTS_OF[written], ...FLUSH_EVENTS, ...TRANSACTION_EVENTS];
  if (named.some((event) => events.hasListeners(event, meta))) return true;
  return [...events.getSubscribers()].some((subscriber) => listensToFlushes(subscriber, meta));
}

/** A subscriber that names its entities and sets `flushesOfOthers: false` receives no flush without them. */
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
