import { existsSync } from 'node:fs';
import type { MikroORM } from '@mikro-orm/core';
import { MikroORM as MongoORM } from '@mikro-orm/mongodb';
import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import { MongoExtension } from '@viewset/mongodb';
import fastify from 'fastify';
import t from 'tap';
import { emptyDatabase, missingServer, TEST_DATABASES, testApp } from '../src/index.ts';
import {
  Account,
  type Api,
  Author,
  Book,
  BookViewSet,
  createApp,
  createAppWithAccounts,
  ENTITIES,
  onEveryDatabase,
  Role,
} from './support/library.ts';

onEveryDatabase(
  (orm) => createApp(orm),
  async (t, library) => {
    const body = {
      title: 'Tea',
      isbn: '1',
      kind: 'novel',
      price: 4.5,
      published: '2020-01-02',
      author: 'Ada',
    } as const;

    await t.test('a client of a user, without @viewset/auth', async (t) => {
      await library.factory(Author).create({ name: 'Ada' });
      t.match(await library.as<Api>(null).books.create.safe(body), { ok: false, status: 401 });
      const made = await library.as<Api>({ id: 7 }).books.create(body);
      t.match(made, { title: 'Tea', author: 'Ada' });
      const request = { method: 'DELETE', url: `/api/books/${made.id}` } as const;
      t.equal((await library.inject(null, request)).statusCode, 401);
      const headers = library.headersOf({ id: 7 });
      t.equal((await library.app.inject({ ...request, headers })).statusCode, 204);
      t.equal((await library.inject({ id: 7 }, { ...request, headers: { accept: '*/*' } })).statusCode, 404);
    });

    await t.test('factories make valid records', async (t) => {
      const books = library.factory(Book);
      const made = await books.createMany(14);
      t.equal(new Set(made.map(({ isbn }) => isbn)).size, 14);
      t.ok(made.every(({ title }) => title.length <= 12));
      t.equal(await library.orm.em.fork().count(Book), 14);
      t.equal(await library.orm.em.fork().count(Author), 15, 'each book has an author of its own');
      const author = await library.factory(Author).create((number) => ({ name: `Author ${number}!` }));
      t.match(author.name, /^Author \d+!$/);
      const own = await library.factory(Book, { author }).create({ title: 'Chosen' });
      t.equal((await library.as<Api>(null).books.retrieve(own.id)).author, author.name);
      t.equal(books.make({ title: 'Unsaved' }).title, 'Unsaved');
      t.equal(await library.orm.em.fork().count(Book), 15, 'what is made is not stored');
    });

    await t.test('bodies are valid, and differ', async (t) => {
      const api = library.as<Api>({ id: 7 });
      const body = await library.bodyFor(BookViewSet, 'create', { price: 4.5 });
      const made = await api.books.create(body);
      t.match(made, { title: body.title, isbn: body.isbn, kind: body.kind, price: 4.5, author: body.author });
      await api.books.create(await library.bodyFor(BookViewSet, 'create'));
      const changed = await api.books.update(made.id, await library.bodyFor(BookViewSet, 'update'));
      t.not(changed.author, made.author, 'of a new author');
      await t.rejects(library.bodyFor(BookViewSet, 'publish'), {
        message: 'BookViewSet has no "publish"; it has: list, create, retrieve, update, destroy',
      });
      await t.rejects(library.bodyFor(BookViewSet, 'list'), { message: 'BookViewSet: "list" takes no body' });
    });

    await t.test('queries are counted', async (t) => {
      const api = library.as<Api>(null);
      const book = (await api.books.list()).results[0]!;
      t.equal((await library.expectQueries(1, () => api.books.retrieve(book.id))).id, book.id);
      await t.rejects(
        library.expectQueries(2, () => api.books.retrieve(book.id)),
        {
          name: 'AssertionError',
          message: /^2 queries were expected, but 1 ran:\n1\. .*books?/is,
          actual: 1,
          expected: 2,
        },
      );
      await library.expectQueries(0, () => {});
      await t.rejects(
        library.expectQueries(1, () => Promise.reject(new Error('of the work'))),
        { message: 'of the work' },
      );
      await library.expectQueries(1, () => library.orm.em.fork().insert(Author, { name: 'Counted' }));
      const em = library.orm.em.fork();
      await library.expectQueries(1, () => em.transactional((inner) => inner.insert(Author, { name: 'Bracketed' })));
    });
  },
);

onEveryDatabase(
  (orm) => createAppWithAccounts(orm),
  async (t, library) => {
    await t.test('a client of an account', async (t) => {
      const role = await library.factory(Role).create({ name: 'user' });
      const account = await library.factory(Account).create({ role });
      t.match(account.email, /^user\d+@example\.com$/);
      const author = await library.factory(Author).create();
      const body = {
        title: 'Tea',
        isbn: '1',
        kind: 'novel',
        price: 4.5,
        published: '2020-01-02',
        author: author.name,
      } as const;
      t.match(await library.as<Api>(null).books.create.safe(body), { ok: false, status: 401 });
      t.match(await library.as<Api>(account).books.create(body), { title: 'Tea' });
    });
  },
);

t.test('a client sends its token by the scheme of the application', async (t) => {
  const build = (orm: MikroORM) => createAppWithAccounts(orm, { tokenScheme: 'Token' });
  const library = await testApp(build, { entities: ENTITIES, database: 'sqlite' });
  t.teardown(() => library.close());
  const account = await library.factory(Account).create({ role: await library.factory(Role).create() });
  t.match(library.headersOf(account), { authorization: /^Token / });
  t.match(await library.as<Api>(account).books.create.safe({} as never), { status: 400 });
});

t.test('applications have separate databases', async (t) => {
  const open = () => testApp(createApp, { entities: ENTITIES, database: 'sqlite' });
  const [first, second] = await Promise.all([open(), open()]);
  await first.factory(Author).create();
  t.equal(await second.orm.em.fork().count(Author), 0);
  await first[Symbol.asyncDispose]();
  await second.close();
});

t.test('an application that does not start leaves nothing open', async (t) => {
  const build = async () => Promise.reject(new Error('no application'));
  await t.rejects(testApp(build, { entities: ENTITIES }), { message: 'no application' });
});

t.test('an unknown database is rejected by name', async (t) => {
  const options = { entities: ENTITIES, database: 'oracle' as never };
  await t.rejects(testApp(createApp, options), { message: /must be sqlite, postgresql or mongodb, but got oracle/ });
});

t.test('an empty database for an application that opens it by itself', async (t) => {
  const open = {
    sqlite: (url: string) => SqliteORM.init({ dbName: url.slice('sqlite:'.length), entities: ENTITIES }),
    postgresql: (clientUrl: string) => PostgreSqlORM.init({ clientUrl, entities: ENTITIES }),
    mongodb: (clientUrl: string) => MongoORM.init({ clientUrl, entities: ENTITIES, extensions: [MongoExtension] }),
  };
  for (const database of TEST_DATABASES) {
    await t.test(`on ${database}`, { skip: missingServer(database) }, async (t) => {
      const { url, drop } = await emptyDatabase(database);
      const orm = await open[database](url);
      await orm.schema.create();
      await orm.em.fork().insert(Role, { id: 1, name: 'user' });
      t.equal(await orm.em.fork().count(Role), 1);
      await orm.close();
      await drop();
      if (database === 'sqlite') return t.notOk(existsSync(url.slice('sqlite:'.length)));
      const after = await open[database](url);
      t.teardown(() => after.close());
      const left = await after.em
        .fork()
        .count(Role)
        .catch((error: Error) => error.message);
      return t.match(String(left), database === 'mongodb' ? '0' : 'does not exist');
    });
  }
});

t.test('a server that is missing skips a test, but not under CI', async (t) => {
  for (const name of ['TEST_POSTGRES_URL', 'CI']) {
    const before = process.env[name];
    t.teardown(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
  delete process.env['TEST_POSTGRES_URL'];
  process.env['CI'] = '';
  t.equal(missingServer('postgresql'), 'TEST_POSTGRES_URL is not set: nothing was tried on postgresql');
  t.equal(missingServer('sqlite'), false);
  process.env['CI'] = 'true';
  t.equal(missingServer('postgresql'), false);
  await t.rejects(emptyDatabase('postgresql'), { message: /set TEST_POSTGRES_URL to the URL of a server/ });
});

t.test('an application that fails at start is closed', async (t) => {
  const closed: string[] = [];
  const build = async () => {
    const app = fastify();
    app.addHook('onReady', async () => {});
    app.addHook('onClose', async () => void closed.push('worker'));
    app.addHook('onReady', async () => {
      throw new Error('the start fails');
    });
    return app;
  };
  await t.rejects(testApp(build, { entities: ENTITIES, database: 'sqlite' }), { message: 'the start fails' });
  t.strictSame(closed, ['worker']);
});
