import type { InferEntity } from '@mikro-orm/core';
import t from 'tap';
import {
  action,
  computed,
  CursorPagination,
  LimitOffsetPagination,
  ModelViewSet,
  type PaginatorClass,
  readShape,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { Type } from 'typebox';
import { recordQueries } from '../../query/record-queries.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { Book, fillLibrary, LIBRARY, testApp } from '../../support/library.ts';

type BookEntity = InferEntity<typeof Book>;

const declared = {
  read: readShape(Book, ['id', 'title', 'price'], {
    by: 'publisher.name',
    size: computed(Type.String(), ['pages'], ({ pages }) => `${pages} pages`),
  }),
  write: writeShape(Book, ['title', 'price'], { publisher: 'publisher.name' }),
  orderingFields: { by: 'publisher__name', price: 'price' },
} as const;

class RowsViewSet extends ModelViewSet(Book, declared) {}

class ShoutingViewSet extends ModelViewSet(Book, declared) {
  override represent(book: BookEntity) {
    return { ...super.represent(book), title: `${book.title}, ${book.publisher?.name ?? 'nobody'}, ${book.pages}` };
  }

  first = action({}, async (request) => ({ results: await this.rows(this.getQueryset(request).slice(0, 1)) }));
}

const paged = (pagination: PaginatorClass | null) =>
  class extends ModelViewSet(Book, { ...declared, pagination, pageSize: 2 }) {
    override represent(book: BookEntity) {
      return { ...super.represent(book), title: book.title.toUpperCase() };
    }
  };

class FieldViewSet extends ModelViewSet(Book, declared) {
  override represent = (book: BookEntity) => ({ id: book.id, title: 'a field', price: 1, by: null, size: '' });
}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm, database) => {
  await fillLibrary(orm);
  const router = new Router();
  router
    .register('rows', RowsViewSet)
    .register('shouting', ShoutingViewSet)
    .register('whole', paged(null))
    .register('offsets', paged(LimitOffsetPagination))
    .register('cursors', paged(CursorPagination))
    .register('fields', FieldViewSet);
  const app = await testApp(t, orm, [router], { options: { secret: 'a secret that is thirty-two bytes' } });
  const get = async <Body>(path: string) => (await app.inject(path)).json<Body>();
  const titles = ({ results }: { results: { title: string }[] }) => results.map(({ title }) => title);

  t.test('a view that represents entities sends the result of represent in every response with records', async (t) => {
    const list = await get<{ count: number; results: { title: string }[] }>('/shouting');
    t.strictSame(titles(list), [
      'Ash, North, 100',
      'Birch, North, 200',
      'Cedar, South, 300',
      'Date, nobody, 300',
      'Elm, South, 50',
    ]);
    t.match(list, { count: 5, results: [{ by: 'North', size: '100 pages', price: 10 }] });
    t.equal((await get<{ title: string }>('/shouting/2')).title, 'Birch, North, 200');
    t.strictSame(titles(await get('/shouting/first')), ['Ash, North, 100'], 'an action as well');
    t.equal((await get<{ title: string }>('/fields/1')).title, 'a field', 'a field of the class is an override');
  });

  t.test('create and update return the result of represent, with the stored values', async (t) => {
    const payload = { title: 'Fir', price: 12.5, publisher: 'South' };
    const created = await app.inject({ method: 'POST', url: '/shouting', payload });
    t.equal(created.statusCode, 201, created.body);
    const { id } = created.json<{ id: number }>();
    t.strictSame(created.json(), { id, title: 'Fir, South, 0', price: 12.5, by: 'South', size: '0 pages' });
    const patched = await app.inject({
      method: 'PATCH',
      url: `/shouting/${id}`,
      payload: { publisher: null, title: 'Gum' },
    });
    t.strictSame(patched.json(), { id, title: 'Gum, nobody, 0', price: 12.5, by: null, size: '0 pages' });
    t.equal((await app.inject({ method: 'DELETE', url: `/shouting/${id}` })).statusCode, 204);
  });

  t.test('every paginator passes the entities on', async (t) => {
    const ids = ({ results }: { results: { id: number }[] }) => results.map((record) => record.id);
    t.strictSame(titles({ results: await get('/whole') }), ['ASH', 'BIRCH', 'CEDAR', 'DATE', 'ELM']);
    t.strictSame(titles(await get('/offsets?offset=3')), ['DATE', 'ELM']);
    const walked: number[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: Page = await get<Page>(`/cursors?sort=-by,price&cursor=${cursor}`);
      walked.push(...ids(page));
      t.ok(titles(page).every((title) => title === title.toUpperCase()));
      cursor = page.next_cursor;
    }
    t.strictSame(walked, [4, 5, 3, 1, 2]);
  });

  t.test('entities take no statement more than rows do', async (t) => {
    const queries = recordQueries(orm);
    t.teardown(() => queries.stop());
    const statements = async (path: string): Promise<number> => {
      const before = queries.texts.length;
      t.equal((await app.inject(path)).statusCode, 200);
      return queries.texts.length - before;
    };
    // MongoDB counts within the command of a page that the client has not shaped.
    const expected = { sqlite: [2, 2], postgresql: [1, 1], mongodb: [1, 2] }[database];
    for (const [index, path] of ['?page_size=2', '?page_size=2&sort=-by'].entries()) {
      const page = expected[index];
      t.equal(await statements(`/rows${path}`), page, `rows: ${path}`);
      t.equal(await statements(`/shouting${path}`), page, `entities: ${path}`);
    }
    t.equal(await statements('/shouting/1'), 1);
    t.equal(await statements('/whole'), 1);
    t.equal(await statements('/cursors?sort=by'), 1);
  });
});

interface Page {
  results: { id: number; title: string }[];
  next_cursor: string | null;
}
