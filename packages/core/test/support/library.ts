import { defineEntity, p, type MikroORM } from '@mikro-orm/core';
import fastify, { type FastifyInstance } from 'fastify';
import type { Test } from 'tap';
import { Router, serverOptions, type ViewSet, viewset, type ViewsetOptions } from '../../src/index.ts';

/** A publisher of books; the other end of the test entities' one relation. */
export const Publisher = defineEntity({
  name: 'Publisher',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(50).unique(),
  },
});

export const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(100),
    pages: p.integer().default(0),
    price: p.decimal('number').precision(8).scale(2).nullable(),
    in_print: p.boolean().default(true),
    published_at: p.datetime().length(3).nullable(),
    publisher: () => p.manyToOne(Publisher).nullable().deleteRule('restrict'),
  },
});

export const LIBRARY = [Publisher, Book];

/** Two publishers and five books. */
export async function fillLibrary(orm: MikroORM): Promise<void> {
  const em = orm.em.fork();
  const north = em.create(Publisher, { name: 'North' });
  const south = em.create(Publisher, { name: 'South' });
  const books = [
    { title: 'Ash', pages: 100, price: 10, publisher: north },
    { title: 'Birch', pages: 200, price: 20, publisher: north },
    { title: 'Cedar', pages: 300, price: 30, publisher: south },
    { title: 'Date', pages: 300, price: null, publisher: null },
    { title: 'Elm', pages: 50, price: 5.5, publisher: south, in_print: false },
  ];
  for (const book of books) {
    em.create(Book, book);
    await em.flush();
  }
}

export interface TestAppOptions {
  readonly options?: Partial<ViewsetOptions>;
  /** Registered before the routers, after the plugin. */
  readonly before?: (app: FastifyInstance) => Promise<void> | void;
}

/** An application with some routers, on `serverOptions()`, closed when the test ends. The header `x-user` logs in. */
export async function testApp(t: Test, orm: MikroORM, routers: readonly Router[], given: TestAppOptions = {}) {
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm, ...given.options });
  app.addHook('onRequest', async (request) => {
    const name = request.headers['x-user'];
    if (typeof name === 'string') request.user = { id: name.length, role: { name } };
  });
  await given.before?.(app);
  for (const router of routers) await app.register(router.plugin);
  await app.ready();
  return app;
}

/** The message by which the start of an application with a view is refused; undefined if it starts. */
export async function errorAtStart(
  t: Test,
  orm: MikroORM,
  View: new () => ViewSet,
  options: Partial<ViewsetOptions> = {},
): Promise<string | undefined> {
  try {
    await testApp(t, orm, [new Router().register('books', View)], { options });
    return undefined;
  } catch (error) {
    t.match(error, { name: 'ImproperlyConfigured' });
    return (error as Error).message;
  }
}

/** The warnings in the log of an application with some routers, when it is ready. */
export async function warningsAtStart(
  t: Test,
  orm: MikroORM,
  routers: readonly Router[],
  options: Partial<ViewsetOptions> = {},
): Promise<string[]> {
  const warnings: string[] = [];
  const stream = { write: (line: string) => void warnings.push((JSON.parse(line) as { msg: string }).msg) };
  const app = fastify(serverOptions({ logger: { level: 'warn', stream } }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm, ...options });
  for (const router of routers) await app.register(router.plugin);
  await app.ready();
  return warnings;
}
