import { defineEntity, type InferEntity, type MikroORM, p } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import t from 'tap';
import {
  action,
  CursorPagination,
  many,
  ModelViewSet,
  type OutputOf,
  type RecordRequest,
  readShape,
  Router,
  writeShape,
} from '../../src/index.ts';
import { recordQueries } from '../query/record-queries.ts';
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

const author = readShape(Author, ['id', 'name'], {
  books: many(readShape(Book, ['id', 'title'], { tags: many('tags.name') }), { orderBy: 'title' }),
});
const write = writeShape(Author, ['name']);

let authors: AuthorViewSet;

class AuthorViewSet extends ModelViewSet(Author, { read: author, write }) {
  constructor() {
    super();
    // oxlint-disable-next-line typescript/no-this-alias -- the one instance that serves all requests
    authors = this;
  }
}

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

class ShoutingViewSet extends ModelViewSet(Author, { read: author, write }) {
  override represent(record: InferEntity<typeof Author>) {
    return { ...super.represent(record), name: record.name.toUpperCase() };
  }
}

class GuardedViewSet extends ModelViewSet(Author, { read: author, write }) {
  override async checkObjectPermissions() {}

  unloaded = action({ detail: true }, async (request) => this.represent(await this.getObject(request)));
  late = action({ detail: true }, async (request) => this.represent(await this.getObject(request), request));

  loaded = action({ detail: true, methods: ['post'] }, async (request) => {
    const record = await this.getObject(request);
    request.em.create(Book, { title: 'Yew', author: record });
    await request.em.flush();
    await this.loadRelated(request, record);
    return this.represent(record);
  });
}

/** Changes which books an author has, and asks at once. */
class MovingViewSet extends ModelViewSet(Author, { read: author, write }) {
  add = action({ detail: true, methods: ['post'] }, async (request) => this.#added(request));
  addOutside = action({ detail: true, methods: ['post'], transaction: false }, async (request) => this.#added(request));
  addSafely = action({ detail: true }, async (request) => this.#added(request));
  addLate = action({ detail: true, methods: ['get', 'post'] }, async (request) => this.#addedLate(request));
  renameSafely = action({ detail: true }, async (request) => {
    const record = await this.getObject(request);
    record.name = 'Shown alone';
    await this.loadRelated(request, record);
    const shown = this.represent(record);
    request.em.clear(); // the name is not to be stored
    return shown;
  });

  async #addedLate(request: RecordRequest) {
    const record = await this.getObject(request);
    request.em.create(Book, { title: 'Late', author: record });
    return this.represent(record, request);
  }

  async #added(request: RecordRequest) {
    const record = await this.getObject(request);
    request.em.create(Book, { title: 'Fresh', author: record });
    await this.loadRelated(request, record);
    return this.represent(record);
  }
}

class PagedViewSet extends ModelViewSet(Author, { read: author, pagination: CursorPagination, pageSize: 2 }) {}

const ADA = {
  id: 1,
  name: 'Ada',
  books: [
    { id: 2, title: 'Ash', tags: ['wood', null] },
    { id: 5, title: 'Bay', tags: [] },
    { id: 1, title: 'Elm', tags: ['wood', 'leaf'] },
  ],
} satisfies OutputOf<typeof author>;
const BOB = { id: 2, name: 'Bob', books: [{ id: 3, title: 'Fir', tags: [] }] };
const CYD = { id: 3, name: 'Cyd', books: [] };

forEachDatabase(t, { entities: ENTITIES }, async (t, orm, database) => {
  await fill(orm);
  const router = new Router()
    .register('authors', AuthorViewSet)
    .register('books', BookViewSet)
    .register('tags', TagViewSet)
    .register('shouting', ShoutingViewSet)
    .register('guarded', GuardedViewSet)
    .register('moving', MovingViewSet)
    .register('paged', PagedViewSet);
  const app = await testApp(t, orm, [router], { options: { secret: 'a secret that is thirty-two bytes' } });
  const queries = async (work: () => Promise<unknown>): Promise<string[]> => {
    const recorded = recordQueries(orm);
    await work();
    recorded.stop();
    return recorded.texts;
  };
  // SQLite counts only if the page does not tell, the others within the statement of the page.
  const counted = database === 'sqlite' ? 2 : 1;
  /** A command of MongoDB names the keys. */
  const withoutKeys = (text: string): string => text.replaceAll(/'\$in': \[[^\]]*\]/g, '');

  t.test('one to many, and many to many nested in it', async (t) => {
    t.strictSame(await get(app, '/authors'), { count: 3, next: false, previous: false, results: [ADA, BOB, CYD] });
    t.strictSame(await get(app, '/authors/2'), BOB);
    t.strictSame(await get(app, '/authors?page=9'), { count: 3, next: false, previous: true, results: [] });
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

  t.test('one statement for every relation and level, for any number of rows', async (t) => {
    for (const [url, relations] of [
      ['/authors', 2],
      ['/authors?page_size=1', 2],
      ['/books', 3],
      ['/tags', 2],
    ] as const) {
      const statements = await queries(() => get(app, url));
      const isFullPage = database === 'sqlite' && !url.includes('page_size');
      t.equal(statements.length, (isFullPage ? 1 : counted) + relations, `${url}: ${statements.join('; ')}`);
    }
    t.equal((await queries(() => get(app, '/authors/1'))).length, 3, 'a record');
    t.equal((await queries(() => get(app, '/authors/3'))).length, 2, 'a record without books has no tags to ask for');
    t.equal((await queries(() => get(app, '/authors?page=9'))).length, 2, 'no rows: the page and its count');
    const [one, all] = [await queries(() => get(app, '/tags/1')), await queries(() => get(app, '/tags'))];
    t.strictSame(
      one.slice(-2).map(withoutKeys),
      all.slice(-2).map(withoutKeys),
      'the text is the same for any number of records',
    );
  });

  t.test('pages of a cursor', async (t) => {
    const first = (await get(app, '/paged')) as { results: unknown; next_cursor: string };
    t.strictSame(first.results, [ADA, BOB]);
    const second = (await get(app, `/paged?cursor=${first.next_cursor}`)) as { results: unknown };
    t.strictSame(second.results, [CYD]);
  });

  t.test('a view that represents entities, and one whose hooks receive them', async (t) => {
    const shout = (record: typeof ADA | typeof BOB | typeof CYD) => ({ ...record, name: record.name.toUpperCase() });
    const statements = await queries(async () => {
      const { results } = (await get(app, '/shouting')) as { results: unknown };
      t.strictSame(results, [ADA, BOB, CYD].map(shout));
    });
    t.equal(statements.length, 3, 'no more statements than of rows');
    t.strictSame(await get(app, '/shouting/1'), shout(ADA));
    t.strictSame(await get(app, '/guarded/1'), ADA);
    t.strictSame(await get(app, '/guarded/3'), CYD);
  });

  t.test('the response of a write has the same relations as a list', async (t) => {
    for (const path of ['/authors', '/shouting', '/guarded']) {
      const named = (name: string) => (path === '/shouting' ? name.toUpperCase() : name);
      const created = await app.inject({ method: 'POST', url: path, payload: { name: 'New' } });
      t.equal(created.statusCode, 201);
      const { id } = created.json<{ id: number }>();
      t.strictSame(created.json(), { id, name: named('New'), books: [] });
      t.equal((await app.inject({ method: 'DELETE', url: `${path}/${id}` })).statusCode, 204);
      const updated = await app.inject({ method: 'PATCH', url: `${path}/2`, payload: { name: 'Bob' } });
      t.strictSame(updated.json(), { ...BOB, name: named('Bob') });
    }
    const why = ['the response shows the records of "books", which a further statement reads'];
    const explained = authors.explain();
    t.strictSame(explained.create, { oneStatement: false, reasons: why });
    t.strictSame(explained.update, { oneStatement: false, reasons: why });
    const whyDestroy = 'records may refer to Author: MongoDB looks for them in the transaction that deletes one';
    const ofDestroy = database === 'mongodb' ? [whyDestroy] : [];
    t.strictSame(explained.destroy, { oneStatement: database !== 'mongodb', reasons: ofDestroy });
  });

  t.test('an action represents an entity whose related records it has loaded', async (t) => {
    const unloaded = await app.inject('/guarded/2/unloaded');
    t.equal(unloaded.statusCode, 500);
    t.strictSame(await get(app, '/guarded/2/late'), BOB);
    const loaded = await app.inject({ method: 'POST', url: '/guarded/2/loaded' });
    t.strictSame(loaded.json(), { ...BOB, books: [...BOB.books, { id: 6, title: 'Yew', tags: [] }] });
  });

  t.test('loadRelated reads the changed relations, not the previous ones', async (t) => {
    const titles = async (method: 'GET' | 'POST', way: string) => {
      const response = await app.inject({ method, url: `/moving/3/${way}` });
      const { books } = response.json<{ books?: { title: string }[] }>();
      return books?.map(({ title }) => title) ?? response.statusCode;
    };
    t.strictSame(await titles('POST', 'add'), ['Fresh'], 'flushed within the transaction');
    t.equal(await titles('POST', 'add-outside'), 500, 'refused outside of one');
    t.equal(await titles('GET', 'add-safely'), 500);
    t.equal(await titles('GET', 'add-late'), 500);
    t.strictSame(await titles('GET', 'rename-safely'), ['Fresh'], 'other changes are not in the way');
    t.strictSame(await titles('POST', 'add-late'), ['Fresh', 'Late'], 'represent() alone flushes as well');
    t.equal((await app.inject('/moving/3')).json().name, 'Cyd', 'and are not written');
    await orm.em.fork().nativeDelete(Book, { title: { $in: ['Fresh', 'Late'] } });
  });
});
