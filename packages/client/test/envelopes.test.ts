/** Views whose records stand in members of their own, and pages with other names: types, and what comes. */
import {
  action,
  CursorPagination,
  LimitOffsetPagination,
  ModelViewSet,
  PageNumberPagination,
  readShape,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '@viewset/core';
import { fastify } from 'fastify';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, fillLibrary, LIBRARY, Publisher } from '../../core/test/support/library.ts';
import { createClient, type DataOf } from '../src/index.ts';

const read = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title']);
const envelope = { one: 'book', many: 'books', count: 'booksCount' } as const;

class Enveloped extends ModelViewSet(Book, {
  read,
  write,
  envelope,
  bulk: 3,
  expand: { publisher: readShape(Publisher, ['name']) },
}) {}
class Whole extends ModelViewSet(Book, { read, envelope, pagination: null }) {}
class Renamed extends ModelViewSet(Book, {
  read,
  pagination: LimitOffsetPagination.with({
    names: { limit: 'take', offset: 'skip', results: 'items', count: 'total', next: 'more', previous: null },
    pageSize: 2,
  }),
}) {}
class Sized extends ModelViewSet(Book, { read, pagination: PageNumberPagination.with({ pageSize: 2 }) }) {}
class Arrays extends ModelViewSet(Book, {
  read,
  expand: { publisher: readShape(Publisher, ['name']) },
  pagination: LimitOffsetPagination.with({ totalHeader: 'Content-Range', pageSize: 2 }),
}) {}
class ByCursor extends ModelViewSet(Book, {
  read,
  envelope: { many: 'books' },
  pagination: CursorPagination.with({ names: { next_cursor: 'after', previous_cursor: null }, pageSize: 2 }),
}) {}

class Plain extends ModelViewSet(Book, { read, write, bulk: 3 }) {
  newest = action({ answers: 'page' }, async (request, reply) =>
    this.paginate(request, this.getQueryset(request).orderBy('-id'), reply),
  );
}
class Bare extends ModelViewSet(Book, { read, envelope: null }) {}

const enveloping = () =>
  new Router({ prefix: 'all', envelope: { one: 'data', many: 'items', count: 'total' } })
    .register('plain', Plain)
    .register('books', Enveloped, { basename: 'all-books' })
    .register('bare', Bare);
const router = () =>
  new Router()
    .register('books', Enveloped)
    .register('whole', Whole)
    .register('renamed', Renamed)
    .register('sized', Sized)
    .register('arrays', Arrays)
    .register('cursor', ByCursor);
type Api = ReturnType<typeof router>;

/** True if both are the same type. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const same = <A, B>(_isSame: Same<A, B>): void => {};
interface Item {
  id: number;
  title: string;
}

forEachDatabase(t, { entities: LIBRARY, only: ['sqlite'] }, async (t, orm) => {
  await fillLibrary(orm);
  const app = fastify(serverOptions());
  await app.register(viewset, { orm, secret: 's'.repeat(32) });
  await app.register(router().plugin);
  await app.register(enveloping().plugin);
  t.teardown(() => app.close());
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const api = createClient<Api>({ url });
  const all = createClient<ReturnType<typeof enveloping>>({ url: `${url}/all` });

  t.test('the envelope of a router applies to views without an envelope', async (t) => {
    same<DataOf<typeof all.plain.retrieve>, { readonly data: Item }>(true);
    same<DataOf<typeof all.plain.list>, { readonly items: Item[]; readonly total: number }>(true);
    same<Parameters<typeof all.plain.update>[1], { readonly data: { title?: string } }>(true);
    same<DataOf<typeof all.plain.createMany>, { readonly items: Item[] }>(true);
    same<DataOf<typeof all.plain.newest>, DataOf<typeof all.plain.list>>(true);
    same<DataOf<typeof all.books.retrieve>, { readonly book: Item }>(true);
    same<DataOf<typeof all.bare.retrieve>, Item>(true);
    same<keyof DataOf<typeof all.bare.list>, 'count' | 'next' | 'previous' | 'results'>(true);
    const { data } = await all.plain.create({ data: { title: 'Zen' } });
    t.equal((await all.plain.newest({ page_size: 1 })).items[0]?.id, data.id);
    const titles: string[] = [];
    for await (const { title } of all.plain.each({ pageSize: 3 }, { paging: { results: 'items' } })) titles.push(title);
    t.equal(titles.length, (await all.plain.list()).total);
    t.equal((await all.books.retrieve(data.id)).book.title, 'Zen');
    t.equal((await all.bare.retrieve(data.id)).title, 'Zen');
    await all.plain.destroy(data.id);
  });

  t.test('types have the members', async () => {
    same<DataOf<typeof api.books.retrieve>, { readonly book: Item }>(true);
    same<DataOf<typeof api.books.create>, { readonly book: Item }>(true);
    same<DataOf<typeof api.books.list>, { readonly books: Item[]; readonly booksCount: number }>(true);
    same<DataOf<typeof api.books.createMany>, { readonly books: Item[] }>(true);
    same<Parameters<typeof api.books.update>[1], { readonly book: { title?: string } }>(true);
    same<DataOf<typeof api.whole.list>, { readonly books: Item[]; readonly booksCount: number }>(true);
    same<DataOf<typeof api.renamed.list>, { readonly total: number; readonly more: boolean; readonly items: Item[] }>(
      true,
    );
    same<keyof DataOf<typeof api.sized.list>, 'count' | 'next' | 'previous' | 'results'>(true);
    same<DataOf<typeof api.cursor.list>, { readonly after: string | null; readonly books: Item[] }>(true);
    same<keyof NonNullable<Parameters<typeof api.renamed.list>[0]>, 'take' | 'skip'>(true);
    same<DataOf<typeof api.arrays.list>, Item[]>(true);
  });

  t.test('responses fit the types', async (t) => {
    const { book } = await api.books.create({ book: { title: 'Fir' } });
    t.equal((await api.books.retrieve(book.id)).book.title, 'Fir');
    t.equal((await api.books.update(book.id, { book: { title: 'Oak' } })).book.title, 'Oak');
    const expanded = await api.books.retrieve(1, { expand: 'publisher' });
    t.equal(expanded.book.publisher?.name, 'North');
    const listed = await api.books.list({ expand: 'publisher', fields: ['publisher'] });
    t.equal(listed.books[0]!.publisher?.name, 'North');
    t.equal(listed.booksCount, 6);
    const { books } = await api.books.createMany({ books: [{ title: 'Yew' }] });
    t.match(await api.books.updateMany({ books: [{ id: books[0]!.id, title: 'Ivy' }] }), { books: [{ title: 'Ivy' }] });
    await api.books.destroyMany([book.id, books[0]!.id]);
    t.equal((await api.whole.list()).booksCount, 5);
    // @ts-expect-error the record stands in its member
    const bare = await api.books.create.safe({ title: 'Fir' });
    t.match(bare, { ok: false, status: 400, error: { details: [{ path: '/book', message: 'is required' }] } });
    // @ts-expect-error so does it in answers
    t.equal(expanded.title, undefined);
  });

  t.test('a list that is an array has its total in a header', async (t) => {
    const found = await api.arrays.list.safe({ limit: 2, expand: 'publisher' });
    if (!found.ok) throw found.error;
    t.equal(found.headers.get('content-range'), 'items 0-1/5');
    t.equal(found.data[0]!.publisher?.name, 'North');
    const titles: string[] = [];
    const paging = { results: null, offset: 'offset', pageSize: 'limit' } as const;
    for await (const { title } of api.arrays.each({ pageSize: 2 }, { paging })) titles.push(title);
    t.strictSame(titles, ['Ash', 'Birch', 'Cedar', 'Date', 'Elm']);
    // @ts-expect-error without these names, the first page would look like a list without pages
    t.ok(() => api.arrays.each());
  });

  t.test('errors have the body of the server', async (t) => {
    interface Errors {
      errors: Record<string, string[]>;
    }
    const formatted = createClient<Api, Errors>({
      url: '/api',
      fetch: async () => Response.json({ errors: { title: ["can't be blank"] } }, { status: 422 }),
    });
    const answer = await formatted.books.create.safe({ book: { title: '' } });
    if (answer.ok) throw new Error('it is refused');
    same<typeof answer.error.body, Errors>(true);
    t.strictSame(answer.error.body.errors, { title: ["can't be blank"] });
    t.match(answer.error, { code: 'unexpected_answer', message: 'POST /api/books answered 422' });
    const usual = await api.books.retrieve.safe(999);
    if (!usual.ok && usual.status === 404) t.equal(usual.error.body.code, 'not_found');
  });

  t.test('each pages by the configured names', async (t) => {
    const titles: string[] = [];
    const named = { results: 'items', next: 'more', offset: 'skip', pageSize: 'take' } as const;
    for await (const { title } of api.renamed.each({ pageSize: 2 }, { paging: named })) titles.push(title);
    t.strictSame(titles, ['Ash', 'Birch', 'Cedar', 'Date', 'Elm']);
    const byEnd = { results: 'books' } as const;
    let seen = 0;
    for await (const { id } of api.books.each({ pageSize: 2 }, { paging: byEnd })) seen += id > 0 ? 1 : 0;
    t.equal(seen, 5);
    const byCursor = { results: 'books', next_cursor: 'after' } as const;
    for await (const { id } of api.cursor.each({}, { paging: byCursor })) seen -= id > 0 ? 1 : 0;
    t.equal(seen, 0);
    for await (const { id } of api.sized.each()) seen += id > 0 ? 1 : 0;
    t.equal(seen, 5);
    const refused = [
      // @ts-expect-error these names are needed
      () => api.renamed.each(),
      // @ts-expect-error a list without pages has them all
      () => api.whole.each(),
    ];
    t.equal(refused.length, 2);
  });
});
