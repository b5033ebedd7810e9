import type { EntityManager } from '@mikro-orm/core';
import { checkOptionNames, wrongOption } from '@viewset/core';
import { needsEntity } from '../check-orm.ts';
import { storeEvents } from '../emit.ts';
import { withLane } from '../lanes.ts';
import { OutboxEvent, STORED } from '../outbox-event.ts';
import { type EventHandler, type EventHandlers, type HandledEvent, INTERNAL, matches } from '../worker/handlers.ts';
import { PutOff, RetryLater, Undeliverable } from '../worker/retry-later.ts';
import { DELIVERY, type Delivery, deliveryOf, fanOutOf } from './deliveries.ts';
import { post } from './post.ts';
import { NameServersDown } from './public-address.ts';
import { retryAfterMs } from './retry-after.ts';
import { sign } from './signature.ts';
import { disable, DISABLED, type FailureRules, noteFailure, noteSuccess } from './subscription-state.ts';
import { WebhookSubscription } from './webhook-subscription.ts';

/** The options of `webhooks()`. */
export interface WebhookOptions {
  /**
   * Returns true if a subscription may receive an event. Events come from all customers: compare the `owner` of the
   * subscription with the customer in the event. Required.
   */
  readonly mayReceive: (subscription: WebhookSubscription, event: HandledEvent) => boolean | Promise<boolean>;
  /** How long a request may take, from the connection to the last byte of the response, in milliseconds. Default: 15,000. */
  readonly timeoutMs?: number;
  /**
   * The most requests that one worker sends at the same time. Subscriptions whose latest request failed have at most half
   * of these places together; with those that had no request of this worker yet, at most three quarters. Default: 40.
   */
  readonly concurrency?: number;
  /** The most of them to one subscription. Default: 4. */
  readonly concurrencyPerSubscription?: number;
  /** The most of them to the subscriptions of one owner. Default: 10. */
  readonly concurrencyPerOwner?: number;
  /** After this many failures in a row a subscription rests, with all of its deliveries. Default: 10. */
  readonly restAfter?: number;
  /** After this time without a successful delivery a subscription is disabled, in milliseconds. Default: five days. */
  readonly disableAfterMs?: number;
  /**
   * True: allows HTTP and private addresses, for receivers on your own machine. Names are then resolved by the system, with
   * `/etc/hosts`; otherwise by the name servers alone. Default: false.
   */
  readonly development?: boolean;
}

/** The type of the events that find the subscriptions of an event. */
const FAN_OUT = `${INTERNAL}webhook.fan-out`;
/** How many subscriptions one worker's fan-out works on at the same time, by events. */
const FAN_OUT_PLACES = 4;
/** The most deliveries of one statement. */
const BATCH_SIZE = 500;
/** What a delivery may take besides its request, in milliseconds. */
const DATABASE_MS = 60_000;

const DEFAULTS = {
  timeoutMs: 15_000,
  concurrency: 40,
  concurrencyPerSubscription: 4,
  concurrencyPerOwner: 10,
  restAfter: 10,
  disableAfterMs: 5 * 86_400_000,
};
const NUMBERS = Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[];

/**
 * Makes the handlers that send events to webhook subscriptions, with the headers of Standard Webhooks. Each matching
 * subscription gets its own delivery in the outbox, which is retried and can become a dead letter independently. A
 * subscription receives the events of one subject in order. The requests have separate places: receivers that hang delay
 * neither handlers nor healthy receivers of other owners. A stop of the worker aborts them, and they are sent again.
 *
 * A 2xx status is a success. 410 disables the subscription. Anything else is tried again, including redirects, not before
 * the time of a `Retry-After`.
 *
 * @throws ImproperlyConfigured if an option is wrong
 * @example
 * await app.register(outbox, {
 *   handlers: [webhooks({ mayReceive: ({ owner }, { payload }) => owner === (payload as { owner: string }).owner })],
 * });
 */
export function webhooks(options: WebhookOptions): EventHandlers {
  const { mayReceive, development, ...numbers } = resolve(options);
  const { timeoutMs, concurrency, concurrencyPerSubscription: perShare, concurrencyPerOwner: perOwner } = numbers;
  const begin: EventHandler = async (event, { em }) => {
    const [any] = await em.find(WebhookSubscription, { is_enabled: true }, { ...STORED, fields: ['id'], limit: 1 });
    if (any !== undefined) await storeOnce(em, [fanOutOf(event, FAN_OUT)], 'fan-out');
  };
  const fanOut: EventHandler = async ({ payload }, { em }) => {
    const { created_at, ...rest } = payload as Omit<HandledEvent, 'created_at'> & { readonly created_at: string };
    const event: HandledEvent = { ...rest, created_at: new Date(created_at) };
    const enabled = await em.find(WebhookSubscription, { is_enabled: true }, STORED);
    const deliveries = [];
    for (const subscription of enabled) {
      const isWanted = subscription.event_types.some((pattern) => matches(pattern, event.type));
      if (!isForOwner(subscription, event)) continue;
      if (isWanted && (await mayReceive(subscription, event))) deliveries.push(deliveryOf(event, subscription));
    }
    for (let start = 0; start < deliveries.length; start += BATCH_SIZE) {
      await storeOnce(em, deliveries.slice(start, start + BATCH_SIZE), 'deliveries');
    }
  };
  const deliver: EventHandler = async ({ payload }, { em, signal }) => {
    const { subscription: id, event } = payload as Delivery;
    const subscription = await em.findOne(WebhookSubscription, { id }, STORED);
    if (subscription === null) return;
    // Kept, so that the owner can have it sent again.
    if (!subscription.is_enabled) throw new Undeliverable('the subscription is disabled');
    // The rest may have begun while this delivery waited for its place.
    const restsUntil = subscription.rests_until?.getTime() ?? 0;
    if (restsUntil > Date.now()) throw new PutOff('the subscription rests', restsUntil);
    await send(em, subscription, numbers, signal, async () =>
      post({ ...signed(subscription, event), timeoutMs, signal, isDevelopment: development }),
    );
  };
  return {
    '*': needsEntity(begin, WebhookSubscription),
    [FAN_OUT]: withLane(fanOut, 'fan-out', { concurrency: FAN_OUT_PLACES }),
    [DELIVERY]: withLane(deliver, 'deliveries', {
      concurrency,
      perShare,
      perOwner,
      timeoutMs: timeoutMs + DATABASE_MS,
    }),
  };
}

function resolve(options: WebhookOptions) {
  checkOptionNames('webhooks()', options, ['mayReceive', 'development', ...NUMBERS]);
  const { mayReceive, development = false } = options;
  if (typeof mayReceive !== 'function') throw wrongOption('webhooks()', 'mayReceive', 'a function', mayReceive);
  // A string such as "false" would be truthy and open the internal network.
  if (typeof development !== 'boolean') throw wrongOption('webhooks()', 'development', 'true or false', development);
  const numbers = { ...DEFAULTS };
  for (const name of NUMBERS) {
    const value = options[name] ?? DEFAULTS[name];
    if (!(Number.isSafeInteger(value) && value > 0)) {
      throw wrongOption('webhooks()', name, 'a whole number above 0', value);
    }
    numbers[name] = value;
  }
  return { mayReceive, development, ...numbers };
}

/** An event about a subscription contains its URL, which is for its owner alone. */
function isForOwner({ owner }: WebhookSubscription, { type, payload }: HandledEvent): boolean {
  return type !== DISABLED || (payload as { readonly owner: string | null }).owner === (owner ?? null);
}

/** Sends a request and notes its result in the subscription. Throws if it was no success. */
async function send(
  em: EntityManager,
  subscription: WebhookSubscription,
  rules: FailureRules,
  signal: AbortSignal,
  request: () => ReturnType<typeof post>,
): Promise<void> {
  const fail = async (message: string, retryAt: number, cause?: unknown): Promise<never> => {
    throw new RetryLater(message, await noteFailure(em, subscription, rules, retryAt), { cause });
  };
  const response = await request().catch((error: Error) => {
    // The worker stops, has lost its lease, or resolves no names: the receiver has not failed.
    if (signal.aborted || error instanceof NameServersDown) throw error;
    return fail(error.message, 0, error);
  });
  const { status } = response;
  if (status === 410) return disable(em, subscription, 'the receiver answered 410');
  if (status >= 200 && status <= 299) return noteSuccess(em, subscription);
  return fail(`the receiver answered ${status}`, retryAfterMs(response.retryAfter));
}

/** Stores events that a former attempt may have stored. */
async function storeOnce(
  em: EntityManager,
  events: readonly ReturnType<typeof deliveryOf | typeof fanOutOf>[],
  lane: 'fan-out' | 'deliveries',
): Promise<void> {
  const ids = events.map(({ id }) => id);
  const known = await em.find(OutboxEvent, { id: { $in: ids } }, { ...STORED, fields: ['id'] });
  const knownIds = new Set(known.map(({ id }) => id));
  const news = events.filter(({ id }) => !knownIds.has(id));
  if (news.length > 0) await storeEvents({ em }, news, lane);
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
