/** Formulas: a database may give their values in another type than the property declares, as PostgreSQL does of count(*). */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { action, ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase, SQL_DATABASES } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Author = defineEntity({
  name: 'Author',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20),
    books: p
      .integer()
      .persist(false)
      .formula((columns) => `(select count(*) from book b where b.author_id = ${columns.id})`),
    exact: p
      .decimal()
      .persist(false)
      .formula((columns) => `(select count(*) from book b where b.author_id = ${columns.id})`),
    all: p
      .integer()
      .persist(false)
      .formula(() => '(select count(*) from author)'),
    label: p
      .string()
      .persist(false)
      .formula((columns) => `(select count(*) from book b where b.author_id = ${columns.id})`),
    float: p
      .float()
      .persist(false)
      .formula((columns) => `(select count(*) from book b where b.author_id = ${columns.id})`),
    average: p
      .float()
      .nullable()
      .persist(false)
      .formula((columns) => `(select avg(b.pages) from book b where b.author_id = ${columns.id})`),
    is_read: p
      .boolean()
      .persist(false)
      .formula((columns) => `(select count(*) > 0 from book b where b.author_id = ${columns.id})`),
  },
});
const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    pages: p.integer(),
    author: () => p.manyToOne(Author),
    second: () => p.manyToOne(Author).nullable(),
  },
});

const read = readShape(Author, ['id', 'name', 'books', 'label', 'average', 'is_read']);
const write = writeShape(Author, ['name']);
class PlainViewSet extends ModelViewSet(Author, { read, write, orderingFields: { books: 'books' } }) {
  touch = action({ detail: true, methods: ['post'] }, async (request) => this.represent(await this.getObject(request)));
}
class HookedViewSet extends ModelViewSet(Author, { read, write }) {
  override represent(author: InferEntity<typeof Author>, request?: FastifyRequest) {
    return super.represent(author, request);
  }
}
class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id'], { author: readShape(Author, ['books']) }),
}) {}

forEachDatabase(t, { entities: [Author, Book], only: SQL_DATABASES }, async (t, orm) => {
  const em = orm.em.fork();
  const ada = em.create(Author, { name: 'Ada' } as never);
  em.create(Author, { name: 'Bob' } as never);
  for (const pages of [100, 201]) em.create(Book, { pages, author: ada });
  await em.flush();
  const router = new Router()
    .register('plain', PlainViewSet)
    .register('hooked', HookedViewSet)
    .register('books', BookViewSet);
  const app = await testApp(t, orm, [router]);
  const seen = { id: 1, name: 'Ada', books: 2, label: '2', average: 150.5, is_read: true };
  const none = { id: 2, name: 'Bob', books: 0, label: '0', average: null, is_read: false };

  for (const path of ['plain', 'hooked']) {
    t.test(`a number is a number, by rows and by entities, at /${path}`, async (t) => {
      t.strictSame((await app.inject(`/${path}`)).json().results, [seen, none]);
      t.strictSame((await app.inject(`/${path}/1`)).json(), seen);
      const patched = await app.inject({ method: 'PATCH', url: `/${path}/1`, payload: { name: 'Ada' } });
      t.strictSame(patched.json(), seen);
    });
  }

  t.test('formulas in actions, related records, orders and em.find', async (t) => {
    t.strictSame((await app.inject({ method: 'POST', url: '/plain/1/touch' })).json(), seen);
    t.strictSame((await app.inject('/books/1')).json(), { id: 1, author: { books: 2 } });
    t.same(
      (await app.inject('/plain?sort=books')).json().results.map(({ id }: { id: number }) => id),
      [2, 1],
    );
  });

  t.test('a filter value may have a fraction, with every type of the formula', async (t) => {
    const filterFields = {
      exact: 'exact',
      more: 'exact__gt',
      in: 'exact__in',
      average: 'average',
      above: 'float__gt',
    } as const;
    class FilteredViewSet extends ModelViewSet(Author, { read: readShape(Author, ['id', 'exact']), filterFields }) {}
    const filtered = await testApp(t, orm, [new Router().register('filtered', FilteredViewSet)]);
    for (const [query, ids] of [
      ['exact=2.00', [1]],
      ['exact=2', [1]],
      ['more=1.5', [1]],
      ['more=2.5', []],
      ['in=0.0,2.0', [1, 2]],
      ['average=150.5', [1]],
      ['above=0.5', [1]],
    ] as const) {
      const { statusCode, body } = await filtered.inject(`/filtered?${query}`);
      t.equal(statusCode, 200, body);
      const found = JSON.parse(body) as { results: { id: number }[] };
      t.same(
        found.results.map(({ id }) => id),
        ids,
        query,
      );
    }
  });

  t.test('a formula of a missing related record is NULL', async (t) => {
    class SecondViewSet extends ModelViewSet(Book, {
      read: readShape(Book, ['id'], { all: 'second.all' }),
      filterFields: { all: 'second__all', none: 'second__all__isnull' },
    }) {}
    const seconds = await testApp(t, orm, [new Router().register('seconds', SecondViewSet)]);
    const list = async (query: string): Promise<unknown> => (await seconds.inject(`/seconds?${query}`)).json().results;
    const unseen = [
      { id: 1, all: null },
      { id: 2, all: null },
    ];
    t.strictSame(await list(''), unseen);
    t.strictSame(await list('all=2'), []);
    t.strictSame(await list('none=true'), unseen);
    await orm.em.fork().nativeUpdate(Book, { id: 1 }, { second: 2 });
    t.strictSame(await list('all=2'), [{ id: 1, all: 2 }]);
    t.strictSame(await list('none=true'), [{ id: 2, all: null }]);
  });
});
