/** The summary of a view: what is asked for is what the type of the answer has. */
import { ModelViewSet, readShape, Router, serverOptions, viewset } from '@viewset/core';
import { fastify } from 'fastify';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, fillLibrary, LIBRARY, Publisher } from '../../core/test/support/library.ts';
import { createClient, type DataOf, describeApi } from '../src/index.ts';

class Books extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title', 'pages', 'price', 'in_print', 'published_at'], {
    publisher: readShape(Publisher, ['id', 'name']),
  }),
  filterFields: { in_print: 'in_print', ids: 'id__in' },
  orderingFields: { title: 'title' },
  summary: {
    group: ['in_print', 'publisher.name', 'published_at:year'],
    values: { pages: ['sum', 'avg'], price: ['sum'], published_at: ['max'] },
  },
}) {}
class Publishers extends ModelViewSet(Publisher, { read: readShape(Publisher, ['id', 'name']) }) {}

const router = () =>
  new Router({ prefix: 'api' })
    .register('books', Books)
    .register('publishers', Publishers)
    .register('publishers/:publisher/books', Books);
type Api = ReturnType<typeof router>;

/** True if both are the same type; false of `any`, which everything fits. */
type Same<A, B> = 0 extends 1 & A ? false : [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const isOf =
  <A>() =>
  <B>(_value: B, _isSame: Same<A, B>): void => {};

forEachDatabase(t, { entities: LIBRARY, only: ['sqlite'] }, async (t, orm) => {
  await fillLibrary(orm);
  const app = fastify(serverOptions());
  await app.register(viewset, { orm });
  await app.register(router().plugin);
  t.teardown(() => app.close());
  const requests: string[] = [];
  app.addHook('onRequest', async ({ url }) => void requests.push(decodeURIComponent(url)));
  const api = createClient<Api>({ url: `${await app.listen({ port: 0, host: '127.0.0.1' })}/api` });

  t.test('the response has the requested groups and values', async (t) => {
    const { results } = await api.books.summary({
      group: ['publisher.name', 'in_print'],
      sum: 'pages',
      in_print: true,
    });
    t.strictSame(results, [
      { group: { 'publisher.name': 'North', in_print: true }, count: 2, sum: { pages: 300 } },
      { group: { 'publisher.name': 'South', in_print: true }, count: 1, sum: { pages: 300 } },
      { group: { 'publisher.name': null, in_print: true }, count: 1, sum: { pages: 300 } },
    ]);
    const [first] = results;
    isOf<string | null | undefined>()(first?.group['publisher.name'], true);
    isOf<boolean | undefined>()(first?.group.in_print, true);
    isOf<number | null | undefined>()(first?.sum.pages, true);
    // @ts-expect-error nobody has asked for it
    t.equal(first?.sum.price, undefined);
    // @ts-expect-error nor for averages
    t.equal(first?.avg, undefined);
    t.strictSame(await api.books.summary(), { results: [{ group: {}, count: 5 }] });
    t.strictSame(await api.publishers(1).books.summary({ avg: ['pages'], max: ['published_at'] }), {
      results: [{ group: {}, count: 2, avg: { pages: 150 }, max: { published_at: null } }],
    });
    const answer = await api.books.summary.safe({ sum: ['price', 'pages'], ids: '1,2' });
    if (answer.ok) t.equal(answer.data.results[0]?.sum.price, 30);
    t.strictSame(requests, [
      '/api/books/summary?group=publisher.name&group=in_print&sum=pages&in_print=true',
      '/api/books/summary',
      '/api/publishers/1/books/summary?avg=pages&max=published_at',
      '/api/books/summary?sum=price&sum=pages&ids=1,2',
    ]);
    t.strictSame(api.books.summary.key({ sum: 'pages' }).slice(1), ['summary', { sum: ['pages'] }]);
  });
});

t.test('wrong names do not compile', async (t) => {
  const api = createClient<Api>({ url: '/api' });
  type Row = DataOf<typeof api.books.summary>['results'][number];
  const row: Row = {
    group: { 'published_at:year': '2026-01-01' },
    count: 1,
    sum: { price: 1 },
    avg: {},
    min: {},
    max: {},
  };
  const described = createClient<typeof plain>({ url: '/api' });
  const wrong = () => [
    // @ts-expect-error no such group
    api.books.summary({ group: ['title'] }),
    // @ts-expect-error no such period
    api.books.summary({ group: ['published_at:month'] }),
    // @ts-expect-error a value without this aggregate
    api.books.summary({ avg: ['price'] }),
    // @ts-expect-error groups have an order of their own
    api.books.summary({ sort: 'title' }),
    // @ts-expect-error nor pages
    api.books.summary({ page: 1 }),
    // @ts-expect-error no such parameter
    api.books.summary({ gruop: ['in_print'] }),
    // @ts-expect-error a view without one
    api.publishers.summary(),
    // @ts-expect-error the same of plain types
    described.books.summary({ group: ['title'] }),
    described.books
      .summary({ group: ['in_print'], sum: ['pages'] })
      .then(({ results }) => results[0]?.sum.pages?.toFixed()),
  ];
  t.ok(wrong);
  t.equal(row.count, 1);
});
const plain = describeApi<Api>();
