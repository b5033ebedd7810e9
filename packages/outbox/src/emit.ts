import type { EntityManager } from '@mikro-orm/core';
import { afterCommit, checkOptionNames, keepTenant, requireEntities, wrongOption } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { newEventId } from './event-id.ts';
import type { LaneName } from './lanes.ts';
import { OutboxEvent } from './outbox-event.ts';
import { wakeWorkers } from './worker/wake.ts';

/** An event to store. */
export interface NewEvent {
  /** Default: a new one. */
  readonly id?: string;
  readonly type: string;
  readonly payload: unknown;
  /** The record that the event is about. */
  readonly subject?: string | undefined;
  /** The subscription and its owner, for a delivery. */
  readonly share?: string | undefined;
  readonly shareOwner?: string | null | undefined;
  /** Default: now. */
  readonly dueAt?: Date | undefined;
  /** The tenant, as `keepTenant` writes it. Default: that of the entity manager. */
  readonly tenant?: string | null | undefined;
}

const TYPE = /^(?=.{1,255}$)\w+(\.\w+)*$/;
const MAX_SUBJECT_LENGTH = 255;

/**
 * Stores an event of your own in the current transaction of `request.em`. Workers deliver it after the commit. A
 * rollback removes the event as well. Without a transaction the event is stored at once.
 *
 * @param request a request, or `{ em }` in a job
 * @param type words separated by full stops, such as `order.paid`; otherwise a TypeError is thrown
 * @param payload any value that JSON can hold, except null
 * @param options `subject`: what the event is about. Events of one subject are delivered in the order they were stored.
 * A subject over 255 characters is stored as its SHA-256. Default: none
 * @returns the id of the event
 * @example
 * class ProductViewSet extends ModelViewSet(Product, { read, write }) {
 *   sell = action({ detail: true, methods: ['post'] }, async (request) => {
 *     const product = await this.getObject(request);
 *     product.stock -= 1;
 *     await emit(request, 'product.sold', { id: product.id }, { subject: `Product/${product.id}` });
 *     return this.represent(product);
 *   });
 * }
 */
export async function emit(
  request: { readonly em: EntityManager },
  type: string,
  payload: unknown,
  options: { readonly subject?: string } = {},
): Promise<string> {
  checkEvent(request, type, payload, options);
  const { subject } = options;
  const [id] = await storeEvents(request, [{ type, payload, subject }]);
  return id!;
}

function checkEvent(request: { readonly em: EntityManager }, type: string, payload: unknown, options: object): void {
  if (request.em === undefined) throw new TypeError('emit(): the first argument must be a request, or { em } of a job');
  requireEntities(request.em, 'emit()', '@viewset/outbox', [OutboxEvent]);
  if (typeof type !== 'string' || !TYPE.test(type)) {
    throw new TypeError(`emit(): a type is such as "order.paid", got ${JSON.stringify(type)}`);
  }
  if (payload === undefined || payload === null) {
    throw new TypeError(`emit(): a payload is any JSON except null, got ${payload}`);
  }
  checkOptionNames('emit()', options, ['subject']);
  const { subject }: { readonly subject?: unknown } = options;
  if (subject !== undefined && typeof subject !== 'string') throw wrongOption('emit()', 'subject', 'a string', subject);
}

/**
 * Stores events with one statement. Bypasses the unit of work: after a savepoint is rolled back, no event is left to be
 * flushed later.
 */
export async function storeEvents(
  request: { readonly em: EntityManager },
  events: readonly NewEvent[],
  lane: LaneName = 'handlers',
): Promise<readonly string[]> {
  const { em } = request;
  const now = new Date();
  const current = keepTenant(em);
  const rows = events.map(
    ({ id = newEventId(), type, payload, subject, share, shareOwner, dueAt = now, tenant = current }) => ({
      id,
      type,
      subject: subject === undefined ? null : bounded(subject),
      payload: plainJson(payload),
      created_at: now,
      due_at: dueAt,
      lane,
      share: share ?? null,
      share_owner: shareOwner ?? null,
      status: 'waiting' as const,
      attempts: 0,
      tenant_key: tenant,
    }),
  );
  await em.insertMany(OutboxEvent, rows);
  // `afterCommit` only uses the request's entity manager, because `wakeWorkers` cannot fail.
  await afterCommit(request as FastifyRequest, () => wakeWorkers(em.config, lane));
  return rows.map(({ id }) => id);
}

/** Fits a subject into the column: a long one becomes its hash, which is still unique. */
function bounded(subject: string): string {
  return subject.length <= MAX_SUBJECT_LENGTH ? subject : createHash('sha256').update(subject).digest('hex');
}

/** Converts the payload to plain JSON: dates and bigints become strings. */
function plainJson(payload: unknown): unknown {
  const text = JSON.stringify(payload, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  return text === undefined ? null : (JSON.parse(text) as unknown);
}
