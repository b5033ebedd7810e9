import type { InferEntity } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  compare,
  CursorPagination,
  fieldPath,
  Filter,
  InvalidUsage,
  LimitOffsetPagination,
  ModelViewSet,
  PageNumberPagination,
  type QueryParameters,
  type QuerySet,
  readShape,
  Router,
  SearchFilter,
  type WriteData,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY, Publisher, testApp } from '../support/library.ts';

type BookRecord = InferEntity<typeof Book>;

const read = readShape(Book, ['id', 'title', 'pages', 'in_print']);
const write = writeShape(Book, ['title', 'pages']);
type Input = { title: string; pages?: number };

class InPrintFilter extends Filter {
  readonly parameters = [{ name: 'in_print', schema: Type.Boolean() }];

  apply<E extends object>(queryset: QuerySet<E>, parameters: QueryParameters): QuerySet<E> {
    const text = parameters.one('in_print');
    if (text === undefined) return queryset;
    return queryset.where(compare(fieldPath(queryset.meta, 'in_print', '.'), 'exact', text === 'yes'));
  }
}

class BigPages extends PageNumberPagination {
  override readonly pageSize = 2;
  override readonly maxPageSize = 3;
  override readonly pageParameter = 'p';
  override readonly pageSizeParameter = 'n';
}

class LongBookViewSet extends ModelViewSet(Book, { read, write, ordering: ['-pages', 'title'] }) {
  override getQueryset(request: FastifyRequest) {
    return super.getQueryset(request).filter({ pages__gte: 200 });
  }
}

class PickyViewSet extends ModelViewSet(Book, { read, write }) {
  override async filterQueryset(request: FastifyRequest, queryset: QuerySet<BookRecord>) {
    return (await super.filterQueryset(request, queryset)).exclude({ title__startswith: 'A' });
  }

  override async performCreate(request: FastifyRequest, data: WriteData<BookRecord, Input>) {
    const book = await super.performCreate(request, { ...data, in_print: false });
    if (book.title === 'Forbidden') throw new InvalidUsage('That book must not be');
    return book;
  }

  override async performUpdate(request: FastifyRequest, book: BookRecord, data: WriteData<BookRecord, Partial<Input>>) {
    const updated = await super.performUpdate(request, book, data);
    if (book.title === 'Forbidden') throw new Error('a bug of the application');
    return updated;
  }

  override async performDestroy(request: FastifyRequest, book: BookRecord) {
    book.in_print = false;
    await request.em.flush();
  }
}

class EntityViewSet extends ModelViewSet(Book, { read: readShape(Book, ['id', 'title'], { by: 'publisher.name' }) }) {
  override async getObject(request: FastifyRequest) {
    const book = await super.getObject(request);
    // A changed entity of `request.em` would have to be stored.
    request.em.clear();
    book.title = book.title.toUpperCase();
    return book;
  }
}

class PlainListViewSet extends ModelViewSet(Book, {
  read,
  pagination: null,
  filters: [InPrintFilter, SearchFilter],
  searchFields: ['title'],
}) {}
class BigPagesViewSet extends ModelViewSet(Book, { read, pagination: BigPages }) {}
class OffsetViewSet extends ModelViewSet(Book, {
  read,
  pagination: LimitOffsetPagination,
  pageSize: 2,
  maxPageSize: 3,
}) {}
class CursorViewSet extends ModelViewSet(Book, {
  read,
  pagination: CursorPagination,
  pageSize: 2,
  orderingFields: { pages: 'pages' },
}) {}

class NoisyViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title'], { by: 'publisher.name' }),
  searchFields: ['publisher__name'],
}) {
  titles = action({}, async (request) => this.rows(this.getQueryset(request).slice(0, 2)));
}

const statements: string[] = [];

forEachDatabase(
  t,
  {
    entities: LIBRARY,
    orm: { debug: ['query'], logger: (line: string) => statements.push(line) },
  },
  async (t, orm) => {
    await fillLibrary(orm);
    const router = new Router();
    router
      .register('long', LongBookViewSet)
      .register('picky', PickyViewSet)
      .register('entity', EntityViewSet)
      .register('plain', PlainListViewSet)
      .register('big', BigPagesViewSet)
      .register('offset', OffsetViewSet)
      .register('cursor', CursorViewSet)
      .register('noisy', NoisyViewSet);
    const app = await testApp(t, orm, [router], { options: { secret: 'a secret that is thirty-two bytes' } });
    const titles = (body: { results: { title: string }[] }) => body.results.map(({ title }) => title);

    t.test('getQueryset decides which records there are, and in which order', async (t) => {
      t.same(titles((await app.inject('/long')).json()), ['Cedar', 'Date', 'Birch']);
      t.equal((await app.inject('/long/2')).statusCode, 200);
      t.equal((await app.inject('/long/1')).statusCode, 404);
      t.equal((await app.inject({ method: 'PATCH', url: '/long/1', payload: {} })).statusCode, 404);
      t.equal((await app.inject({ method: 'DELETE', url: '/long/1' })).statusCode, 404);
    });

    t.test('filterQueryset affects lists only', async (t) => {
      t.same(titles((await app.inject('/picky')).json()), ['Birch', 'Cedar', 'Date', 'Elm']);
      t.equal((await app.inject('/picky/1')).statusCode, 200);
    });

    t.test('performCreate adds values that the client does not send', async (t) => {
      const created = await app.inject({ method: 'POST', url: '/picky', payload: { title: 'Fir', in_print: true } });
      t.equal(created.statusCode, 201);
      t.match(created.json(), { title: 'Fir', pages: 0, in_print: false });
      t.equal(created.headers['location'], `/picky/${created.json().id}`);
    });

    t.test('a create or update that fails leaves nothing behind', async (t) => {
      const create = await app.inject({ method: 'POST', url: '/picky', payload: { title: 'Forbidden' } });
      t.equal(create.statusCode, 400);
      t.equal(create.json().error, 'That book must not be');
      const update = await app.inject({ method: 'PATCH', url: '/picky/3', payload: { title: 'Forbidden' } });
      t.equal(update.statusCode, 500);
      t.same(update.json(), { error: 'An internal error occurred', code: 'internal_error' });
      t.equal(await orm.em.fork().count(Book, { title: 'Forbidden' }), 0);
      t.equal((await app.inject('/picky/3')).json().title, 'Cedar');
    });

    t.test('performDestroy may keep the record', async (t) => {
      t.equal((await app.inject({ method: 'DELETE', url: '/picky/2' })).statusCode, 204);
      t.equal((await app.inject('/picky/2')).json().in_print, false);
    });

    t.test('retrieve returns the result of an overridden getObject', async (t) => {
      t.same((await app.inject('/entity/1')).json(), { id: 1, title: 'ASH', by: 'North' });
      t.same((await app.inject('/entity/4')).json(), { id: 4, title: 'DATE', by: null });
      t.equal((await app.inject('/noisy/1')).json().title, 'Ash', 'and nothing was written');
    });

    t.test('pagination: null and custom filters', async (t) => {
      t.same(
        (await app.inject('/plain?in_print=no&search=l')).json().map(({ title }: { title: string }) => title),
        ['Elm'],
      );
      t.equal((await app.inject('/plain?page=1')).statusCode, 400);
    });

    t.test('a custom paginator renames the parameters', async (t) => {
      const page = (await app.inject('/big?p=2&n=9')).json();
      t.same(titles(page), ['Date', 'Elm', 'Fir']);
      t.equal((await app.inject('/big')).json().results.length, 2);
      t.equal((await app.inject('/big?page=2')).statusCode, 400);
    });

    t.test('limit and offset', async (t) => {
      t.match((await app.inject('/offset?offset=4&limit=9')).json(), { count: 6, next: false, previous: true });
      t.same(titles((await app.inject('/offset?offset=1')).json()), ['Birch', 'Cedar']);
    });

    t.test('a cursor walks there and back', async (t) => {
      const seen: string[] = [];
      let url = '/cursor?sort=-pages';
      for (let pages = 0; pages < 3; pages++) {
        const page = (await app.inject(url)).json();
        seen.push(...titles(page));
        url = `/cursor?sort=-pages&cursor=${page.next_cursor}`;
      }
      t.same(seen, ['Cedar', 'Date', 'Birch', 'Ash', 'Elm', 'Fir']);
      t.equal((await app.inject('/cursor?sort=pages&cursor=abc')).statusCode, 400);
    });

    t.test('one response names every invalid query parameter', async (t) => {
      const response = await app.inject('/noisy?page=x&page_size=0&serch=a');
      t.equal(response.statusCode, 400);
      t.same(
        response
          .json()
          .details.map(({ path }: { path: string }) => path)
          .toSorted(),
        ['/page', '/page_size', '/serch'],
      );
      t.match(response.json().error, /did you mean "search"/);
    });

    t.test('a list needs at most two statements for any size and shape, a retrieve and an action one', async (t) => {
      const count = async (url: string) => {
        statements.length = 0;
        t.equal((await app.inject(url)).statusCode, 200, url);
        return statements.length;
      };
      t.ok((await count('/noisy?page_size=100')) <= 2);
      t.ok((await count('/noisy?page_size=2&search=north')) <= 2);
      t.ok((await count('/noisy?page=9')) <= 2);
      t.equal(await count('/noisy/1'), 1);
      t.equal(await count('/entity/1'), 1);
      t.equal(await count('/noisy/titles'), 1);
      t.equal(await count('/plain'), 1);
      t.equal(await count('/cursor'), 1);
    });

    t.test('a unique value that is taken, and a record that is referred to, are conflicts', async (t) => {
      class PublisherViewSet extends ModelViewSet(Publisher, {
        read: readShape(Publisher, ['id', 'name']),
        write: writeShape(Publisher, ['name']),
      }) {}
      const publishers = await testApp(t, orm, [new Router().register('publishers', PublisherViewSet)]);
      for (const [method, url, payload] of [
        ['POST', '/publishers', { name: 'North' }],
        ['PATCH', '/publishers/2', { name: 'North' }],
        ['DELETE', '/publishers/1', undefined],
      ] as const) {
        const response = await publishers.inject({ method, url, ...(payload && { payload }) });
        t.equal(response.statusCode, 409, `${method} ${response.body}`);
        t.equal(response.json().code, 'conflict');
      }
      t.same((await publishers.inject('/publishers')).json().count, 2);
    });
  },
);

t.test(
  'wrong names in every option do not compile, and are refused when the view is declared or registered',
  async () => {
    ModelViewSet(Book, { read, write, searchFields: ['^title', '=publisher__name'], ordering: ['-pages'] });
    // @ts-expect-error a misspelt search field
    ModelViewSet(Book, { read, searchFields: ['titel'] });
    // @ts-expect-error a misspelt lookup
    ModelViewSet(Book, { read, filterFields: { min: 'pages__gtee' } });
    // @ts-expect-error a lookup that does not fit its field
    ModelViewSet(Book, { read, filterFields: { min: 'pages__icontains' } });
    // @ts-expect-error a misspelt ordering field
    ModelViewSet(Book, { read, orderingFields: { pages: 'pagess' } });
    // @ts-expect-error a misspelt JSON Logic field
    ModelViewSet(Book, { read, jsonLogicFields: ['publisher.nmae'] });
    // @ts-expect-error a misspelt order
    ModelViewSet(Book, { read, ordering: ['-pagez'] });
    // @ts-expect-error a misspelt property of a write schema
    ModelViewSet(Book, { read, write: Type.Object({ titel: Type.String() }) });
    // @ts-expect-error a misspelt property of a read schema
    ModelViewSet(Book, { read: Type.Object({ titel: Type.String() }) });
    ModelViewSet(Book, {
      read: Type.Object({ title: Type.String() }),
      write: Type.Object({ title: Type.String(), pages: Type.Integer() }),
    });
    // @ts-expect-error a shape of another entity
    ModelViewSet(Publisher, { read });
  },
);
