import type { FastifyReply, FastifyRequest } from 'fastify';
import { whenReady } from '../../support/awaitable.ts';
import type { Projection } from '../../query/language/projection.ts';
import { hasPendingRelations, notFlushed } from '../../mikro/pending-relations.ts';
import { backendOf } from '../../query/backend-of.ts';
import { stateOf, type DeferredRecord } from './request-state.ts';

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/**
 * Makes a record from an entity. Its fields are read after the handler has returned.
 *
 * @param names the names of the fields
 */
export function deferRecord(
  { who, ...made }: Omit<DeferredRecord, 'record'>,
  names: readonly string[],
): DeferredRecord {
  const get = (): never => {
    throw new Error(
      `${who} reads related records when the handler has returned; await the view's loadRelated() before it to read a field earlier, or to override represent()`,
    );
  };
  const fields = names.map((name) => [name, { get, enumerable: true, configurable: true }]);
  return { ...made, who, record: Object.defineProperties({}, Object.fromEntries(fields) as PropertyDescriptorMap) };
}

/** Makes a handler read its unread records after it has returned. */
export function fillingDeferred(handler: Handler): Handler {
  return (request, reply) => {
    const unread: DeferredRecord[] = [];
    stateOf(request).unread = unread;
    return whenReady(handler(request, reply), (result) =>
      unread.length === 0 ? result : readAll(request, unread).then(() => result),
    );
  };
}

async function readAll(request: FastifyRequest, unread: readonly DeferredRecord[]): Promise<void> {
  for (const [projection, records] of Map.groupBy(unread, (each) => each.projection)) {
    const entities = records.map(({ entity }) => entity);
    await loadStored(records[0]!.who, request, entities, projection);
    for (const { record, entity } of records) {
      Object.defineProperties(record, Object.getOwnPropertyDescriptors(projection.readEntity(entity)));
    }
  }
}

/**
 * Loads the stored related records of entities. Within a transaction it flushes the changes of `request.em` first.
 *
 * @throws Error outside of a transaction if relations have changes
 */
export async function loadStored(
  who: string,
  request: FastifyRequest,
  entities: readonly object[],
  projection: Projection<unknown>,
): Promise<void> {
  const { em } = request;
  if (em.isInTransaction()) await em.flush();
  else if (hasPendingRelations(em)) throw notFlushed(who);
  await backendOf(request).loadRelated(request, entities, projection);
}
