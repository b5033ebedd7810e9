/**
 * An application of so many entities, each with a viewset or without, that says what its start took. Run by
 * `application-size.ts` with `--expose-gc`; its first argument is the number of entities, the second `views` or `none`.
 */
import { defineEntity, p } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/sqlite';
import {
  IsAuthenticated,
  IsSafeMethodOnly,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '@viewset/core';
import { fastify } from 'fastify';

/** What one start took: milliseconds since the process began, and memory once all is up. */
export interface StartReport {
  readonly importsMs: number;
  readonly ormMs: number;
  /** Making and registering the views, until Fastify is ready. */
  readonly registrationMs: number;
  /** The same in time of the processor, which holds on a machine that does other things too. */
  readonly registrationCpuMs: number;
  /** From the start of the process until it listens. */
  readonly listeningMs: number;
  readonly rssBytes: number;
  readonly heapBytes: number;
}

const importsMs = performance.now();
const count = Number(process.argv[2]);
const withViews = process.argv[3] === 'views';

const entities = Array.from({ length: count }, (_, index) =>
  defineEntity({
    name: `Thing${index}`,
    properties: {
      id: p.integer().primary(),
      name: p.string().length(200),
      price: p.decimal('number').precision(10).scale(2),
      stock: p.integer().default(0),
      is_active: p.boolean().default(true),
      created_at: p.datetime(3).nullable(),
    },
  }),
);

function makeView(Entity: (typeof entities)[number]) {
  return class extends ModelViewSet(Entity, {
    read: readShape(Entity, ['id', 'name', 'price', 'stock', 'is_active', 'created_at']),
    write: writeShape(Entity, ['name', 'price', 'stock', 'is_active', 'created_at']),
    searchFields: ['name'],
    filterFields: { min_price: 'price__gte', max_price: 'price__lte', name: 'name' },
    orderingFields: { id: 'id', name: 'name', price: 'price' },
    permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)],
  }) {};
}

const ormFrom = performance.now();
const orm = await MikroORM.init({ dbName: ':memory:', entities, discovery: { warnWhenNoEntities: false } });
const ormMs = performance.now() - ormFrom;

const app = fastify(serverOptions());
await app.register(viewset, { orm: orm as never });
const registrationFrom = performance.now();
const cpuFrom = process.cpuUsage();
if (withViews) {
  const router = new Router({ prefix: 'api' });
  for (const [index, Entity] of entities.entries()) router.register(`things-${index}`, makeView(Entity));
  await app.register(router.plugin);
}
await app.ready();
const registrationMs = performance.now() - registrationFrom;
const { user, system } = process.cpuUsage(cpuFrom);
const registrationCpuMs = (user + system) / 1000;

await app.listen({ host: '127.0.0.1', port: 0 });
const listeningMs = performance.now();
globalThis.gc?.();
const { rss: rssBytes, heapUsed: heapBytes } = process.memoryUsage();
const report: StartReport = {
  importsMs,
  ormMs,
  registrationMs,
  registrationCpuMs,
  listeningMs,
  rssBytes,
  heapBytes,
};
console.log(JSON.stringify(report));
await app.close();
await orm.close();
