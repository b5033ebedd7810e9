/**
 * An application of so many entities, each with a viewset or without, that reports the cost of its start. Run by `application-size.ts` and
 * `document-cost.ts` with `--expose-gc`; its first argument is the number of entities, the second a kind: `none` has no views, `swagger`
 * has views and `@fastify/swagger`, `documented` has views and `@viewset/openapi`. With `asked` as the third, it also receives requests for
 * a record and for its document.
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

/** The cost of one start: milliseconds since the process began, and memory after the start. */
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
  /** The time to make the document, in the first request for it; 0 without that request. In processor time. */
  readonly documentCpuMs: number;
  /** One of many requests for a missing record; 0 without them. In processor time. */
  readonly requestCpuMicroseconds: number;
}

/** The kinds of an application. */
export type ApplicationKind = 'none' | 'views' | 'swagger' | 'documented';

const REQUESTS = 2_000;

const kind = process.argv[3] as ApplicationKind;
// Without a document, the module that makes it is not loaded.
const openapi = kind === 'documented' ? (await import('@viewset/openapi')).openapi : undefined;
const swagger = kind === 'swagger' ? (await import('@fastify/swagger')).default : undefined;
const importsMs = performance.now();
const count = Number(process.argv[2]);
const withRequests = process.argv[4] === 'requests';

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
const registrationFrom = performance.now();
const cpuFrom = process.cpuUsage();
const info = { title: 'Things', version: '1.0.0' };
if (swagger !== undefined) await app.register(swagger, { openapi: { openapi: '3.1.1', info } });
if (openapi !== undefined) await app.register(openapi, { info });
await app.register(viewset, { orm: orm as never });
if (kind !== 'none') {
  const router = new Router({ prefix: 'api' });
  for (const [index, Entity] of entities.entries()) router.register(`things-${index}`, makeView(Entity));
  await app.register(router.plugin);
}
await app.ready();
const registrationMs = performance.now() - registrationFrom;
const registrationCpuMs = cpuSince(cpuFrom);

await app.listen({ host: '127.0.0.1', port: 0 });
const listeningMs = performance.now();
globalThis.gc?.();
const { rss: rssBytes, heapUsed: heapBytes } = process.memoryUsage();

const costs = withRequests ? await ask() : { documentCpuMs: 0, requestCpuMicroseconds: 0 };
const report: StartReport = {
  importsMs,
  ormMs,
  registrationMs,
  registrationCpuMs,
  listeningMs,
  rssBytes,
  heapBytes,
  ...costs,
};
console.log(JSON.stringify(report));
await app.close();
await orm.close();

async function ask(): Promise<Pick<StartReport, 'documentCpuMs' | 'requestCpuMicroseconds'>> {
  await orm.schema.create();
  const sendAll = async (): Promise<void> => {
    for (let sent = 0; sent < REQUESTS; sent++) await app.inject('/api/things-0/1');
  };
  await sendAll();
  const requestsFrom = process.cpuUsage();
  await sendAll();
  const requestCpuMicroseconds = (cpuSince(requestsFrom) / REQUESTS) * 1000;
  const documentFrom = process.cpuUsage();
  if (openapi !== undefined) await app.inject('/openapi.json');
  if (swagger !== undefined) app.swagger();
  return { documentCpuMs: cpuSince(documentFrom), requestCpuMicroseconds };
}

function cpuSince(from: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1000;
}
