/** What compiles and what must not: nothing is sent. */
import { defineEntity, p } from '@mikro-orm/core';
import {
  count,
  DEFAULT_FILTERS,
  exists,
  Filter,
  inJson,
  type Lookup as ServerLookup,
  many,
  ModelViewSet,
  nested,
  OrderingFilter,
  type QuerySet,
  readShape,
  Router,
  SearchFilter,
  writeShape,
} from '@viewset/core';
import t from 'tap';
import { Type } from 'typebox';
import { Book, Publisher } from '../../core/test/support/library.ts';
import { type Answer, createClient, type DataOf, describeApi } from '../src/index.ts';
import type { Lookup } from '../src/list.ts';
import { type Api, BookViewSet } from './support/library-router.ts';

const options = { url: '/api', fetch: async () => Response.json({ next: false, results: [] }) };
const api = createClient<Api>(options);

/** True if both are the same type; false of `any`, which everything fits. */
type Same<A, B> = 0 extends 1 & A ? false : [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const same = <A, B>(_isSame: Same<A, B>): void => {};
type ListOf<Call extends (...args: never) => unknown> = NonNullable<Parameters<Call>[0]>;

t.test('parameters of lists', async () => {
  same<Lookup, ServerLookup>(true);
  type Books = ListOf<typeof api.books.list>;
  same<Books['sort'], Sort | readonly Sort[] | undefined>(true);
  same<Books['search'], string | undefined>(true);
  same<Books['min_price'], number | undefined>(true);
  same<Books['ids'], readonly number[] | undefined>(true);
  same<Books['pages'], readonly [number, number] | undefined>(true);
  same<Books['published_after'], Date | string | undefined>(true);
  same<Books['no_price'], boolean | undefined>(true);
  same<Books['publisher'], number | undefined>(true);
  same<Books['house'], string | undefined>(true);
  same<keyof ListOf<(typeof api)['by-cursor']['list']>, 'sort' | 'cursor' | 'page_size'>(true);
  same<keyof ListOf<(typeof api)['by-limit']['list']>, 'sort' | 'limit' | 'offset'>(true);
  same<keyof ListOf<typeof api.unpaged.list>, 'sort'>(true);
  same<keyof ListOf<typeof api.renamed.list>, 'sort' | 'q' | 'p' | 'n'>(true);
  same<
    keyof ListOf<typeof api.books.list>,
    | ('min_price' | 'ids' | 'pages' | 'published_after' | 'no_price' | 'publisher' | 'house')
    | ('search' | 'filter' | 'sort' | 'page' | 'page_size')
  >(true);
  type Loans = ListOf<typeof api.loans.list>;
  type State = 'open' | 'late' | 'over';
  same<Loans['id'], bigint | string | undefined>(true);
  same<Loans['ids'], readonly (bigint | string)[] | undefined>(true);
  same<Loans['state'], State | undefined>(true);
  same<Loans['states'], readonly State[] | undefined>(true);
  same<Loans['min_fee'], string | undefined>(true);
  same<Loans['due'], readonly [string, string] | undefined>(true);
  same<Loans['lent'], readonly [Date | string, Date | string] | undefined>(true);
  same<Loans['is_paid'], boolean | undefined>(true);
  // @ts-expect-error no value of the enum
  await api.loans.list({ state: 'lost' });
  await api.books.list({ filter: { or: [{ '<': [1, { var: 'price' }, 5] }, { '!': { in: [{ var: 'id' }, [1]] } }] } });
  // @ts-expect-error no such parameter
  await api.books.list({ serach: 'x' });
  // @ts-expect-error a name that is not to order by
  await api.books.list({ sort: 'pages' });
  // @ts-expect-error nor among others
  await api.books.list({ sort: ['price', '-pages'] });
  // @ts-expect-error a text for a number
  await api.books.list({ min_price: '5' });
  // @ts-expect-error one value for a list
  await api.books.list({ ids: 1 });
  // @ts-expect-error no lookup of a boolean
  await api.books.list({ no_price: 'yes' });
  // @ts-expect-error a field that JSON Logic may not name
  await api.books.list({ filter: { '==': [{ var: 'in_print' }, true] } });
  // @ts-expect-error no operator
  await api.books.list({ filter: { '===': [{ var: 'price' }, 1] } });
  // @ts-expect-error a view without searchFields
  await api['by-cursor'].list({ search: 'x' });
  // @ts-expect-error the parameter has another name
  await api.renamed.list({ search: 'x' });
  // @ts-expect-error a list without pages
  await api.unpaged.list({ page: 1 });
});

type Sort = 'id' | '-id' | 'price' | '-price' | 'title' | '-title';

t.test('answers', async () => {
  interface Book {
    id: number;
    title: string;
    price: number | null;
    published_at: string | null;
    publisher: string | null;
  }
  same<DataOf<typeof api.books.retrieve>, Book>(true);
  same<DataOf<typeof api.books.list>['results'], Book[]>(true);
  same<DataOf<typeof api.books.list>['count'], number>(true);
  same<DataOf<(typeof api)['by-limit']['list']>['count'], null>(true);
  same<DataOf<(typeof api)['by-cursor']['list']>['next_cursor'], string | null>(true);
  same<DataOf<typeof api.unpaged.list>, { id: number; title: string }[]>(true);
  same<DataOf<typeof api.books.destroy>, undefined>(true);
  same<DataOf<typeof api.books.addPages.post>, { pages: number }>(true);
  same<DataOf<typeof api.books.clear.delete>, undefined>(true);
  same<DataOf<typeof api.status.list>, { since: string; isUp: boolean }>(true);
  same<DataOf<typeof api.books.featured>['results'][0]['price'], number | null>(true);
  for await (const { title } of api.books.each()) title.trim();
});

t.test('a JSON column with a declared schema', async () => {
  const Place = defineEntity({ name: 'Place', properties: { id: p.integer().primary(), spot: p.json().nullable() } });
  const spot = Type.Object({ x: Type.Number() });
  class PlaceViewSet extends ModelViewSet(Place, {
    read: readShape(Place, ['id'], { spot }),
    write: writeShape(Place, [], { spot }),
  }) {}
  const router = new Router().register('places', PlaceViewSet);
  const { places } = createClient<typeof router>(options);
  same<DataOf<typeof places.retrieve>, { id: number; spot: { x: number } | null }>(true);
  same<DataOf<typeof places.list>['results'][0], DataOf<typeof places.retrieve>>(true);
  same<Parameters<typeof places.create>[0], { spot: { x: number } }>(true);
});

t.test('records of several shapes', async () => {
  type Brief = { id: number; title: string };
  type Staff = { id: number; pages: number };
  type Whole = DataOf<typeof api.books.retrieve>;
  same<DataOf<typeof api.shaped.list>['results'][0], Brief>(true);
  same<DataOf<typeof api.shaped.retrieve>, Whole>(true);
  same<DataOf<typeof api.shaped.create>, Whole>(true);
  same<DataOf<typeof api.shaped.update>, { id: number }>(true);
  same<DataOf<typeof api.shaped.replace>, { id: number }>(true);
  same<DataOf<(typeof api)['by-user']['list']>['results'][0], Brief | Staff>(true);
  same<DataOf<(typeof api)['by-user']['retrieve']>, Whole | Staff>(true);
});

t.test('fields selected by literal names are those of the response type', async (t) => {
  type Brief = { id: number; title: string };
  type Publisher = { id: number; name: string } | null;
  // Written down only, not called.
  const calls = async (): Promise<void> => {
    const { selecting } = api;
    const names: ('publisher' | 'label')[] = [];
    const plain = (await selecting.list()).results[0]!;
    same<typeof plain, Brief>(true);
    same<DataOf<typeof selecting.list>['results'][number], Brief>(true);
    same<DataOf<typeof selecting.retrieve>['price'], number | null>(true);
    same<DataOf<typeof selecting.update>, DataOf<typeof selecting.replace>>(true);
    same<DataOf<typeof selecting.destroy>, undefined>(true);
    same<DataOf<typeof selecting>, never>(true);
    const listed = (await selecting.list({ expand: ['publisher', 'label'], page: 2 })).results[0]!;
    same<typeof listed, Brief & { publisher: Publisher; label: string }>(true);
    const record = await selecting.retrieve(1, { expand: 'publisher' });
    same<(typeof record)['publisher'], Publisher>(true);
    same<(typeof record)['price'], number | null>(true);
    const some = await selecting.retrieve(1, { expand: ['label'], fields: ['id', 'label'] });
    same<typeof some, { id: number; label: string }>(true);
    const made = await selecting.create({ title: 'Tea' }, { query: { fields: ['id'] } });
    same<typeof made, { id: number }>(true);
    const changed = await selecting.update.safe(1, {}, { query: { expand: ['publisher'] } });
    if (changed.ok) same<(typeof changed.data)['publisher'], Publisher>(true);
    for await (const each of selecting.each({ expand: ['label'], fields: ['id', 'label'], pageSize: 2 })) {
      same<typeof each, { id: number; label: string }>(true);
      // @ts-expect-error a field that was not asked for
      void each.title;
    }
    for await (const each of selecting.each()) same<typeof each, Brief>(true);
    for await (const each of selecting.each({ expand: names })) same<(typeof each)['label'], string | undefined>(true);
    // @ts-expect-error no such field to add
    selecting.each({ expand: ['publishr'] });
    // @ts-expect-error a view that lets nobody choose
    api.books.each({ fields: ['id'] });
    const whole = await selecting.replace(1, { title: 'Tea' }, { ifMatch: true });
    same<(typeof whole)['publisher'], string | null>(true);
    const maybe = await selecting.retrieve(1, { expand: names });
    same<(typeof maybe)['label'], string | undefined>(true);
    // @ts-expect-error no such field to add
    await selecting.retrieve(1, { expand: ['publishr'] });
    // @ts-expect-error no such field
    await selecting.list({ fields: ['prise'] });
    // @ts-expect-error no such parameter
    await selecting.list({ expnd: ['label'] });
    // @ts-expect-error a field that was not asked for
    void some.title;
    // @ts-expect-error a view that lets nobody choose
    await api.books.retrieve(1, { fields: ['id'] });
  };
  t.type(calls, 'function');
});

t.test('bodies, keys and operations', async (t) => {
  // Written down only, not called.
  const calls = async (): Promise<void> => {
    await api.books.create({ title: 'Tea', price: 4.5 });
    await api.books.update(1, {});
    await api.books.replace('1', { title: 'Tea', price: null }, { ifMatch: true, retries: 1 });
    // @ts-expect-error a missing field
    await api.books.create({ price: 1 });
    // @ts-expect-error PUT needs every required field
    await api.books.replace(1, { price: 1 });
    // @ts-expect-error a field of another type
    await api.books.update(1, { price: '1' });
    // @ts-expect-error no such field
    await api.books.update(1, { prise: 1 });
    // @ts-expect-error no key
    await api.books.retrieve();
    // @ts-expect-error no key
    await api.books.destroy({});
    // @ts-expect-error options are not a query
    await api.books.retrieve(1, { signal: AbortSignal.timeout(1) });
    // @ts-expect-error a view with no such operation
    await api['shelf/publishers'].update(1, {});
    // @ts-expect-error a view without an entity has its own operations alone
    await api.status.retrieve(1);
    // @ts-expect-error a read-only view
    await api['by-cursor'].create({});
    // @ts-expect-error no such view
    await api.boks.list();
    // @ts-expect-error ifMatch is of one record
    await api.books.create({ title: 'Tea' }, { ifMatch: true });
  };
  t.type(calls, 'function');
});

t.test('several records in one request', async (t) => {
  type Made = DataOf<typeof api.many.create>;
  same<DataOf<typeof api.many.createMany>, Made[]>(true);
  same<DataOf<typeof api.many.updateMany>, Made[]>(true);
  same<DataOf<typeof api.many.destroyMany>, undefined>(true);
  same<Parameters<typeof api.named.updateMany>[0][number], { readonly name: string }>(true);
  type Failed = Exclude<Awaited<ReturnType<typeof api.many.updateMany.safe>>, { ok: true }>['status'];
  same<[404 | 409 | 412, 428] extends [Failed, infer Status] ? Extract<Status, Failed> : 'none', never>(true);
  // Written down only, not called.
  const calls = async (): Promise<void> => {
    const { many } = api;
    await many.createMany([{ title: 'Tea' }, { title: 'Ash', price: 5 }]);
    await many.updateMany([{ id: 1, title: 'Tea' }], { headers: {} });
    await many.destroyMany([1, '2', 3n]);
    const [some] = await many.createMany([], { query: { expand: ['publisher'], fields: ['id', 'publisher'] } });
    same<typeof some, { id: number; publisher: { id: number; name: string } | null } | undefined>(true);
    // @ts-expect-error one record is no list
    await many.createMany({ title: 'Tea' });
    // @ts-expect-error a missing field
    await many.createMany([{ price: 5 }]);
    // @ts-expect-error a record without its key
    await many.updateMany([{ title: 'Tea' }]);
    // @ts-expect-error a key of another type
    await many.updateMany([{ id: '1', title: 'Tea' }]);
    // @ts-expect-error no such field
    await many.updateMany([{ id: 1, titel: 'Tea' }]);
    // @ts-expect-error ifMatch is of one record
    await many.updateMany([], { ifMatch: true });
    // @ts-expect-error no keys
    await many.destroyMany();
    // @ts-expect-error the view is named by another field
    await api.named.updateMany([{ id: 1 }]);
    // @ts-expect-error the view does not allow it
    await api.named.createMany([{ name: 'East' }]);
    // @ts-expect-error a view without bulk
    await api.books.createMany([{ title: 'Tea' }]);
  };
  t.type(calls, 'function');
});

t.test('a list as a file', async (t) => {
  same<Parameters<typeof api.many.exportAs>[0], 'csv' | 'ndjson'>(true);
  same<DataOf<typeof api.many.exportAs>, never>(true);
  // Written down only, not called.
  const calls = async (): Promise<void> => {
    const answer = await api.many.exportAs('csv', { expand: ['publisher'] }, { headers: {} });
    same<typeof answer, Response>(true);
    const safe = await api.many.exportAs.safe('ndjson');
    if (safe.ok) same<typeof safe.data, Response>(true);
    // @ts-expect-error no such form
    await api.many.exportAs('xlsx');
    // @ts-expect-error a list as a file has no pages
    await api.many.exportAs('csv', { page: 2 });
    // @ts-expect-error a view without exports
    await api.books.exportAs('csv');
  };
  t.type(calls, 'function');
});

t.test('views below a record of another one', async (t) => {
  const below = api['shelf/publishers'](1);
  same<keyof typeof below, 'books'>(true);
  same<ListOf<typeof below.books.list>, ListOf<typeof api.books.list>>(true);
  same<DataOf<typeof below.books.retrieve>, DataOf<typeof api.books.retrieve>>(true);
  same<Parameters<typeof below.books.create>[0]['title'], string>(true);
  // @ts-expect-error the path says it
  await below.books.create({ title: 'Ash', publisher: 1 });
  type Failed = Exclude<Awaited<ReturnType<typeof below.books.list.safe>>, { ok: true }>['status'];
  same<404 extends Failed ? true : false, true>(true);
  type FlatFailed = Exclude<Awaited<ReturnType<typeof api.books.list.safe>>, { ok: true }>['status'];
  same<404 extends FlatFailed ? true : false, false>(true);
  // @ts-expect-error nothing is nested there
  t.throws(() => api.books(1).list());
  // @ts-expect-error a path is not a view
  same<never, (typeof api)['shelf/publishers/:publisher/books']>(true);
  const described = describeApi<Api>();
  const client = createClient<typeof described>(options);
  same<keyof ReturnType<(typeof client)['shelf/publishers']>, 'books'>(true);
  type Routes = (typeof described)['books'];
  const deep = createClient<{ a: Routes; 'a/:b/c/d': Routes; 'a/:b/c/d/:e/f': Routes; 'a/:b/g': Routes }>(options);
  same<keyof ReturnType<typeof deep.a>, 'c/d' | 'g'>(true);
  const inner = deep.a(1)['c/d'](2);
  same<keyof typeof inner, 'f'>(true);
  t.strictSame(inner.f.key(), ['/api/a/1/c/d/2/f']);
});

t.test('actions', async (t) => {
  const calls = async (): Promise<void> => {
    await api.books.shelve.post(1, undefined, { query: { shelf: 'A' } });
    // @ts-expect-error a query that is required
    await api.books.shelve.post(1);
    await api.books.featured({ sort: '-price', page_size: 5 }, { signal: AbortSignal.timeout(1) });
    // @ts-expect-error a parameter that is required
    await api.books['/lists/top_ten']({});
    // @ts-expect-error the list's parameters are not the action's
    await api.books['/lists/top_ten']({ titles: [], sort: 'price' });
    // @ts-expect-error a bare text would be the key of a record
    await api.books.importText.post('x,y');
    // @ts-expect-error no such action
    await api.books.feature();
    // @ts-expect-error it answers GET alone
    await api.books.featured.post();
    // @ts-expect-error it does not answer GET
    await api.books.addPages(1);
    // @ts-expect-error it is about one record
    await api.books.addPages.post({ pages: 1 });
    // @ts-expect-error a body of another type
    await api.books.addPages.post(1, { pages: '1' });
    // @ts-expect-error an action with a path of its own goes by it
    await api.books.topTen({ titles: [] });
    // @ts-expect-error `each` is the walk over the list
    await api.books.each().titles;
  };
  t.type(calls, 'function');
});

t.test('the walk over pages needs the names that it cannot know', async (t) => {
  const walks = [
    () => api.books.each({ pageSize: 10, sort: 'id' }),
    // @ts-expect-error pages are its own business
    () => api.books.each({ page: 2 }),
    // @ts-expect-error the names of limit and offset
    () => api['by-limit'].each({ pageSize: 10 }),
    // @ts-expect-error misspelt
    () => api['by-limit'].each({}, { paging: { offset: 'ofset', pageSize: 'limit' } }),
    // @ts-expect-error a list without pages
    () => api.unpaged.each({ pageSize: 10 }),
  ];
  t.equal(walks.length, 5);
});

t.test('an API that is described is the API', async (t) => {
  const described = describeApi<Api>();
  const client = createClient<typeof described>(options);
  same<typeof client.books, typeof api.books>(true);
  same<ListOf<typeof client.loans.list>, ListOf<typeof api.loans.list>>(true);
  same<DataOf<typeof client.books.addPages.post>, { pages: number }>(true);
  // @ts-expect-error no such parameter
  await client.books.list({ serach: 'x' });
  t.strictSame(described, {});
});

t.test('filters of a view', async (t) => {
  class InPrintFilter extends Filter {
    static override readonly reads = [];
    readonly parameters = [{ name: 'in_print', schema: Type.Boolean() }];
    apply<E extends object>(queryset: QuerySet<E>): QuerySet<E> {
      return queryset;
    }
  }
  const declared = {
    read: readShape(Book, ['id', 'title']),
    searchFields: ['title'],
    orderingFields: { title: 'title' },
  } as const;
  class MoreViewSet extends ModelViewSet(Book, {
    ...declared,
    filterFields: { pages: 'pages__gt' },
    filters: [...DEFAULT_FILTERS, InPrintFilter],
  }) {}
  class FewerViewSet extends ModelViewSet(Book, {
    ...declared,
    filters: [SearchFilter, OrderingFilter, InPrintFilter],
  }) {}
  const router = new Router().register('more', MoreViewSet).register('fewer', FewerViewSet);
  const client = createClient<typeof router>(options);
  same<keyof ListOf<typeof client.more.list>, 'search' | 'filter' | 'pages' | 'sort' | 'page' | 'page_size'>(true);
  same<keyof ListOf<typeof client.fewer.list>, 'search' | 'sort' | 'page' | 'page_size'>(true);
  // A filter of one's own tells its parameters when the server starts, not before.
  await client.fewer.list({ search: 'x' }, { query: { in_print: true } });
  t.ok(client.more);
});

t.test('a path that is not a literal does not hide other views', async (t) => {
  const path: string = 'some/where';
  const router = new Router().register('books', BookViewSet).register(path, BookViewSet);
  const client = createClient<typeof router>(options);
  same<keyof typeof client, 'books'>(true);
  t.ok(client.books);
});

t.test('a router whose register() calls are not chained has no typed views', async (t) => {
  const router = new Router({ prefix: 'api' });
  router.register('books', BookViewSet);
  const client = createClient<typeof router>(options);
  same<typeof client, 'the type of this router has no views: chain its register() calls'>(true);
  t.ok(client);
  // @ts-expect-error Property 'books' does not exist on type '"the type of this router has no views: …"'
  void client.books;
});

t.test('errors', async (t) => {
  const judge = async (): Promise<string | number> => {
    const answer = await api.books.addPages.post.safe(1, { pages: 5 });
    if (answer.ok) return answer.data.pages;
    // @ts-expect-error a status that the route cannot have
    if (answer.status === 418) return 'teapot';
    if (answer.status === 402) return answer.error.body.owed;
    if (answer.status === 409 && answer.error.code === 'conflict') return answer.error.body.error;
    // @ts-expect-error the data of a failure
    return answer.data;
  };
  const read = await0<typeof api.books.list.safe>();
  // @ts-expect-error a list has no conflicts
  if (!read.ok && read.status === 409) t.fail();
  type Refused = Exclude<Awaited<ReturnType<typeof api.books.retrieve.safe>>, { ok: true }>['status'];
  same<[412 | 422 | 431] extends [Refused] ? true : false, true>(true);
  same<Extract<Answer<never>, { ok: true }>['ok'], true>(true);
  t.type(judge, 'function');
});

t.test('related records', async () => {
  const Shelf = defineEntity({
    name: 'Shelf',
    properties: { id: p.integer().primary(), jars: () => p.oneToMany(Jar).mappedBy('shelf') },
  });
  const Jar = defineEntity({
    name: 'Jar',
    properties: { id: p.bigint().primary(), name: p.string().nullable(), shelf: () => p.manyToOne(Shelf) },
  });
  const read = readShape(Shelf, ['id'], { jars: many(readShape(Jar, ['id', 'name'])), names: many('jars.name') });
  class ShelfViewSet extends ModelViewSet(Shelf, { read }) {}
  const router = new Router().register('shelves', ShelfViewSet);
  const { shelves } = createClient<typeof router>(options);
  type Shown = { id: number; jars: { id: string; name: string | null }[]; names: (string | null)[] };
  same<DataOf<typeof shelves.retrieve>, Shown>(true);
  same<DataOf<typeof shelves.list>['results'][number], Shown>(true);
});

function await0<Call extends (...args: never) => Promise<unknown>>(): Awaited<ReturnType<Call>> {
  return { ok: true } as Awaited<ReturnType<Call>>;
}

t.test('exists() and count() fields', async () => {
  class Shelf extends ModelViewSet(Keeper, {
    read: readShape(Keeper, ['id'], { is_used: exists('keys'), keys_count: count('keys') }),
    filterFields: {
      id: 'id',
      is_used: exists('keys', () => ({ label: 'front' })),
      keys_count: count('keys'),
      min_keys: [count('keys'), 'gte'],
      some_keys: [count('keys'), 'in'],
    },
    orderingFields: { keys: count('keys') },
  }) {}
  const router = new Router().register('shelves', Shelf);
  const shelves = createClient<typeof router>(options).shelves;
  type List = ListOf<typeof shelves.list>;
  same<List['is_used'], boolean | undefined>(true);
  same<List['keys_count'], number | undefined>(true);
  same<List['min_keys'], number | undefined>(true);
  same<List['some_keys'], readonly number[] | undefined>(true);
  same<List['sort'], 'keys' | '-keys' | readonly ('keys' | '-keys')[] | undefined>(true);
  type Item = Awaited<ReturnType<typeof shelves.retrieve>>;
  same<Item['is_used'], boolean>(true);
  same<Item['keys_count'], number>(true);
  await shelves.list({ filter: { '==': [{ var: 'id' }, 1] } });
  // @ts-expect-error -- not a field of JSON Logic
  await shelves.list({ filter: { '==': [{ var: 'keys_count' }, 1] } });
});

const Key = defineEntity({
  name: 'Key',
  properties: { id: p.integer().primary(), label: p.string(), keeper: () => p.manyToOne(Keeper) },
});

const Keeper = defineEntity({
  name: 'Keeper',
  properties: { id: p.integer().primary(), keys: () => p.oneToMany(Key).mappedBy('keeper') },
});

t.test('a body may have any of several shapes', async () => {
  class ByRoleViewSet extends ModelViewSet(Book, {
    read: readShape(Book, ['id']),
    write: {
      create: writeShape(Book, ['title', 'price']),
      update: writeShape(Book, ['title']),
      staff: writeShape(Book, ['title', 'pages', 'publisher'], {}, { required: ['pages'] }),
    },
    bulk: 5,
  }) {
    override writeShapeFor() {
      return undefined;
    }
  }
  class PublisherViewSet extends ModelViewSet(Publisher, { read: readShape(Publisher, ['id']) }) {}
  const routes = () =>
    new Router()
      .register('books', ByRoleViewSet)
      .register('publishers', PublisherViewSet)
      .register('publishers/:publisher/books', ByRoleViewSet);
  const { books, publishers } = createClient<ReturnType<typeof routes>>(options);
  const below = publishers(1).books;
  await books.create({ title: 'Ash', price: 5 });
  await books.create({ title: 'Ash', pages: 7, publisher: 1 });
  await books.createMany([
    { title: 'Ash', price: 5 },
    { title: 'Birch', pages: 7 },
  ]);
  await books.update(1, { pages: 7 });
  await books.replace(1, { title: 'Ash' });
  await below.create({ title: 'Ash', pages: 7 });
  // @ts-expect-error no shape has this alone
  await books.create({ pages: 7 });
  // @ts-expect-error the price is of create alone
  await books.replace(1, { title: 'Ash', price: 5 });
  // @ts-expect-error the path says it
  await below.create({ title: 'Ash', pages: 7, publisher: 1 });
});

const Holder = defineEntity({
  name: 'Holder',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    pass: () => p.oneToOne(Pass).mappedBy('holder').nullable(),
  },
});
const Pass = defineEntity({
  name: 'Pass',
  properties: {
    id: p.integer().primary(),
    code: p.string(),
    note: p.string().nullable(),
    holder: () => p.oneToOne(Holder).owner(),
  },
});

t.test('the object of a nested record has the type of the method', async () => {
  class HolderViewSet extends ModelViewSet(Holder, {
    read: readShape(Holder, ['id']),
    write: writeShape(Holder, ['name'], { pass: nested(writeShape(Pass, ['code', 'note']), { update: true }) }),
    bulk: 5,
  }) {}
  const routes = () => new Router().register('holders', HolderViewSet);
  const { holders } = createClient<ReturnType<typeof routes>>(options);
  await holders.create({ name: 'a', pass: { code: 'x' } });
  await holders.create({ name: 'a', pass: null });
  await holders.replace(1, { name: 'a', pass: { id: 3, code: 'x', note: null } });
  await holders.update(1, { pass: { note: 'lost' } });
  await holders.update(1, { pass: null });
  await holders.updateMany([{ id: 1, pass: { id: 3, note: 'lost' } }]);
  // @ts-expect-error a new record has a code
  await holders.create({ name: 'a', pass: { note: 'x' } });
  // @ts-expect-error a new record has no key
  await holders.create({ name: 'a', pass: { id: 3, code: 'x' } });
  // @ts-expect-error a PUT is complete
  await holders.replace(1, { name: 'a', pass: { note: 'x' } });
  // @ts-expect-error misspelt
  await holders.update(1, { pass: { cod: 'x' } });
});

const Lamp = defineEntity({ name: 'Lamp', properties: { id: p.integer().primary(), data: p.json() } });

t.test('filters by values in JSON', async () => {
  const data = Type.Object({
    color: Type.Enum(['red', 'blue']),
    size: Type.Object({ width: Type.Number(), flat: Type.Boolean() }),
  });
  class LampViewSet extends ModelViewSet(Lamp, {
    read: readShape(Lamp, ['id']),
    filterFields: {
      color: inJson('data', ['color'], data),
      widths: [inJson('data', ['size', 'width'], data), 'in'],
      flat: inJson('data', ['size', 'flat'], data),
      note: [inJson('data', ['note'], Type.String()), 'icontains'],
    },
    orderingFields: { width: inJson('data', ['size', 'width'], data) },
  }) {}
  class RuledViewSet extends ModelViewSet(Lamp, {
    read: readShape(Lamp, ['id']),
    jsonLogicFields: ['id', inJson('data', ['size', 'width'], data)],
  }) {}
  const routes = () => new Router().register('lamps', LampViewSet).register('ruled', RuledViewSet);
  const { lamps, ruled } = createClient<ReturnType<typeof routes>>(options);
  await lamps.list({ color: 'red', widths: [1, 2.5], flat: true, note: 'x', sort: '-width' });
  await lamps.list({
    filter: { and: [{ '==': [{ var: 'data.color' }, 'red'] }, { '>': [{ var: 'data.size.width' }, 1] }] },
  });
  await ruled.list({ filter: { '>': [{ var: 'data.size.width' }, 1] } });
  // @ts-expect-error not listed
  await ruled.list({ filter: { '==': [{ var: 'data.color' }, 'red'] } });
  // @ts-expect-error misspelt
  await lamps.list({ filter: { '==': [{ var: 'data.colour' }, 'red'] } });
  // @ts-expect-error no such color
  await lamps.list({ color: 'green' });
  // @ts-expect-error numbers
  await lamps.list({ widths: ['1'] });
  const lamp = readShape(Lamp, ['id']);
  // @ts-expect-error a boolean has no order
  ModelViewSet(Lamp, { read: lamp, filterFields: { flat: [inJson('data', ['size', 'flat'], data), 'gte'] } });
  // @ts-expect-error misspelt
  ModelViewSet(Lamp, { read: lamp, filterFields: { color: inJson('dta', ['color'], data) } });
});
