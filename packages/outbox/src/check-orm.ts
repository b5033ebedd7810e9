import type { EntityClass, MikroORM } from '@mikro-orm/core';
import { requireEntities, requireTransactions } from '@viewset/core';
import { OutboxEvent } from './outbox-event.ts';
import type { EventHandler } from './worker/handlers.ts';

/** The entities that handlers need, besides `OutboxEvent`. */
const needed = new WeakMap<EventHandler, EntityClass<object>>();

/** Registers an entity that a handler needs. `checkOrm` then rejects an ORM without it. */
export function needsEntity(handler: EventHandler, entity: EntityClass<object>): EventHandler {
  needed.set(handler, entity);
  return handler;
}

/** Throws ImproperlyConfigured if the ORM cannot store events or lacks an entity that a handler needs. */
export function checkOrm(owner: string, orm: MikroORM, handlers: readonly EventHandler[] = []): void {
  requireTransactions(orm, owner);
  const ofHandlers = handlers.flatMap((handler) => needed.get(handler) ?? []);
  requireEntities(orm, owner, '@viewset/outbox', [OutboxEvent, ...ofHandlers]);
}
