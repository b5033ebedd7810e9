import { defineEntity, p } from '@mikro-orm/core';
import { LANE_NAMES } from './lanes.ts';

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
    lane: p.enum(LANE_NAMES).default('handlers'),
    /** The subscription of a webhook's delivery. Its deliveries have a bounded share of the places. */
    share: p.string().length(36).nullable(),
    /** The owner of that subscription, with a bounded share too. */
    share_owner: p.string().length(255).nullable(),
    lease: p.string().length(36).nullable(),
    leased_until: p.datetime().length(3).nullable(),
    delivered_at: p.datetime().length(3).nullable(),
    last_error: p.string().length(1000).nullable(),
    /** The tenant of the event's record, as `keepTenant` writes it. Handlers get an entity manager for it. */
    tenant_key: p.string().length(255).nullable(),
  },
  // No index contains a column of the lease, so that PostgreSQL takes events by updates that touch no index (HOT).
  // Delivered events are only in the index that deletes them.
  indexes: [
    { properties: ['lane', 'due_at', 'id'], where: { status: 'waiting' } },
    { properties: ['subject', 'id'], where: { status: 'waiting' } },
    { properties: ['share', 'due_at'], where: { status: 'waiting', lane: 'deliveries' } },
    { properties: ['delivered_at'], where: { status: 'delivered' } },
    { properties: ['created_at', 'id'], where: { status: 'dead' } },
  ],
});

/**
 * The entity of events: waiting, delivered, or dead letters. Add it to your ORM and create a migration for it.
 *
 * - `id` is a UUID of version 7, so ids sort by time.
 * - `type` is a name such as `product.created`, `subject` one such as `Product/7`. Events of one subject are delivered
 *   in order.
 * - `due_at` is the time of the next delivery. A worker holds an event by its `lease`, until `leased_until`.
 * - `lane` says which places of a worker the event uses: those of handlers, of the fan-out to webhooks, or of deliveries.
 *
 * @example
 * const orm = await MikroORM.init({ dbName: 'shop.sqlite', entities: [Product, OutboxEvent] });
 */
export class OutboxEvent extends OutboxEventSchema.class {}
OutboxEventSchema.setClass(OutboxEvent);

/** An event as a worker has it. Its payload is read when its handlers are about to run, because payloads may be large. */
export type ClaimedEvent = Omit<OutboxEvent, 'payload' | 'delivered_at' | 'last_error'>;
export const CLAIMED_FIELDS = [
  'id',
  'type',
  'subject',
  'created_at',
  'status',
  'attempts',
  'due_at',
  'lane',
  'share',
  'share_owner',
  'lease',
  'leased_until',
  'tenant_key',
] as const satisfies readonly (keyof ClaimedEvent)[];

/** MikroORM options that read from the primary, never a replica, and ignore all filters. */
export const STORED = { connectionType: 'write', filters: false } as const;
