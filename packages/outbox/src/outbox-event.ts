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
 * The entity of the events that wait for their delivery, were delivered, or are dead letters. Give it to your ORM, and make a migration of it.
 *
 * - `id` is a UUID of version 7, by which events are in the order of time.
 * - `type` is such as `product.created`, `subject` such as `Product/7`. Events of one subject are delivered in order.
 * - `due_at` is the time of the next delivery. While a worker has the event, it is the end of its lease.
 *
 * @example
 * const orm = await MikroORM.init({ dbName: 'shop.sqlite', entities: [Product, OutboxEvent] });
 */
export class OutboxEvent extends OutboxEventSchema.class {}
OutboxEventSchema.setClass(OutboxEvent);

/** Options of MikroORM: rows as the database that is written to has them, not a replica, whatever filters are on. */
export const STORED = { connectionType: 'write', filters: false } as const;
