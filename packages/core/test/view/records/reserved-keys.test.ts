/** Keys that equal a fixed segment beside them: the URL of the record would be the URL of something else. */
import { defineEntity, p } from '@mikro-orm/core';
import fastify, { type FastifyRequest, type InjectOptions } from 'fastify';
import t, { type Test } from 'tap';
import {
  action,
  IsAuthenticated,
  ModelViewSet,
  nested,
  readShape,
  refs,
  Router,
  serverOptions,
  ViewSet,
  viewset,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Shelf = defineEntity({
  name: 'Shelf',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(40),
    books: () => p.oneToMany(Book).mappedBy('shelf').orphanRemoval(),
  },
});
const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary(), label: p.string().length(40).unique() },
});
const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    slug: p.string().length(40).unique(),
    title: p.string().length(40),
    deleted_at: p.datetime().nullable(),
    shelf: () => p.manyToOne(Shelf).nullable(),
    tags: () => p.manyToMany(Tag),
  },
});
const read = readShape(Book, ['id', 'slug', 'title']);
const shape = ['slug', 'title'] as const;

class BookViewSet extends ModelViewSet(Book, {
  read,
  write: writeShape(Book, shape),
  lookupField: 'slug',
  summary: { group: ['title'] },
  softDelete: { property: 'deleted_at', visibleTo: [IsAuthenticated] },
  bulk: { create: 5, update: 5 },
}) {
  latest = action({}, () => ({}));
  top = action({ urlPath: 'best/rated' }, () => ({}));
  rated = action({ detail: true }, () => ({}));
}
/** Names its books by their ids, and writes the same slugs in a unit of work. */
class EditorViewSet extends ModelViewSet(Book, {
  read,
  write: writeShape(Book, shape, { tags: refs('tags.label', { create: true }) }),
}) {}
class SluggedViewSet extends ModelViewSet(Book, { read, write: writeShape(Book, ['title']) }) {
  override performCreate(request: FastifyRequest, data: { title: string }) {
    return super.performCreate(request, { ...data, slug: data.title.toLowerCase() });
  }
  override performUpdate(...[request, book, data]: Parameters<EditorViewSet['performUpdate']>) {
    return super.performUpdate(request, book, { ...data, slug: String(data.title).toLowerCase() });
  }
}
class ShelfViewSet extends ModelViewSet(Shelf, {
  read: readShape(Shelf, ['id', 'name']),
  write: writeShape(Shelf, ['name'], { books: nested(writeShape(Book, shape), { update: true }) }),
}) {}
class TagViewSet extends ModelViewSet(Tag, {
  read: readShape(Tag, ['label']),
  lookupField: 'label',
  summary: { group: ['label'] },
  operations: ['list', 'retrieve'],
}) {}

class OtherViewSet extends ViewSet {
  override list() {
    return [];
  }
}

const reserved = ['summary', 'deleted', 'latest', 'best', 'archive', 'own', '.', '..'];

forEachDatabase(t, { entities: [Shelf, Book, Tag] }, async (t, orm) => {
  const router = new Router({ prefix: 'api' })
    .register('books', BookViewSet)
    .register('editors', EditorViewSet)
    .register('slugged', SluggedViewSet)
    .register('shelves', ShelfViewSet)
    .register('tags', TagViewSet)
    .register('books/archive', OtherViewSet);
  const app = await testApp(t, orm, [router], {
    before: (instance) => {
      instance.get('/api/books/own', async () => ({}));
      instance.get('/api/books/free/of/this', async () => ({}));
    },
  });
  const send = async (method: InjectOptions['method'], url: string, payload: object) => {
    const answer = await app.inject({ method: method!, url: `/api${url}`, payload, headers: { 'x-user': 'ada' } });
    const { details = [] } = answer.json<{ details?: { path: string; message: string }[] }>();
    return { status: answer.statusCode, body: answer.json(), paths: details.map(({ path }) => path), details };
  };
  const is400 = async (t: Test, sent: ReturnType<typeof send>, path: string) => {
    const { status, paths, details } = await sent;
    t.same([status, paths], [400, [path]]);
    t.match(details[0]?.message, /^must not be ".+", because the URL/);
  };

  t.test('a new record cannot have a reserved key', async (t) => {
    for (const slug of reserved) {
      await is400(t, send('POST', '/books', { slug, title: 'x' }), '/slug');
      await is400(t, send('POST', '/editors', { slug, title: 'x' }), '/slug');
    }
    await is400(
      t,
      send('POST', '/books', [
        { slug: 'a', title: 'a' },
        { slug: 'summary', title: 'x' },
      ]),
      '/1/slug',
    );
    t.equal((await app.inject('/api/books')).json().count, 0);
  });

  t.test('a fixed segment with other characters is not reserved', async (t) => {
    for (const slug of ['free', 'Summary', 'summary.csv', 'editors']) {
      const { status } = await send('POST', '/books', { slug, title: 'x' });
      t.equal(status, 201, slug);
      t.equal((await app.inject(`/api/books/${slug}`)).json().slug, slug);
    }
  });

  t.test('the Location of every other key leads to its record', async (t) => {
    const others = [
      'a\nb',
      '\n',
      'summary\n',
      'a\r\nb',
      '\u2028',
      'a/b',
      'a%2Fb',
      '%',
      '?',
      '#',
      ' ',
      ':pk',
      '*',
      '(',
      'é',
      '\u{1F600}',
      '.a',
    ];
    for (const slug of others) {
      const payload = { slug, title: 'x' };
      const made = await app.inject({ method: 'POST', url: '/api/books', payload });
      t.equal(made.statusCode, 201, encodeURIComponent(slug));
      const location = String(made.headers.location);
      const headers = { 'x-user': 'ada' };
      t.equal((await app.inject(location)).json().slug, slug, location);
      t.equal((await app.inject(`${location}/rated`)).statusCode, 200, location);
      t.equal(
        (await app.inject({ method: 'PATCH', url: location, payload: { title: 'y' } })).json().title,
        'y',
        location,
      );
      t.equal((await app.inject({ method: 'DELETE', url: location })).statusCode, 204, location);
      t.equal((await app.inject({ method: 'POST', url: `${location}/restore`, headers })).statusCode, 200, location);
      const again = await send('POST', '/books', payload);
      t.same([again.status, again.paths], [409, ['/slug']], location);
    }
  });

  t.test('an update cannot set a reserved key', async (t) => {
    for (const slug of reserved) {
      await is400(t, send('PUT', '/books/free', { slug, title: 'x' }), '/slug');
      await is400(t, send('PATCH', '/books/free', { slug }), '/slug');
    }
    const { id } = (await app.inject('/api/books/free')).json();
    await is400(t, send('PATCH', `/editors/${id}`, { slug: 'summary', tags: ['x'] }), '/slug');
    t.equal((await send('PATCH', `/editors/${id}`, { title: 'y', tags: ['x'] })).status, 200, 'which had no tags');
  });

  t.test('a child cannot have a reserved key', async (t) => {
    const books = [
      { slug: 'one', title: 'x' },
      { slug: 'latest', title: 'x' },
    ];
    await is400(t, send('POST', '/shelves', { name: 'x', books }), '/books/1/slug');
    const made = await send('POST', '/shelves', { name: 'x', books: books.slice(0, 1) });
    t.equal(made.status, 201);
    await is400(t, send('PATCH', `/shelves/${made.body.id}`, { books }), '/books/1/slug');
  });

  t.test('a record that a reference creates cannot have a reserved key', async (t) => {
    await is400(t, send('POST', '/editors', { slug: 'two', title: 'x', tags: ['a', 'summary'] }), '/tags/1');
    t.equal((await send('POST', '/editors', { slug: 'two', title: 'x', tags: ['a'] })).status, 201);
  });

  t.test('the code of a view cannot set a reserved key', async (t) => {
    await is400(t, send('POST', '/slugged', { title: 'Summary' }), '/slug');
    const { status, body } = await send('POST', '/slugged', { title: 'Fine' });
    t.equal(status, 201);
    await is400(t, send('PATCH', `/slugged/${body.id}`, { title: 'Deleted' }), '/slug');
    t.equal((await send('PATCH', `/slugged/${body.id}`, { title: 'Finer' })).status, 200);
  });

  t.test('other errors of the body are reported too', async (t) => {
    const { status, paths } = await send('POST', '/books', { slug: 'summary', title: 5 });
    t.same([status, paths.toSorted()], [400, ['/slug', '/title']]);
  });
});

t.test('reserved keys ignore case if paths do', async (t) => {
  const orm = await openSqlite(t, { entities: [Shelf, Book, Tag] });
  const app = fastify({
    ...serverOptions(),
    routerOptions: { ...serverOptions().routerOptions, caseSensitive: false },
  });
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  await app.register(new Router().register('books', BookViewSet).plugin);
  const answer = await app.inject({ method: 'POST', url: '/books', payload: { slug: 'SUMMARY', title: 'x' } });
  t.match(answer.json().details, [{ path: '/slug' }]);
});
