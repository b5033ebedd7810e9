import type { EntityMetadata } from '@mikro-orm/core';
import {
  checkOptionNames,
  eventsFeature,
  type FeatureView,
  ImproperlyConfigured,
  keepTenant,
  type RecordWrite,
  type WriteKind,
} from '@viewset/core';
import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';
import { checkOrm } from './check-orm.ts';
import { storeEvents } from './emit.ts';
import { handlerList } from './worker/handlers.ts';
import { WORKER_OPTIONS, type WorkerOptions } from './worker/options.ts';
import type { OutboxWorker } from './worker/start-outbox.ts';
import { workerOf } from './worker/worker.ts';

/**
 * The options of the plugin `outbox`, which are those of its worker. Without `handlers` this process only stores
 * events; another process delivers them with `startOutbox()`.
 */
export type OutboxOptions = Partial<WorkerOptions>;

/** Stores the events of views with the option `emits`. */
const EVENTS = eventsFeature(storeWrites);

/**
 * The Fastify plugin that stores the events of views with the option `emits`, in the transaction of each write.
 * Register it after `viewset` and before the routers. The ORM needs the entity `OutboxEvent`.
 *
 * An event's type is `product.created`, `product.updated` or `product.deleted`: the entity's name in snake case and the
 * kind of write. Its payload is the record as the view's `retrieve` shows it by default. Fields outside the read shape
 * are never included.
 *
 * With `handlers`, a worker runs in this process while the application runs. It stops when the application begins to
 * close. See `startOutbox()`.
 *
 * @throws ImproperlyConfigured if the ORM has no transactions or no `OutboxEvent`
 * @example
 * class ProductViewSet extends ModelViewSet(Product, { read, write, emits: ['created', 'deleted'] }) {}
 *
 * await app.register(viewset, { orm });
 * await app.register(outbox);
 * await app.register(new Router().register('products', ProductViewSet).plugin);
 */
export const outbox = fp(
  async (app: FastifyInstance, options: OutboxOptions): Promise<void> => {
    const { orm } = app.viewset;
    checkOrm('outbox', orm);
    const emitted = new Set<string>();
    app.viewset.addFeature({
      ...EVENTS,
      resolve: (view: FeatureView, kinds: readonly WriteKind[]) => {
        const parts = EVENTS.resolve(view, kinds);
        for (const kind of kinds) emitted.add(typeOf(view.meta, kind));
        return parts;
      },
    });
    const { handlers } = options;
    if (handlers === undefined) return checkStoringOnly(options);
    const start = workerOf('outbox', orm, { log: app.log, ...options, handlers });
    let worker: OutboxWorker | undefined;
    let stopping: Promise<void> | undefined;
    app.addHook('onReady', async () => {
      warnOfUnusedHandlers(app, handlers, emitted);
      worker = start();
    });
    // The time limit of the stop begins with the close, beside the requests in flight and the hooks of other plugins.
    app.addHook('preClose', async () => {
      stopping = worker?.stop();
    });
    app.addHook('onClose', () => stopping);
  },
  { name: '@viewset/outbox', fastify: '5.x', dependencies: ['@viewset/core'] },
);

/** Rejects worker options without `handlers`, because they would have no effect. */
function checkStoringOnly(options: OutboxOptions): void {
  checkOptionNames('outbox', options, WORKER_OPTIONS);
  const given = Object.entries(options).find(([, value]) => value !== undefined);
  if (given === undefined) return;
  throw new ImproperlyConfigured(
    `outbox: option "${given[0]}" needs the option "handlers"; without "handlers" this process delivers no events`,
  );
}

async function storeWrites(writes: readonly RecordWrite[]): Promise<void> {
  const events = writes.map(({ kind, meta, key, record, entity, request }) => ({
    type: typeOf(meta, kind),
    payload: record,
    subject: `${meta.className}/${String(key)}`,
    tenant: keepTenant(request.em, entity),
  }));
  if (events.length > 0) await storeEvents(writes[0]!.request, events);
}

/** Warns of handlers for the writes of an entity, if no view of the application emits these writes. */
function warnOfUnusedHandlers(app: FastifyInstance, handlers: unknown, emitted: ReadonlySet<string>): void {
  const metas = [...app.viewset.orm.getMetadata().getAll().values()];
  for (const [type] of handlerList('outbox', handlers)) {
    if (emitted.has(type)) continue;
    const kind = WRITE_KINDS.find((each) => type.endsWith(`.${each}`));
    const meta = kind && metas.find((each) => typeOf(each, kind) === type);
    if (meta === undefined) continue;
    app.log.warn(
      `outbox: no view of ${meta.className} has "${kind}" in its option "emits", so the handler "${type}" gets only ` +
        'events of emit()',
    );
  }
}

const WRITE_KINDS: readonly WriteKind[] = ['created', 'updated', 'deleted'];

function typeOf({ className }: EntityMetadata, kind: WriteKind): string {
  return `${snakeCase(className)}.${kind}`;
}

function snakeCase(name: string): string {
  return name.replaceAll(/(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '_').toLowerCase();
}
