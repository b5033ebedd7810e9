import type { EntityManager } from '@mikro-orm/core';
import { storeEvents } from '../emit.ts';
import { OutboxEvent, STORED } from '../outbox-event.ts';
import { derivedId } from './deliveries.ts';
import { WebhookSubscription } from './webhook-subscription.ts';

/** When a subscription that fails rests, and when it is disabled. */
export interface FailureRules {
  /** After this many failures without a success, the subscription rests. */
  readonly restAfter: number;
  /** After this time without a success, in milliseconds, the subscription is disabled. */
  readonly disableAfterMs: number;
}

/** The deliveries that an index has by their subscription. */
const WAITING = { status: 'waiting', lane: 'deliveries' } as const;
/** The first rest. Each further failure doubles it. */
const FIRST_REST_MS = 30_000;
const MAX_REST_MS = 3_600_000;
/** The type of the event about a subscription that was disabled. */
export const DISABLED = 'webhook_subscription.disabled';

/** Ends the series of failures of a subscription, if there is one and the URL is still the one of the request. */
export async function noteSuccess(em: EntityManager, { id, url, failures }: WebhookSubscription): Promise<void> {
  if (failures === 0) return;
  const changes = { failures: 0, failing_since: null, rests_until: null };
  await em.nativeUpdate(WebhookSubscription, { id, url }, changes, STORED);
}

/**
 * Counts a failure. After several without a success the subscription rests, with all of its deliveries: first for half a
 * minute, at most for an hour. After days it is disabled. Nothing changes if the series of failures has ended since the
 * request began, by a success or by its owner, or if the owner has changed the URL.
 *
 * @param subscription as it was when the request began
 * @param retryAt the time that the receiver asked for by `Retry-After`, in milliseconds since 1970; 0: none
 * @returns the end of the rest; 0 if the subscription does not rest
 */
export async function noteFailure(
  em: EntityManager,
  subscription: WebhookSubscription,
  { restAfter, disableAfterMs }: FailureRules,
  retryAt: number,
): Promise<number> {
  const { id, url, failing_since: failingSince = null } = subscription;
  const now = Date.now();
  const failures = subscription.failures + 1;
  const since = failingSince ?? new Date(now);
  const unchanged = { url, failing_since: failingSince };
  if (now - since.getTime() >= disableAfterMs) {
    await disable(em, subscription, `no delivery has succeeded since ${since.toISOString()}`, unchanged);
    return 0;
  }
  const restMs = failures < restAfter ? 0 : Math.min(MAX_REST_MS, FIRST_REST_MS * 2 ** (failures - restAfter));
  const untilMs = Math.max(restMs === 0 ? 0 : now + restMs, Math.min(retryAt, now + MAX_REST_MS));
  const rests_until = untilMs > now ? new Date(untilMs) : null;
  const changes = { failures, failing_since: since, rests_until };
  const changed = await em.nativeUpdate(WebhookSubscription, { id, ...unchanged }, changes, STORED);
  if (changed === 0 || rests_until === null) return 0;
  const earlier = { ...WAITING, share: id, due_at: { $lt: rests_until } } as const;
  await em.nativeUpdate(OutboxEvent, earlier, { due_at: rests_until }, STORED);
  return untilMs;
}

/**
 * Disables a subscription, and stores an event about it: `webhook_subscription.disabled`, with `id`, `url`, `owner` and
 * `reason`. Does nothing if the owner has changed the URL since the request began.
 *
 * @param unchanged further values that the subscription must still have
 */
export async function disable(
  em: EntityManager,
  { id, url, owner = null }: WebhookSubscription,
  reason: string,
  unchanged: { readonly failing_since?: Date | null } = {},
): Promise<void> {
  await em.transactional(async (within) => {
    const changes = { is_enabled: false, disabled_reason: reason };
    const enabled = { id, url, is_enabled: true, ...unchanged };
    // Of several deliveries at the same time, one stores the event.
    if ((await within.nativeUpdate(WebhookSubscription, enabled, changes, STORED)) === 0) return;
    const subject = `WebhookSubscription/${id}`;
    await storeEvents({ em: within }, [{ type: DISABLED, payload: { id, url, owner, reason }, subject }]);
  });
}

/** Ends the rest of a subscription that its owner has changed. Its deliveries are due at once. */
export async function endRest(em: EntityManager, subscription: WebhookSubscription): Promise<void> {
  Object.assign(subscription, { failures: 0, failing_since: null, rests_until: null });
  const now = new Date();
  const later = { ...WAITING, share: subscription.id, due_at: { $gt: now } } as const;
  await em.nativeUpdate(OutboxEvent, later, { due_at: now }, STORED);
}

/** Which events to send again: one, or all dead letters since a time. */
export interface SendAgain {
  readonly event?: string | undefined;
  readonly since?: string | undefined;
}

/** Makes deliveries of a subscription wait again, as if they had never been tried. Returns how many. */
export async function sendAgain(
  em: EntityManager,
  { id, rests_until: restsUntil }: WebhookSubscription,
  { event, since }: SendAgain,
): Promise<number> {
  const which =
    event === undefined
      ? ({ status: 'dead', created_at: { $gte: new Date(since!) } } as const)
      : { status: { $in: ['delivered', 'dead'] as const }, id: derivedId(event, id) };
  const now = new Date();
  const due_at = restsUntil && restsUntil > now ? restsUntil : now;
  const changes = { status: 'waiting', attempts: 0, due_at, delivered_at: null } as const;
  return em.nativeUpdate(OutboxEvent, { ...which, share: id }, changes, STORED);
}
