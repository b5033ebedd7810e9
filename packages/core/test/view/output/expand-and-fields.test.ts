/** `?expand=` and `?fields=`: what a client adds to an answer, and what it leaves out. */
import { defineEntity, type InferEntity, type MikroORM, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import { action, computed, many, ModelViewSet, Permission, readShape, Router, writeShape } from '../../../src/index.ts';
import { recordQueries } from '../../query/record-queries.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Author = defineEntity({
  name: 'Author',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(50),
    born: p.integer().nullable(),
    books: () => p.oneToMany(Book).mappedBy('author'),
  },
});
const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(100),
    pages: p.integer().default(0),
    author: () => p.manyToOne(Author).nullable(),
    tags: () => p.manyToMany(Tag),
  },
});
const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary(), label: p.string().length(20).unique() },
});
type BookRecord = InferEntity<typeof Book>;

const brief = readShape(Book, ['id', 'title']);
const whole = readShape(Book, ['id', 'title', 'pages', 'author']);
const write = writeShape(Book, ['title', 'pages']);
class BookViewSet extends ModelViewSet(Book, {
  read: { default: whole, list: brief },
  write,
  expand: {
    author: readShape(Author, ['id', 'name']),
    tags: many('tags.label'),
    label: computed(Type.String(), ['title', 'pages'], ({ title, pages }) => `${title} (${pages})`),
    born: 'author.born',
  },
  etags: true,
  orderingFields: { title: 'title' },
}) {
  all = action({}, async (request) => ({ results: await this.rows(this.getQueryset(request), request) }));
}
class FieldsViewSet extends ModelViewSet(Book, { read: whole, write, fields: true, pagination: null }) {}
class ExpandViewSet extends ModelViewSet(Book, {
  read: brief,
  expand: { author: readShape(Author, ['id', 'name']) },
  fields: false,
}) {}
class PlainViewSet extends ModelViewSet(Book, { read: brief }) {}
const Brief = ModelViewSet(Book, {
  read: brief,
  write,
  expand: { author: readShape(Author, ['id', 'name']), tags: many('tags.label') },
  etags: true,
});
class SeveralViewSet extends ModelViewSet(Book, {
  read: brief,
  write,
  expand: { author: readShape(Author, ['id', 'name']), tags: many('tags.label') },
  bulk: 5,
}) {}
class OverridingViewSet extends Brief {
  override represent(book: BookRecord) {
    return { ...super.represent(book), title: book.title.toUpperCase() };
  }
}
class Watched extends Permission {
  override hasObjectPermission() {
    return true;
  }
}
class WatchedViewSet extends Brief {
  override permissionClasses = [Watched];
}
class LyingViewSet extends Brief {
  override represent() {
    return { id: 1 } as never;
  }
}
class ByUserViewSet extends ModelViewSet(Book, { read: { default: brief, staff: whole }, fields: true }) {
  override readShapeFor(request: FastifyRequest) {
    return request.user === null ? undefined : ('staff' as const);
  }
}

async function fill(orm: MikroORM): Promise<void> {
  const em = orm.em.fork();
  const ada = em.create(Author, { name: 'Ada', born: 1815 });
  const [tea, oak] = [em.create(Tag, { label: 'tea' }), em.create(Tag, { label: 'oak' })];
  em.create(Book, { title: 'Ash', pages: 100, author: ada, tags: [tea, oak] });
  em.create(Book, { title: 'Birch', pages: 200, author: null });
  await em.flush();
}

forEachDatabase(t, { entities: [Author, Book, Tag] }, async (t, orm) => {
  await fill(orm);
  const router = new Router()
    .register('books', BookViewSet)
    .register('fields', FieldsViewSet)
    .register('expand', ExpandViewSet)
    .register('plain', PlainViewSet)
    .register('overriding', OverridingViewSet)
    .register('watched', WatchedViewSet)
    .register('lying', LyingViewSet)
    .register('several', SeveralViewSet)
    .register('by-user', ByUserViewSet);
  const app = await testApp(t, orm, [router]);
  const asked = async (url: string, more: object = {}) => {
    const queries = recordQueries(orm);
    const response = await app.inject({ url, ...more });
    queries.stop();
    const { statusCode: status, headers } = response;
    return { status, body: response.json(), texts: queries.texts, queries, etag: headers.etag };
  };
  const ada = { id: 1, name: 'Ada' };

  t.test('a list with and without', async (t) => {
    const results = async (query: string) => (await asked(`/books?${query}`)).body.results;
    t.strictSame(await results(''), [
      { id: 1, title: 'Ash' },
      { id: 2, title: 'Birch' },
    ]);
    t.strictSame(await results('expand=author'), [
      { id: 1, title: 'Ash', author: ada },
      { id: 2, title: 'Birch', author: null },
    ]);
    t.strictSame(await results('expand=tags,label,born&sort=-title'), [
      { id: 2, title: 'Birch', tags: [], label: 'Birch (200)', born: null },
      { id: 1, title: 'Ash', tags: ['tea', 'oak'], label: 'Ash (100)', born: 1815 },
    ]);
    t.strictSame(await results('fields=title'), [{ title: 'Ash' }, { title: 'Birch' }]);
    t.strictSame(await results('expand=tags&fields=tags,id,id&page_size=1'), [{ id: 1, tags: ['tea', 'oak'] }]);
    t.strictSame(await results('expand=&fields='), await results(''), 'empty is absent');
    t.strictSame((await asked('/fields?fields=pages')).body, [{ pages: 100 }, { pages: 200 }]);
    t.strictSame((await asked('/expand?expand=author')).body.results[0], { id: 1, title: 'Ash', author: ada });
  });

  t.test('a record, with fields in the order of the shape', async (t) => {
    const text = async (query: string) => (await app.inject(`/books/1?${query}`)).body;
    t.equal(await text(''), '{"id":1,"title":"Ash","pages":100,"author":1}');
    t.equal(await text('expand=author'), '{"id":1,"title":"Ash","pages":100,"author":{"id":1,"name":"Ada"}}');
    t.equal(await text('fields=author,id'), '{"id":1,"author":1}');
    t.equal(
      await text('fields=label,author,id&expand=label,author'),
      '{"id":1,"author":{"id":1,"name":"Ada"},"label":"Ash (100)"}',
    );
    const head = await app.inject({ method: 'HEAD', url: '/books/1?fields=id' });
    t.equal(head.headers['content-length'], String('{"id":1}'.length));
    t.equal((await asked('/books/99?fields=id')).status, 404);
  });

  t.test('fields that are not sent are not queried', async (t) => {
    const texts = async (url: string) => (await asked(url)).texts;
    const [only, ...others] = await texts('/books/1?fields=id');
    t.match(only, /^select t0\."id" as c0 from "book" (?:as )?t0 where|^book\.find\(.*projection: \{ _id: 1 \}/);
    t.strictSame(others, []);
    for (const text of await texts('/books?fields=title&expand=author,tags')) t.notMatch(text, /pages|\bauthor|tag/);
    t.equal((await texts('/books/1?expand=tags')).length, 2);
    t.equal((await texts('/books/1?expand=tags&fields=id')).length, 1, 'an added field that is then left out');
    t.equal((await texts('/books?expand=tags')).length, 2, 'a page with its count, and the tags');
    t.match((await texts('/books/1?expand=author')).join(), /join "author"|from: 'author'/);
    t.notMatch((await texts('/books/1')).join(), /join|lookup|title.*born/);
  });

  t.test('responses of writes, in one statement if it can return the fields', async (t) => {
    const patch = (query: string, payload = {}) => asked(`/books/1?${query}`, { method: 'PATCH', payload });
    t.strictSame((await patch('fields=id', { pages: 101 })).body, { id: 1 });
    const plain = await patch('fields=id,title', { pages: 100 });
    t.strictSame([plain.body, plain.texts.length], [{ id: 1, title: 'Ash' }, 1]);
    const expanded = await patch('expand=author,tags,label', { pages: 100 });
    t.strictSame(expanded.body, {
      id: 1,
      title: 'Ash',
      pages: 100,
      author: ada,
      tags: ['tea', 'oak'],
      label: 'Ash (100)',
    });
    const made = await asked('/books?expand=tags&fields=title,tags', { method: 'POST', payload: { title: 'Cedar' } });
    t.strictSame([made.status, made.body], [201, { title: 'Cedar', tags: [] }]);
    t.strictSame((await asked('/books/3?fields=id', { method: 'PUT', payload: { title: 'Elm' } })).body, { id: 3 });
    t.equal((await app.inject({ method: 'DELETE', url: '/books/3' })).statusCode, 204);
    t.equal((await asked('/books/1?fields=id', { method: 'DELETE' })).status, 400, 'a DELETE answers with nothing');
  });

  t.test('an invalid name returns 400 with the allowed names', async (t) => {
    const wrong = async (url: string, message: string, more = {}) => {
      const { status, body } = await asked(url, more);
      t.strictSame([status, body.code, body.error], [400, 'invalid_usage', message]);
    };
    const expands = 'allowed: author, tags, label, born';
    await wrong(
      '/books?expand=tag',
      `Query parameter "expand" does not know the name "tag" (did you mean "tags"?); ${expands}`,
    );
    await wrong('/books?expand=tags,', `Query parameter "expand" does not know the name ""; ${expands}`);
    await wrong('/books?fields=nmae', 'Query parameter "fields" does not know the name "nmae"; allowed: id, title');
    await wrong('/books?fields=tags', 'Query parameter "fields" does not know the name "tags"; allowed: id, title');
    await wrong(
      '/books/1?fields=x&expand=tags',
      'Query parameter "fields" does not know the name "x"; allowed: id, title, pages, author, tags',
    );
    await wrong(
      '/books/1?fields=__proto__',
      'Query parameter "fields" does not know the name "__proto__"; allowed: id, title, pages, author',
    );
    await wrong('/books/1?fields=id&fields=title', 'Query parameter "fields" must be given only once');
    await wrong('/plain/1?fields=id', 'Query parameter "fields" is not known here; there are no query parameters');
    await wrong('/expand/1?fields=id', 'Query parameter "fields" is not known here; known: expand');
    const { body } = await asked('/books?fields=x&expand=y&page=0&what=1');
    t.strictSame(
      body.details.map(({ path }: { path: string }) => path).toSorted(),
      ['/expand', '/fields', '/page', '/what'],
      'all at once, with those of the list',
    );
    t.equal((await asked('/books?fields=x', { method: 'POST', payload: { title: 'x' } })).status, 400);
    t.equal((await asked('/books')).body.count, 2, 'and nothing is written');
    t.equal((await asked('/books/all?fields=id')).status, 400, 'actions have no selections');
  });

  t.test('a view that makes records of entities', async (t) => {
    for (const path of ['overriding', 'watched']) {
      const title = path === 'watched' ? 'Ash' : 'ASH';
      t.strictSame((await asked(`/${path}/1?fields=title`)).body, { title });
      const seen = { id: 1, title, author: ada, tags: ['tea', 'oak'] };
      t.strictSame((await asked(`/${path}/1?expand=author,tags`)).body, seen);
      t.strictSame((await asked(`/${path}?expand=author,tags`)).body.results[0], seen);
      t.strictSame((await asked(`/${path}/1?expand=author,tags`, { method: 'PATCH', payload: {} })).body, seen);
    }
    t.equal((await asked('/lying/1?fields=id')).status, 200);
    const lying = await asked('/lying/1?fields=title');
    t.strictSame(
      [lying.status, lying.body.code],
      [500, 'internal_error'],
      'an answer without the field that was asked for',
    );
  });

  t.test("the allowed names are those of the user's shape", async (t) => {
    t.strictSame((await asked('/by-user/1?fields=pages', { headers: { 'x-user': 'ada' } })).body, { pages: 100 });
    t.equal((await asked('/by-user/1?fields=pages')).status, 400);
  });

  t.test('a selection has no ETag, and If-Match of a write is compared with the complete record', async (t) => {
    for (const path of ['/books/1', '/overriding/1', '/watched/1']) {
      const change = (etag: unknown, payload: object, query = '') =>
        asked(path + query, { method: 'PATCH', headers: { 'if-match': String(etag) }, payload });
      for (const query of ['fields=title', 'expand=author,tags', 'fields=id,title&expand=tags']) {
        t.equal((await asked(`${path}?${query}`)).etag, undefined, query);
      }
      const { etag } = await asked(path);
      t.match(etag, /^"[\w-]{22}"$/);
      const conditional = async (headers: Record<string, string>) =>
        (await app.inject({ url: `${path}?fields=title`, headers })).statusCode;
      t.equal(await conditional({ 'if-none-match': String(etag) }), 200);
      t.equal(await conditional({ 'if-none-match': '*' }), 304);
      t.equal(await conditional({ 'if-match': String(etag) }), 412);
      t.equal(await conditional({ 'if-match': '*' }), 200);
      const changed = await change(etag, { title: 'Asp' }, '?fields=title');
      t.strictSame([changed.status, changed.etag], [200, undefined], path);
      t.equal((await change(etag, { title: 'Ask' }, '?fields=title')).status, 412);
      t.equal((await change((await asked(path)).etag, { title: 'Ash' }, '?expand=tags')).status, 200);
    }
  });

  t.test('more selections than are kept', async (t) => {
    const names = ['id', 'title', 'pages', 'author', 'tags', 'label', 'born'];
    for (let mask = 1; mask < 128; mask++) {
      const fields = names.filter((_, bit) => (mask & (1 << bit)) !== 0);
      const { body } = await asked(`/books/1?expand=author,tags,label,born&fields=${fields.toReversed().join()}`);
      if (Object.keys(body).join() !== fields.join()) t.fail(`${fields.join()}: ${JSON.stringify(body)}`);
    }
  });

  t.test('a bulk write returns the selection for every record', async (t) => {
    const changed = await asked('/several?expand=author,tags', { method: 'PATCH', payload: [{ id: 2 }, { id: 1 }] });
    t.strictSame(changed.body, [
      { id: 2, title: 'Birch', author: null, tags: [] },
      { id: 1, title: 'Ash', author: ada, tags: ['tea', 'oak'] },
    ]);
    const few = await asked('/several?fields=title', { method: 'PATCH', payload: [{ id: 1 }] });
    t.strictSame(few.body, [{ title: 'Ash' }]);
    const last = few.queries.readsOf('book').at(-1);
    t.match(last, /\btitle\b/);
    t.notMatch(last, /\bpages\b/, 'nothing is read that is not sent');
    const made = await asked('/several?expand=tags&fields=title,tags', { method: 'POST', payload: [{ title: 'Elm' }] });
    t.equal(made.status, 201);
    t.strictSame(made.body, [{ title: 'Elm', tags: [] }]);
    await orm.em.fork().nativeDelete(Book, { title: 'Elm' });
    for (const method of ['POST', 'PATCH'] as const) {
      const wrong = await asked('/several?fields=titel', { method, payload: [] });
      t.equal(wrong.status, 400);
      t.match(wrong.body.error, /did you mean "title"/);
    }
    t.equal((await asked('/several?pk=1&expand=tags', { method: 'DELETE' })).status, 400, 'nothing is answered there');
  });
});

t.test('invalid expand and fields options fail at start', async (t) => {
  const orm = await openSqlite(t, { entities: [Author, Book, Tag] });
  const refused = (options: object, message: RegExp) => {
    const View = ModelViewSet(Book, { read: brief, ...options }) as never;
    return t.rejects(testApp(t, orm, [new Router().register('books', View)]), {
      code: 'improperly_configured',
      message,
    });
  };
  await refused({ expand: {} }, /option "expand" must be fields by name/);
  await refused({ expand: { x: 'nmae' } }, /expand "x": Book: "nmae" names no field/);
  await refused({ expand: { 'a,b': 'title' } }, /option "expand" names "a,b", which has a comma/);
  await refused(
    { fields: true, filterFields: { fields: 'title' } },
    /query parameter "fields" is declared by both the option "fields" and QueryParameterFilter/,
  );
  await refused(
    { expand: { born: 'author.born' }, fields: false, filterFields: { expand: 'title' } },
    /query parameter "expand" is declared by both the option "expand" and/,
  );
  t.throws(() => ModelViewSet(Book, { read: brief, fields: 'yes' } as never), /option "fields" must be true or false/);
});
