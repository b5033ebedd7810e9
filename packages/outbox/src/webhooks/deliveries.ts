import { createHash } from 'node:crypto';
import { uuid } from '../event-id.ts';
import { type HandledEvent, INTERNAL } from '../worker/handlers.ts';
import type { WebhookSubscription } from './webhook-subscription.ts';

/** The type of the events that each send one request. */
export const DELIVERY = `${INTERNAL}webhook.delivery`;

/** The payload of a delivery. */
export interface Delivery {
  readonly subscription: string;
  readonly event: Pick<HandledEvent, 'id' | 'type' | 'payload'> & { readonly created_at: string };
}

/** Makes the event that finds the subscriptions of an event. Events of one subject keep their order. */
export function fanOutOf(event: HandledEvent, type: string) {
  const { id, created_at, subject } = event;
  return {
    id: derivedId(id, 'fan-out'),
    type,
    subject: subject === null ? undefined : `fan-out ${subject}`,
    payload: { ...event, created_at: created_at.toISOString() },
  };
}

/** Makes the delivery of an event to a subscription. It is not due before the subscription's rest ends. */
export function deliveryOf(event: HandledEvent, { id: share, owner, rests_until: restsUntil }: WebhookSubscription) {
  const { id, type, payload, created_at, subject } = event;
  const delivered: Delivery = {
    subscription: share,
    event: { id, type, payload, created_at: created_at.toISOString() },
  };
  return {
    id: derivedId(id, share),
    type: DELIVERY,
    subject: subject === null ? undefined : `${share} ${subject}`,
    payload: delivered,
    share,
    shareOwner: owner,
    dueAt: restsUntil && restsUntil.getTime() > Date.now() ? restsUntil : undefined,
  };
}

/** Derives an id that sorts like the event's, for its fan-out or for its delivery to a subscription. */
export function derivedId(event: string, name: string): string {
  const hex = event.replaceAll('-', '');
  const rest = createHash('sha256').update(`${event} ${name}`).digest();
  return uuid(hex.slice(0, 12), hex.slice(13, 16), rest);
}
