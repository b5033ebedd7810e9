import type { MikroORM } from '@mikro-orm/core';
import { ImproperlyConfigured, requireTransactions } from '@viewset/core';
import { OutboxEvent } from './outbox-event.ts';

/** Throws ImproperlyConfigured for an ORM that cannot store events. */
export function checkOrm(owner: string, orm: MikroORM): void {
  requireTransactions(orm, owner);
  if (orm.getMetadata().find(OutboxEvent) !== undefined) return;
  throw new ImproperlyConfigured(
    `${owner}: the ORM needs the entity OutboxEvent of @viewset/outbox among its "entities"`,
  );
}
