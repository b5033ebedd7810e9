import t from 'tap';
import { testApp } from '../src/index.ts';
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
      const headers = library.headersOf({ id: 7 });
      const answer = await library.app.inject({ method: 'DELETE', url: `/api/books/${made.id}`, headers });
      t.equal(answer.statusCode, 204);
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

t.test('applications have databases of their own', async (t) => {
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

t.test('a database that is none is named', async (t) => {
  const options = { entities: ENTITIES, database: 'oracle' as never };
  await t.rejects(testApp(createApp, options), { message: /must be sqlite, postgresql or mongodb, but got oracle/ });
});
