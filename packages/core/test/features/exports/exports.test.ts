/** Lists as CSV (RFC 4180) and NDJSON: whole, in their order, without pages. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import t from 'tap';
import { Type } from 'typebox';
import {
  computed,
  Filter,
  ImproperlyConfigured,
  invalidParameter,
  many,
  ModelViewSet,
  Permission,
  type PermissionView,
  type QuerySet,
  readShape,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { recordQueries } from '../../query/record-queries.ts';
import { testApp } from '../../support/library.ts';

const Author = defineEntity({
  name: 'Author',
  properties: { id: p.integer().primary(), name: p.string(), books: () => p.oneToMany(Book).mappedBy('author') },
});
const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    price: p.decimal('number').precision(10).scale(2).nullable(),
    author: () => p.manyToOne(Author).nullable(),
  },
});

class HidesSecrets extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<InferEntity<typeof Book>>(view, { title__ne: 'secret' });
  }
}
const options = {
  read: readShape(Book, ['id', 'title', 'price'], { author: readShape(Author, ['id', 'name']) }),
  orderingFields: { title: 'title', price: 'price' },
  filterFields: { min: 'price__gte' },
  searchFields: ['title'],
  permissionClasses: [HidesSecrets],
} as const;
class BookViewSet extends ModelViewSet(Book, { ...options, exports: ['csv', 'ndjson'], expand: { title: 'title' } }) {}
class LineViewSet extends ModelViewSet(Book, { ...options, exports: ['ndjson'] }) {}
class PlainViewSet extends ModelViewSet(Book, options) {}
class ShoutingViewSet extends ModelViewSet(Book, { ...options, exports: ['csv'] }) {
  override represent(book: InferEntity<typeof Book>) {
    return { ...super.represent(book), title: book.title.toUpperCase() };
  }
}
const Mark = Type.Object({ name: Type.String() });
class MarkedViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id'], { marks: computed(Type.Array(Mark), ['title'], ({ title }) => marksOf(title)) }),
  exports: ['csv', 'ndjson'],
}) {}
/** Has more in it than the schema says, and for one title what does not fit the schema. */
const marksOf = (title: string): { name: string }[] => {
  if (title === 'broken') throw new Error('no marks');
  const mark = { name: 'good', secret: title };
  return title === 'none' ? (7 as never) : [mark];
};
class AuthorViewSet extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name'], { books: many('books.title') }),
  write: writeShape(Author, ['name']),
  exports: ['csv', 'ndjson'],
}) {}

/** Fails by a promise. */
class FailingFilter extends Filter {
  static override readonly reads = [];
  readonly parameters = [{ name: 'about', schema: Type.String() }];
  async apply<E extends object>(_queryset: QuerySet<E>): Promise<QuerySet<E>> {
    throw invalidParameter('about', 'must be a word that is known');
  }
}
class FailingViewSet extends ModelViewSet(Book, { read: options.read, exports: ['csv'], filters: [FailingFilter] }) {}

const router = (): Router =>
  new Router()
    .register('books', BookViewSet)
    .register('lines', LineViewSet)
    .register('plain', PlainViewSet)
    .register('shouting', ShoutingViewSet)
    .register('marked', MarkedViewSet)
    .register('authors', AuthorViewSet)
    .register('authors/:author/books', BookViewSet)
    .register('authors/:author/failing', FailingViewSet, { basename: 'failing' });

const CSV = { accept: 'text/csv' };
const LINES = { accept: 'application/x-ndjson' };

forEachDatabase(t, { entities: [Author, Book] }, async (t, orm) => {
  const em = orm.em.fork();
  em.create(Author, { id: 1, name: 'Ada, "the" first' });
  em.create(Author, { id: 2, name: 'Bob' });
  em.create(Book, { id: 1, title: '=1+1', price: 2.5, author: 1 });
  em.create(Book, { id: 2, title: '-12.50', price: null, author: null });
  em.create(Book, { id: 3, title: 'two\nlines', price: -3, author: 1 });
  em.create(Book, { id: 4, title: 'secret', price: 1, author: 1 });
  await em.flush();
  let app: FastifyInstance;
  t.beforeEach(async (t) => {
    app = await testApp(t, orm, [router()]);
  });
  const ask = (url: string, headers: Record<string, string>) => app.inject({ url, headers });

  await t.test('every format has its path, for links and for documents', async (t) => {
    const query = '?sort=-title&expand=title';
    for (const [ending, headers] of [['csv', CSV] as const, ['ndjson', LINES] as const]) {
      const asked = await ask(`/books${query}`, headers);
      for (const accept of ['*/*', 'application/json', 'text/html']) {
        const { statusCode, headers: sent, body } = await ask(`/books.${ending}${query}`, { accept });
        t.strictSame([statusCode, body], [200, asked.body], `${ending} for ${accept}`);
        t.strictSame(
          [sent['content-type'], sent['content-disposition'], sent.vary],
          [asked.headers['content-type'], asked.headers['content-disposition'], undefined],
        );
      }
    }
    t.equal((await ask('/authors/1/books.csv', {})).statusCode, 200, 'below a record');
    t.equal((await ask('/authors/9/books.csv', {})).statusCode, 404);
    t.match((await ask('/books.csv?page=2', {})).json(), { code: 'invalid_usage', details: [{ path: '/page' }] });
    t.equal((await ask('/books.csv?pages=2', {})).statusCode, 400);
    t.equal((await ask('/lines.csv', {})).statusCode, 404, 'a form that the view does not offer');
    t.equal((await ask('/plain.ndjson', {})).statusCode, 404);
    const head = await app.inject({ method: 'HEAD', url: '/books.csv' });
    t.strictSame([head.statusCode, head.body], [200, '']);
    const { statusCode, headers } = await app.inject({ method: 'POST', url: '/books.csv', payload: {} });
    t.strictSame([statusCode, headers.allow], [405, 'GET, HEAD, OPTIONS']);
  });

  await t.test('CSV has a line of names, objects by columns, and no formula', async (t) => {
    const answer = await ask('/books', CSV);
    t.equal(answer.statusCode, 200);
    t.match(answer.headers['content-type'], /^text\/csv; charset=utf-8/);
    t.equal(answer.headers['content-disposition'], 'attachment; filename="books.csv"');
    t.match(answer.headers.vary, /accept/i);
    t.equal(
      answer.body,
      [
        'id,title,price,author.id,author.name',
        `1,'=1+1,2.5,1,"Ada, ""the"" first"`,
        '2,-12.50,,,',
        '3,"two\nlines",-3,1,"Ada, ""the"" first"',
        '',
      ].join('\r\n'),
    );
  });

  await t.test('a text with a separator that other files use is quoted', async (t) => {
    const titled = (title: string) => orm.em.fork().nativeUpdate(Book, { id: 3 }, { title });
    t.teardown(() => titled('two\nlines'));
    for (const title of ['a;=1+1', 'a\t=1+1']) {
      await titled(title);
      t.match((await ask('/books', CSV)).body, `\r\n3,"${title}",-3`);
    }
  });

  await t.test('NDJSON has the records as a list has them', async (t) => {
    const answer = await ask('/books', LINES);
    t.equal(answer.headers['content-type'], 'application/x-ndjson');
    const { results } = (await app.inject('/books')).json<{ results: unknown[] }>();
    t.strictSame(
      answer.body
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
      results,
    );
  });

  await t.test('the list is filtered, searched, ordered and narrowed, and has no pages', async (t) => {
    const ids = async (query: string) =>
      (await ask(`/books?${query}`, LINES)).body
        .trimEnd()
        .split('\n')
        .filter(Boolean)
        .map((line) => (JSON.parse(line) as { id: number }).id);
    t.strictSame(await ids('sort=-title'), [3, 1, 2]);
    t.strictSame(await ids('min=0'), [1]);
    t.strictSame(await ids('search=lines'), [3]);
    t.strictSame(await ids('page=2&page_size=1'), [1, 2, 3]);
    t.strictSame(await ids('search=nothing'), []);
    t.equal((await ask('/books?search=nothing', CSV)).body, 'id,title,price,author.id,author.name\r\n');
    for (const query of ['sort=nope', 'min=x', 'nope=1']) {
      const answer = await ask(`/books?${query}`, CSV);
      t.equal(answer.statusCode, 400, query);
      t.equal(answer.json<{ code: string }>().code, 'invalid_usage');
    }
    t.equal((await ask('/books?fields=id,author', CSV)).body.split('\r\n')[0], 'id,author.id,author.name');
  });

  await t.test('JSON is sent unless Accept prefers another format', async (t) => {
    for (const accept of [
      '*/*',
      'application/json',
      'text/html',
      'text/csv;q=0.5, application/json',
      'text/csv;q=0, */*',
    ]) {
      t.match((await ask('/books', { accept })).headers['content-type'], /json/, accept);
    }
    t.match((await ask('/lines', CSV)).headers['content-type'], /^application\/json/);
    t.match(
      (await ask('/lines', { accept: 'text/csv, application/x-ndjson;q=0.5' })).headers['content-type'],
      /ndjson/,
    );
    const plain = await ask('/plain', CSV);
    t.match(plain.headers['content-type'], /json/);
    t.equal(plain.headers.vary, undefined);
    const head = await app.inject({ method: 'HEAD', url: '/books', headers: CSV });
    t.equal(head.statusCode, 200);
    t.equal(head.body, '');
  });

  await t.test('a view that makes records of entities exports those', async (t) => {
    t.match((await ask('/shouting', CSV)).body, /"TWO\nLINES"/);
  });

  await t.test('relations to many are cells of JSON, and a nested list is its parent’s', async (t) => {
    t.equal((await ask('/authors', CSV)).body.split('\r\n')[2], '2,Bob,[]');
    t.match((await ask('/authors', CSV)).body, /\[""=1\+1""/);
    t.equal((await ask('/authors/1/books', LINES)).body.trimEnd().split('\n').length, 2);
    t.equal((await ask('/authors/2/books', LINES)).body, '');
    t.equal((await ask('/authors/3/books', LINES)).statusCode, 404);
  });

  await t.test('a filter that fails while the parent is looked up ends the request, and not the process', async (t) => {
    const rejections: unknown[] = [];
    const note = (error: unknown): void => void rejections.push(error);
    process.on('unhandledRejection', note);
    t.teardown(() => process.off('unhandledRejection', note));
    for (const author of [1, 9]) t.equal((await ask(`/authors/${author}/failing?about=x`, CSV)).statusCode, 400);
    t.strictSame(rejections, []);
  });

  await t.test('an export in many batches contains every record once, in any order, also with NULLs', async (t) => {
    const many = Array.from({ length: 1700 }, (_, index) => ({
      id: index + 100,
      title: `t${index % 7}`,
      price: index % 3 === 0 ? null : index % 11,
      author: null,
    }));
    await orm.em.fork().insertMany(Book, many);
    t.teardown(() => orm.em.fork().nativeDelete(Book, { id: { $gte: 100 } }));
    for (const sort of ['price', '-price', 'title,-price', '-title']) {
      const lines = (await ask(`/books?sort=${sort}`, LINES)).body.trimEnd().split('\n');
      const whole: number[] = [];
      for (let page = 1; page <= 18; page++) {
        const answer = await app.inject(`/books?sort=${sort}&page_size=100&page=${page}`);
        whole.push(...answer.json<{ results: { id: number }[] }>().results.map(({ id }) => id));
      }
      t.strictSame(
        lines.map((line) => (JSON.parse(line) as { id: number }).id),
        whole,
        sort,
      );
    }
    const exported = async (path: string, headers: Record<string, string>, isRead = true): Promise<IncomingMessage> => {
      if (!app.server.listening) await app.listen({ port: 0 });
      const { port } = app.server.address() as { port: number };
      return new Promise((resolve, reject) => {
        const asking = get({ port, path, headers }, (response) => {
          if (isRead) response.resume();
          else response.once('data', () => response.destroy());
          response.on('error', () => {});
          response.once('close', () => resolve(response));
        });
        asking.once('error', reject);
      });
    };

    await t.test('a client that goes away stops the reading', async (t) => {
      const queries = recordQueries(orm);
      t.teardown(() => queries.stop());
      const gone = once(app.server, 'gone');
      app.server.once('connection', (socket: Socket) => socket.once('close', () => app.server.emit('gone')));
      await exported('/books', LINES, false);
      await gone;
      // The batch that was being read is the last one; of four, three can be left.
      const started = queries.texts.length + 1;
      t.equal((await app.inject('/books?page_size=1')).statusCode, 200);
      t.ok(queries.texts.length <= started + 2, 'but for this list nothing was read afterwards');
    });

    await t.test(
      'an error during the export destroys the connection, so that the client notices that the list is incomplete',
      async (t) => {
        for (const title of ['broken', 'none']) {
          await orm.em.fork().nativeUpdate(Book, { id: 1700 }, { title });
          for (const headers of [CSV, LINES]) {
            const answer = await exported('/marked', headers);
            t.equal(answer.statusCode, 200, 'the first batches were good');
            t.equal(answer.complete, false, `${title} ${headers.accept}`);
          }
        }
        await orm.em.fork().nativeUpdate(Book, { id: 1 }, { title: 'none' });
        t.teardown(() => orm.em.fork().nativeUpdate(Book, { id: 1 }, { title: '=1+1' }));
        for (const headers of [CSV, LINES]) {
          const failed = await ask('/marked', headers);
          t.equal(failed.statusCode, 500, 'in the first batch');
          t.equal(failed.headers['content-disposition'], undefined, 'an error is no file');
        }
      },
    );

    await t.test('more at once than the pool has connections share them', async (t) => {
      const answers = await Promise.all(Array.from({ length: 25 }, async () => ask('/books?sort=-price', LINES)));
      t.same(
        [...new Set(answers.map(({ statusCode, body }) => `${statusCode} ${body.split('\n').length}`))],
        ['200 1704'],
      );
    });
  });

  await t.test('CSV and NDJSON contain only the properties of the schema', async (t) => {
    t.equal((await ask('/marked', CSV)).body.split('\r\n')[2], '2,"[{""name"":""good""}]"');
    t.equal((await ask('/marked', LINES)).body.split('\n')[1], '{"id":2,"marks":[{"name":"good"}]}');
  });
});

t.test('an export that is not known is refused', async (t) => {
  const exports = ['xml'] as unknown as readonly ['csv'];
  await t.rejects(
    async () =>
      testApp(t, await openSqlite(t, { entities: [Author, Book] }), [
        new Router().register('books', class extends ModelViewSet(Book, { ...options, exports }) {}),
      ]),
    ImproperlyConfigured,
  );
});
