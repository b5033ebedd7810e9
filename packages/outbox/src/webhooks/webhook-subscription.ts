import { defineEntity, p } from '@mikro-orm/core';

const WebhookSubscriptionSchema = defineEntity({
  name: 'WebhookSubscription',
  properties: {
    id: p.string().length(36).primary(),
    url: p.string().length(2000),
    event_types: p.json().$type<string[]>(),
    secret: p.string().length(100),
    /** The secret before this one, which also signs until `previous_secret_until`. */
    previous_secret: p.string().length(100).nullable(),
    previous_secret_until: p.datetime().length(3).nullable(),
    is_enabled: p.boolean().default(true),
    disabled_reason: p.string().length(200).nullable(),
    /** The number of rounds of deliveries that have failed since the last success. */
    failures: p.integer().default(0),
    /** The first failure since the last success. */
    failing_since: p.datetime().length(3).nullable(),
    /** No delivery begins before this time. */
    rests_until: p.datetime().length(3).nullable(),
    owner: p.string().length(255).nullable().index(),
    created_at: p.datetime().length(3).index(),
  },
});

/**
 * The entity of webhooks: an address, the event types to send, and the secret that signs them. Add it to your ORM
 * beside `OutboxEvent`, and create a migration for it.
 *
 * @example
 * const orm = await MikroORM.init({ dbName: 'shop.sqlite', entities: [Product, OutboxEvent, WebhookSubscription] });
 */
export class WebhookSubscription extends WebhookSubscriptionSchema.class {}
WebhookSubscriptionSchema.setClass(WebhookSubscription);
