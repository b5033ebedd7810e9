import {
  afterCommit,
  freeSlot,
  liveFeature,
  type RecordWrite,
  requireEntities,
  requireTransactions,
  type SendLiveList,
} from '@viewset/core';
import type { EntityManager, EntityName } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { Readable } from 'node:stream';
import { ChangeLog, noteChanges } from './change-log.ts';
import { ListChange, ListVersion } from './list-change.ts';
import { LiveLists } from './live-lists.ts';
import { type LiveOptions, resolveLiveOptions } from './live-options.ts';
import { settledOrLate } from './round.ts';
import type { WakeUps } from './wake-ups.ts';

const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' };

/** Within this time, writes wake other processes only once, in milliseconds. */
const NOTIFY_EVERY_MS = 10;
/** How long the last wake-up may take when the application closes, in milliseconds. */
const LAST_HINT_MS = 1000;

/** The loops in this process that writes wake, by ORM configuration, which all entity managers of an ORM share. */
const loops = new WeakMap<object, Set<() => void>>();

/**
 * The Fastify plugin that streams the changes of lists of views with `live: true`. Register it after `viewset` and
 * before the routers. The ORM needs the entities `ListChange` and `ListVersion`.
 *
 * @throws ImproperlyConfigured if an option is wrong, or if the ORM has no transactions or lacks one of the entities
 * @example
 * class ProductViewSet extends ModelViewSet(Product, { read, write, live: true }) {}
 *
 * await app.register(viewset, { orm });
 * await app.register(live);
 * await app.register(new Router().register('products', ProductViewSet).plugin);
 */
export const live = fp(
  async (app: FastifyInstance, given: LiveOptions): Promise<void> => {
    const options = resolveLiveOptions(given);
    const { orm } = app.viewset;
    requireTransactions(orm, 'live');
    requireEntities(orm, 'live', '@viewset/live', [ListChange, ListVersion]);
    const lists = new LiveLists(new ChangeLog(orm, app.log), options, app.log);
    app.viewset.addFeature(liveFeature({ listener: noteWrites, send: senderTo(lists) }));
    const woken = new Waking(options.wakeUps, () => lists.wake());
    const all = loops.get(orm.em.config) ?? new Set();
    loops.set(orm.em.config, all.add(woken.written));
    app.addHook('onReady', async () => {
      await woken.start();
      lists.start();
    });
    // Streams must end before the server waits for its connections.
    app.addHook('preClose', () => lists.stop());
    // Runs after the last requests, so that other processes notice their writes.
    app.addHook('onClose', async () => {
      all.delete(woken.written);
      await woken.stop();
    });
  },
  { name: '@viewset/live', fastify: '5.x', dependencies: ['@viewset/core'] },
);

/**
 * Notifies live lists that records of an entity were changed without a view with `live`, such as by an action, a job or
 * a statement. Takes effect when the current transaction of `em` commits; without a transaction, at once.
 *
 * @param request a request, or `{ em }` in a job
 * @throws ImproperlyConfigured if the ORM lacks the entity `ListChange`
 * @example
 * await em.transactional(async (em) => {
 *   await em.nativeUpdate(Product, { stock: 0 }, { deleted_at: new Date() });
 *   await notifyLists({ em }, Product);
 * });
 */
export async function notifyLists<Entities extends readonly object[]>(
  request: { readonly em: EntityManager },
  ...entities: { readonly [Place in keyof Entities]: EntityName<Entities[Place]> }
): Promise<void> {
  const { em } = request;
  if (em === undefined) throw new TypeError('notifyLists(): the first argument must be a request, or { em } of a job');
  requireEntities(em, 'notifyLists()', '@viewset/live', [ListChange]);
  await note(
    request,
    entities.map((entity) => em.getMetadata().get(entity).root.className),
  );
}

async function noteWrites(writes: readonly RecordWrite[]): Promise<void> {
  if (writes.length === 0) return;
  await note(
    writes[0]!.request,
    writes.map(({ meta }) => meta.root.className),
  );
}

async function note(request: { readonly em: EntityManager }, entities: readonly string[]): Promise<void> {
  const { em } = request;
  await noteChanges(em, entities);
  // `afterCommit` only uses the request's entity manager, because waking cannot fail.
  await afterCommit(request as FastifyRequest, () => {
    for (const written of loops.get(em.config) ?? []) written();
  });
}

function senderTo(lists: LiveLists): SendLiveList {
  return async (request, reply, list) => {
    if (request.method === 'HEAD') {
      await (await list.ask()).read();
      return reply.headers(HEADERS).send(Readable.from([]));
    }
    const { body } = await lists.open(request, reply, list);
    freeSlot(request);
    // A connection that is kept alive would delay a server that closes. HTTP/2 has no such header.
    if (request.raw.httpVersionMajor === 1) void reply.header('connection', 'close');
    return reply.headers(HEADERS).send(body);
  };
}

/** Wakes the loops of this process and of others. */
class Waking {
  readonly #wakeUps: WakeUps | undefined;
  readonly #wake: () => void;
  #end: (() => unknown) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #notified: Promise<void> = Promise.resolve();

  constructor(wakeUps: WakeUps | undefined, wake: () => void) {
    this.#wakeUps = wakeUps;
    this.#wake = wake;
  }

  /** Call it after a write in this process. */
  readonly written = (): void => {
    this.#wake();
    if (this.#wakeUps?.notify === undefined || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.#notifyNow(), NOTIFY_EVERY_MS);
  };

  async start(): Promise<void> {
    this.#end = await this.#wakeUps?.listen(this.#wake);
  }

  async stop(): Promise<void> {
    if (this.#timer !== undefined) this.#notifyNow();
    await settledOrLate(this.#notified, LAST_HINT_MS);
    await this.#end?.();
  }

  #notifyNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#notified = this.#notify();
  }

  /** A failed wake-up does no harm: other processes look by themselves. */
  async #notify(): Promise<void> {
    try {
      await this.#wakeUps!.notify!();
    } catch {}
  }
}
