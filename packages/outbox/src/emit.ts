import type { EntityManager } from '@mikro-orm/core';
import { afterCommit, checkOptionNames, requireEntities, wrongOption } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { newEventId } from './event-id.ts';
import { OutboxEvent } from './outbox-event.ts';
import { wakeWorkers } from './worker/wake.ts';

/** An event that is to be stored. */
export interface NewEvent {
  /** Default: a new one. */
  readonly id?: string;
  readonly type: string;
  readonly payload: unknown;
  /** The record that the event is about. */
  readonly subject?: string | undefined;
}

const TYPE = /^(?=.{1,255}$)\w+(\.\w+)*$/;
const MAX_SUBJECT_LENGTH = 255;

/**
 * Stores an event of your own in the current transaction of `request.em`, to be delivered once that is committed. If it is rolled back, there is no
 * event. Without a transaction the event is stored at once.
 *
 * @param request a request, or `{ em }` of a job
 * @param type words with full stops in between, such as `order.paid`; else a TypeError is thrown
 * @param payload anything that JSON can say, but not null
 * @param options `subject`: what the event is about. Events of one subject are delivered in the order in which they were stored. A
 * longer one than 255 characters is stored as its SHA-256. Default: none
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
    throw new TypeError(`emit(): a type is such as "order.paid", but ${JSON.stringify(type)} came`);
  }
  if (payload === undefined || payload === null) {
    throw new TypeError(`emit(): a payload is any JSON but null, but ${payload} came`);
  }
  checkOptionNames('emit()', options, ['subject']);
  const { subject }: { readonly subject?: unknown } = options;
  if (subject !== undefined && typeof subject !== 'string') throw wrongOption('emit()', 'subject', 'a string', subject);
}

/** Stores events by one statement. It passes the unit of work by, so that a savepoint that is rolled back leaves none to be written later. */
export async function storeEvents(
  request: { readonly em: EntityManager },
  events: readonly NewEvent[],
): Promise<readonly string[]> {
  const { em } = request;
  const now = new Date();
  const rows = events.map(({ id = newEventId(), type, payload, subject }) => ({
    id,
    type,
    subject: subject === undefined ? null : bounded(subject),
    payload: plainJson(payload),
    created_at: now,
    due_at: now,
    status: 'waiting' as const,
    attempts: 0,
  }));
  await em.insertMany(OutboxEvent, rows);
  // Of a request, only the entity manager is asked: waking a worker does not fail.
  await afterCommit(request as FastifyRequest, () => wakeWorkers(em.config));
  return rows.map(({ id }) => id);
}

/** A subject that the column can hold: a long one as its hash, which is as good to tell it from others. */
function bounded(subject: string): string {
  return subject.length <= MAX_SUBJECT_LENGTH ? subject : createHash('sha256').update(subject).digest('hex');
}

/** The payload as JSON has it: a date is a text, and a bigint too. */
function plainJson(payload: unknown): unknown {
  const text = JSON.stringify(payload, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  return text === undefined ? null : (JSON.parse(text) as unknown);
}
