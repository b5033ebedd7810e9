/** Tables and columns that the database lacks are a warning, once the application listens. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import fastify from 'fastify';
import t, { type Test } from 'tap';
import { ModelViewSet, readShape, Router, serverOptions, viewset, type ViewsetOptions } from '../../src/index.ts';
import { backendOf } from '../../src/query/backend-of.ts';
import { recordQueries } from '../query/record-queries.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Book, LIBRARY, Publisher } from '../support/library.ts';

const Shop = defineEntity({
  name: 'Shop',
  properties: {
    id: p.integer().primary(),
    kind: p.string().fieldName('shop_kind'),
    tags: p.json<string[]>().nullable(),
    days: p.array().nullable(),
    books: () => p.manyToMany(Book),
    owner: () => p.manyToOne(Publisher).nullable(),
    passport: () => p.oneToOne(Passport).nullable(),
    length: p.integer().persist(false).nullable(),
    twice: p.integer().formula((columns) => `${columns.id} * 2`),
  },
});
const Passport = defineEntity({
  name: 'Passport',
  properties: { id: p.integer().primary(), shop: () => p.oneToOne(Shop).mappedBy('passport') },
});
const entities = [...LIBRARY, Shop, Passport];

class BookViewSet extends ModelViewSet(Book, { read: readShape(Book, ['id', 'title']) }) {}

/** Starts an application, and returns the first warning of its log. */
async function warningOf(t: Test, orm: MikroORM, options: Partial<ViewsetOptions> = {}): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const stream = {
    write: (line: string) => {
      const { level, msg } = JSON.parse(line) as { level: number; msg: string };
      if (level === 40 && msg.startsWith('The database lacks')) resolve(msg);
    },
  };
  const app = fastify(serverOptions({ logger: { level: 'warn', stream } }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm, ...options });
  await app.register(new Router().register('books', BookViewSet).plugin);
  await app.listen({ port: 0, host: '127.0.0.1' });
  return promise;
}

forEachDatabase(t, { entities }, async (t, orm, database) => {
  const missing = async () => {
    const parts: (string | undefined)[] = [];
    for (const meta of [Publisher, Book, Shop, Passport].map((each) => orm.getMetadata().get(each.meta.class))) {
      parts.push(await backendOf(orm.em).missingPart(orm.em.fork(), meta));
    }
    return parts.filter((part) => part !== undefined);
  };

  t.test('nothing is missing after the schema was made', async (t) => {
    await orm.schema.refresh();
    t.same(await missing(), []);
  });

  if (database === 'mongodb') return;

  t.test('a missing column and a missing table are named, with what to do', async (t) => {
    await orm.schema.refresh();
    await orm.em.getConnection().execute('alter table shop drop column shop_kind');
    await orm.em
      .getConnection()
      .execute('drop table book cascade'.replace(database === 'sqlite' ? ' cascade' : '', ''));
    t.same(await missing(), ['the table "book"', 'the column "shop_kind" of the table "shop"']);
    t.equal(
      await warningOf(t, orm, { checkTables: true }),
      'The database lacks the column "shop_kind" of the table "shop" (entity Shop), the table "book" (entity Book): ' +
        'run your migrations, or `await orm.schema.update({ safe: true })` while you develop',
    );
  });

  t.test('it is the default outside of production and tests', async (t) => {
    const before = process.env['NODE_ENV'];
    t.teardown(() => {
      if (before === undefined) delete process.env['NODE_ENV'];
      else process.env['NODE_ENV'] = before;
    });
    delete process.env['NODE_ENV'];
    await orm.schema.clear().catch(() => undefined);
    await orm.schema.drop();
    t.match(await warningOf(t, orm), /^The database lacks the table "book" \(entity Book\), the table "passport"/);
    for (const [env, options] of [
      ['production', {}],
      ['test', {}],
      ['development', { checkTables: false }],
    ] as const) {
      process.env['NODE_ENV'] = env;
      const app = fastify(serverOptions());
      t.teardown(() => app.close());
      await app.register(viewset, { orm, ...options });
      const queries = recordQueries(orm);
      await app.listen({ port: 0, host: '127.0.0.1' });
      await new Promise((resolve) => setImmediate(resolve));
      queries.stop();
      t.same(queries.texts, [], env);
    }
  });
});
