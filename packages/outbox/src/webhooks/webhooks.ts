import { checkOptionNames, wrongOption } from '@viewset/core';
import { createHash } from 'node:crypto';
import { needsEntity } from '../check-orm.ts';
import { uuid } from '../event-id.ts';
import { OutboxEvent, STORED } from '../outbox-event.ts';
import { storeEvents } from '../emit.ts';
import { type EventHandler, type EventHandlers, type HandledEvent, INTERNAL, matches } from '../worker/handlers.ts';
import { post } from './post.ts';
import { sign } from './signature.ts';
import { WebhookSubscription } from './webhook-subscription.ts';

/** The options of `webhooks()`. */
export interface WebhookOptions {
  /**
   * Returns true if a subscription may receive an event. Events come from all customers: compare the `owner` of the
   * subscription with the customer in the event. Required.
   */
  readonly mayReceive: (subscription: WebhookSubscription, event: HandledEvent) => boolean | Promise<boolean>;
  /** How long a receiver may take to answer, in milliseconds. Default: 15,000. */
  readonly timeoutMs?: number;
  /** True: allows HTTP and private addresses, for receivers on your own machine. Default: false. */
  readonly development?: boolean;
}

/** The type of the events that each send one request. */
const DELIVERY = `${INTERNAL}webhook.delivery`;

/** The payload of a delivery. */
interface Delivery {
  readonly subscription: string;
  readonly event: Pick<HandledEvent, 'id' | 'type' | 'payload'> & { readonly created_at: string };
}

/**
 * Makes the handlers that send events to webhook subscriptions, with the headers of Standard Webhooks. Each matching
 * subscription gets its own delivery in the outbox, which is retried and can become a dead letter independently. A
 * subscription receives the events of one subject in order.
 *
 * A 2xx status is a success. 410 disables the subscription. Anything else is tried again, including redirects.
 *
 * @throws ImproperlyConfigured if an option is wrong
 * @example
 * await app.register(outbox, {
 *   handlers: [webhooks({ mayReceive: ({ owner }, { payload }) => owner === (payload as { owner: string }).owner })],
 * });
 */
export function webhooks(options: WebhookOptions): EventHandlers {
  checkOptionNames('webhooks()', options, ['mayReceive', 'timeoutMs', 'development']);
  const { mayReceive, timeoutMs = 15_000, development = false } = options;
  if (typeof mayReceive !== 'function') throw wrongOption('webhooks()', 'mayReceive', 'a function', mayReceive);
  if (!(Number.isSafeInteger(timeoutMs) && timeoutMs > 0)) {
    throw wrongOption('webhooks()', 'timeoutMs', 'a whole number above 0', timeoutMs);
  }
  // A string such as "false" would be truthy and open the internal network.
  if (typeof development !== 'boolean') throw wrongOption('webhooks()', 'development', 'true or false', development);
  const fanOut: EventHandler = async (event, { em }) => {
    const enabled = await em.find(WebhookSubscription, { is_enabled: true }, STORED);
    const deliveries = [];
    for (const subscription of enabled) {
      const isWanted = subscription.event_types.some((pattern) => matches(pattern, event.type));
      if (isWanted && (await mayReceive(subscription, event))) deliveries.push(deliveryOf(event, subscription));
    }
    // This event may have been handled before.
    const ids = deliveries.map(({ id }) => id);
    const known = await em.find(OutboxEvent, { id: { $in: ids } }, { ...STORED, fields: ['id'] });
    const news = deliveries.filter(({ id }) => !known.some((each) => each.id === id));
    if (news.length > 0) await storeEvents({ em }, news);
  };
  const deliver: EventHandler = async ({ payload }, { em, signal }) => {
    const { subscription: id, event } = payload as Delivery;
    const subscription = await em.findOne(WebhookSubscription, { id, is_enabled: true }, STORED);
    if (subscription === null) return;
    const { status } = await post({ ...signed(subscription, event), timeoutMs, signal, isDevelopment: development });
    if (status === 410) {
      const changes = { is_enabled: false, disabled_reason: 'the receiver answered 410' };
      await em.nativeUpdate(WebhookSubscription, { id }, changes, STORED);
    } else if (status < 200 || status > 299) {
      throw new Error(`the receiver answered ${status}`);
    }
  };
  return { '*': needsEntity(fanOut, WebhookSubscription), [DELIVERY]: deliver };
}

/** Makes the delivery of an event to a subscription. Its id is derived from both, and sorts like the event's id. */
function deliveryOf(event: HandledEvent, { id: subscription }: WebhookSubscription) {
  const { id, type, payload, created_at, subject } = event;
  const hex = id.replaceAll('-', '');
  const rest = createHash('sha256').update(`${id} ${subscription}`).digest();
  const delivered: Delivery = { subscription, event: { id, type, payload, created_at: created_at.toISOString() } };
  return {
    id: uuid(hex.slice(0, 12), hex.slice(13, 16), rest),
    type: DELIVERY,
    subject: subject === null ? undefined : `${subscription} ${subject}`,
    payload: delivered,
  };
}

function signed(subscription: WebhookSubscription, { id, type, payload, created_at }: Delivery['event']) {
  const body = JSON.stringify({ type, timestamp: created_at, data: payload });
  const timestamp = Math.floor(Date.now() / 1000);
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'viewset-outbox',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secretsOf(subscription)
      .map((secret) => sign(secret, id, timestamp, body))
      .join(' '),
  };
  return { url: subscription.url, headers, body };
}

/** Returns the secrets that sign. The previous one is included until its time ends, so that receivers can switch. */
function secretsOf({ secret, previous_secret: previous, previous_secret_until: until }: WebhookSubscription): string[] {
  return previous && until && until.getTime() > Date.now() ? [secret, previous] : [secret];
}
