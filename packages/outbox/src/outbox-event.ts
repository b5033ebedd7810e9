import { defineEntity, p } from '@mikro-orm/core';

const OutboxEventSchema = defineEntity({
  name: 'OutboxEvent',
  properties: {
    id: p.string().length(36).primary(),
    type: p.string().length(255),
    subject: p.string().length(255).nullable(),
    payload: p.json().$type<unknown>(),
    created_at: p.datetime().length(3),
    status: p.enum(['waiting', 'delivered', 'dead'] as const).default('waiting'),
    attempts: p.integer().default(0),
    due_at: p.datetime().length(3),
    lease: p.string().length(36).nullable(),
    delivered_at: p.datetime().length(3).nullable(),
    last_error: p.string().length(1000).nullable(),
  },
  indexes: [
    { properties: ['status', 'due_at', 'id'] },
    { properties: ['subject', 'status', 'id'] },
    { properties: ['lease'] },
    { properties: ['status', 'delivered_at'] },
  ],
});

/**
 * The entity of events: waiting, delivered, or dead letters. Add it to your ORM and create a migration for it.
 *
 * - `id` is a UUID of version 7, so ids sort by time.
 * - `type` is a name such as `product.created`, `subject` one such as `Product/7`. Events of one subject are delivered
 *   in order.
 * - `due_at` is the time of the next delivery. While a worker holds the event, `due_at` is the end of its lease.
 *
 * @example
 * const orm = await MikroORM.init({ dbName: 'shop.sqlite', entities: [Product, OutboxEvent] });
 */
export class OutboxEvent extends OutboxEventSchema.class {}
OutboxEventSchema.setClass(OutboxEvent);

/** MikroORM options that read from the primary, never a replica, and ignore all filters. */
export const STORED = { connectionType: 'write', filters: false } as const;
