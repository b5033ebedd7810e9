import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import t from 'tap';
import { many, ModelViewSet, readShape, Router } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Author = defineEntity({
  name: 'Author',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    mentor: () => p.manyToOne(Author).nullable(),
    pupils: () => p.oneToMany(Author).mappedBy('mentor'),
    books: () => p.oneToMany(Book).mappedBy('author'),
  },
});

const Tag = defineEntity({
  name: 'Tag',
  properties: {
    id: p.integer().primary(),
    name: p.string().nullable(),
    books: () => p.manyToMany(Book).mappedBy('tags'),
  },
});

const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    pages: p.integer().default(0),
    published: p.datetime().length(3).nullable(),
    author: () => p.manyToOne(Author).nullable(),
    tags: () => p.manyToMany(Tag),
  },
});

const ENTITIES = [Author, Tag, Book];

async function fill(orm: MikroORM): Promise<void> {
  const em = orm.em.fork();
  const [wood, leaf, blank] = ['wood', 'leaf', null].map((name) => em.create(Tag, { name }));
  const ada = em.create(Author, { name: 'Ada' });
  const bob = em.create(Author, { name: 'Bob', mentor: ada });
  const cyd = em.create(Author, { name: 'Cyd', mentor: ada });
  await em.flush();
  for (const [title, author, tags] of [
    ['Elm', ada, [leaf, wood]],
    ['Ash', ada, [wood, blank]],
    ['Fir', bob, []],
    ['Oak', null, [leaf]],
    ['Bay', ada, []],
  ] as const) {
    em.create(Book, { title, author, tags: tags as never, published: new Date(0) });
    await em.flush();
  }
  void cyd;
}

async function get(app: FastifyInstance, url: string): Promise<unknown> {
  const response = await app.inject({ url });
  if (response.statusCode !== 200) throw new Error(response.body);
  return response.json();
}

forEachDatabase(t, { entities: ENTITIES }, async (t, orm, database) => {
  await fill(orm);

  const author = readShape(Author, ['id', 'name'], {
    books: many(readShape(Book, ['id', 'title'], { tags: many('tags.name') }), { orderBy: 'title' }),
  });
  class AuthorViewSet extends ModelViewSet(Author, { read: author }) {}
  class BookViewSet extends ModelViewSet(Book, {
    read: readShape(Book, ['title'], {
      tags: many('tags.name'),
      tagIds: many('tags'),
      author: readShape(Author, ['name'], { pupils: many('pupils.name', { orderBy: '-name' }) }),
    }),
  }) {}
  class TagViewSet extends ModelViewSet(Tag, {
    read: readShape(Tag, ['name'], {
      first: many(readShape(Book, ['title', 'published']), { from: 'books', orderBy: ['-title'], limit: 1 }),
      books: many('books'),
    }),
  }) {}
  const router = new Router({ prefix: '' });
  router.register('authors', AuthorViewSet);
  router.register('books', BookViewSet);
  router.register('tags', TagViewSet);
  const app = await testApp(t, orm, [router]);

  t.test('one to many, and many to many below', async (t) => {
    t.strictSame(await get(app, '/authors'), {
      count: 3,
      next: false,
      previous: false,
      results: [
        {
          id: 1,
          name: 'Ada',
          books: [
            { id: 2, title: 'Ash', tags: ['wood', null] },
            { id: 5, title: 'Bay', tags: [] },
            { id: 1, title: 'Elm', tags: ['wood', 'leaf'] },
          ],
        },
        { id: 2, name: 'Bob', books: [{ id: 3, title: 'Fir', tags: [] }] },
        { id: 3, name: 'Cyd', books: [] },
      ],
    });
    t.strictSame(await get(app, '/authors/2'), {
      id: 2,
      name: 'Bob',
      books: [{ id: 3, title: 'Fir', tags: [] }],
    });
  });

  t.test('below a relation to one', async (t) => {
    const { results } = (await get(app, '/books')) as { results: unknown };
    const ada = { name: 'Ada', pupils: ['Cyd', 'Bob'] };
    t.strictSame(results, [
      { title: 'Elm', tags: ['wood', 'leaf'], tagIds: [1, 2], author: ada },
      { title: 'Ash', tags: ['wood', null], tagIds: [1, 3], author: ada },
      { title: 'Fir', tags: [], tagIds: [], author: { name: 'Bob', pupils: [] } },
      { title: 'Oak', tags: ['leaf'], tagIds: [2], author: null },
      { title: 'Bay', tags: [], tagIds: [], author: ada },
    ]);
  });

  t.test('the inverse side, ordered and bounded for each record', async (t) => {
    const { results } = (await get(app, '/tags')) as { results: unknown };
    const published = '1970-01-01T00:00:00.000Z';
    t.strictSame(results, [
      { name: 'wood', first: [{ title: 'Elm', published }], books: [1, 2] },
      { name: 'leaf', first: [{ title: 'Oak', published }], books: [1, 4] },
      { name: null, first: [{ title: 'Ash', published }], books: [2] },
    ]);
  });
  void database;
});
