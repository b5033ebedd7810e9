import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { LIBRARY } from '../../core/test/support/library.ts';
import { ApiError, createClient } from '../src/index.ts';
import { type Api, Loan } from './support/library-router.ts';
import { startLibrary } from './support/library-server.ts';

forEachDatabase(t, { entities: [...LIBRARY, Loan] }, async (t, orm) => {
  const url = await startLibrary(t, orm);
  const requests: string[] = [];
  const api = createClient<Api>({
    url: `${url}/api/`,
    fetch: (address, init) => {
      requests.push(`${init.method} ${decodeURIComponent(address.slice(url.length)).replaceAll('+', ' ')}`);
      return fetch(address, init);
    },
  });
  const titles = (page: { readonly results: readonly { readonly title: string }[] }) =>
    page.results.map(({ title }) => title);
  const last = () => requests.at(-1);

  await t.test('a list takes every parameter that its view declares', async (t) => {
    const page = await api.books.list({ search: 'a', sort: ['-price', 'title'], page_size: 2, min_price: undefined });
    t.equal(last(), 'GET /api/books?search=a&sort=-price,title&page_size=2');
    t.strictSame([page.count, page.next, page.previous], [3, true, false]);
    t.strictSame(page.results.length, 2);
    t.strictSame(titles(await api.books.list({ ids: [1, 3], pages: [1, 100] })), ['Ash']);
    t.equal(last(), 'GET /api/books?ids=1,3&pages=1,100');
    t.strictSame(titles(await api.books.list({ no_price: true })), ['Date']);
    t.strictSame(titles(await api.books.list({ publisher: 2, house: 'SOUTH', min_price: 6 })), ['Cedar']);
    t.strictSame(titles(await api.books.list({ published_after: new Date(0) })), []);
    t.equal(last(), 'GET /api/books?published_after=1970-01-01T00:00:00.000Z');
    const filter = { and: [{ '>=': [{ var: 'price' }, 10] }, { in: ['ir', { var: 'publisher.name' }] }] } as const;
    await t.rejects(api.books.list({ filter: { '==': [{ var: 'publisher.name' }, { a: 1 } as never] } }), {
      code: 'invalid_usage',
      status: 400,
    });
    t.strictSame((await api.books.list({ filter })).count, 0);
    t.equal(last(), `GET /api/books?filter=${JSON.stringify(filter)}`);
    t.equal((await api.books.list({}, { query: { search: 'ash' } })).count, 1, 'what the types do not know');
  });

  await t.test('fields are chosen by lists of names, of readings and of writes', async (t) => {
    const { selecting } = api;
    const { results } = await selecting.list({ expand: ['publisher', 'label'], fields: ['id', 'label', 'publisher'] });
    t.strictSame(results[0], { id: 1, publisher: { id: 1, name: 'North' }, label: 'Ash' });
    t.strictSame(await selecting.retrieve(1, { expand: ['label'], fields: 'label' }), { label: 'Ash' });
    const changed = await selecting.update(
      1,
      {},
      { query: { expand: ['publisher', 'label'], fields: ['label', 'id'] } },
    );
    t.strictSame(changed, { id: 1, label: 'Ash' });
    const labels: string[] = [];
    for await (const record of selecting.each({ expand: ['label'], fields: ['label'], pageSize: 2 })) {
      t.strictSame(Object.keys(record), ['label']);
      labels.push(record.label);
    }
    t.strictSame(labels, ['Ash', 'Birch', 'Cedar', 'Date', 'Elm']);
    t.equal(last(), 'GET /api/selecting?expand=label&fields=label&page_size=2&page=3');
    t.strictSame(selecting.retrieve.key(1, { fields: ['id', 'title'] }).at(-1), { fields: ['id', 'title'] });
  });

  await t.test('an empty list in a query throws instead of returning all records', async (t) => {
    const before = requests.length;
    await t.rejects(api.books.list({ ids: [] }), { name: 'TypeError', message: /"ids" is an empty list/ });
    t.equal(requests.length, before);
  });

  await t.test('a record is created, retrieved, replaced, updated and destroyed', async (t) => {
    const made = await api.books.create({ title: 'Fir / Ö', price: 12.5, publisher: 1 });
    t.match(made, { title: 'Fir / Ö', price: 12.5, publisher: 'North', published_at: null });
    t.strictSame(await api.books.retrieve(made.id), made);
    t.strictSame(await api.books.retrieve(BigInt(made.id)), made);
    t.match(await api.books.replace(made.id, { title: 'Gorse', published_at: '2026-01-02T03:04:05.000Z' }), {
      title: 'Gorse',
      published_at: '2026-01-02T03:04:05.000Z',
    });
    t.match(await api.books.update(String(made.id), { price: 3 }), { title: 'Gorse', price: 3 });
    t.equal(last(), `PATCH /api/books/${made.id}`);
    t.equal(await api.books.destroy(made.id), undefined);
    t.equal(last(), `DELETE /api/books/${made.id}`);
    await t.rejects(api.books.retrieve(made.id), { status: 404, code: 'not_found' });
  });

  await t.test('a list can be exported as a file, whose body is not read', async (t) => {
    const csv = await api.many.exportAs('csv', { sort: '-id', expand: ['publisher'], fields: ['id', 'publisher'] });
    t.equal(last(), 'GET /api/many.csv?sort=-id&expand=publisher&fields=id,publisher');
    t.match(csv.headers.get('content-disposition'), /filename="many\.csv"/);
    t.equal(csv.bodyUsed, false);
    t.match(await csv.text(), /^id,publisher\.id,publisher\.name\r\n5,/);
    const lines = await (await api.many.exportAs('ndjson')).text();
    t.equal(lines.split('\n').length, 6, 'all five, and the end of the last line');
    const refused = await api.many.exportAs.safe('csv', { sort: 'size' } as never);
    t.match(refused, { ok: false, status: 400, error: { details: [{ path: '/sort' }] } });
  });

  await t.test('several records are created, updated and destroyed in one request', async (t) => {
    const { many, named } = api;
    const made = await many.createMany([{ title: 'Fig' }, { title: 'Gorse', price: 4, publisher: 1 }]);
    t.match(made, [
      { title: 'Fig', publisher: null },
      { title: 'Gorse', price: 4, publisher: 'North' },
    ]);
    t.equal(last(), 'POST /api/many');
    const [fig, gorse] = made.map(({ id }) => id) as [number, number];
    const query = { expand: ['publisher'], fields: ['title', 'publisher'] } as const;
    const changed = await many.updateMany(
      [
        { id: gorse, publisher: 2 },
        { id: fig, title: 'Fir' },
      ],
      { query },
    );
    t.strictSame(changed, [
      { title: 'Gorse', publisher: { id: 2, name: 'South' } },
      { title: 'Fir', publisher: null },
    ]);
    t.equal(last(), 'PATCH /api/many?expand=publisher&fields=title,publisher');
    const refused = await many.updateMany.safe([
      { id: fig, title: 'Fig' },
      { id: gorse, price: -0.001 },
    ]);
    t.match(refused, { ok: false, status: 400, error: { details: [{ in: 'body', path: '/1/price' }] } });
    const absent = await many.updateMany.safe([{ id: fig }, { id: 999 }]);
    t.match(absent, { ok: false, status: 404, error: { details: [{ in: 'body', path: '/1/id' }] } });
    await t.rejects(many.createMany([{ title: '1' }, { title: '2' }, { title: '3' }, { title: '4' }]), {
      code: 'invalid_usage',
    });
    t.equal((await many.retrieve(fig)).title, 'Fir', 'all or nothing');
    t.equal(await many.destroyMany([fig, BigInt(gorse)]), undefined);
    t.equal(last(), `DELETE /api/many?pk=${fig},${gorse}`);
    t.match(await many.destroyMany.safe([1, fig]), { ok: false, status: 404, error: { details: [{ path: '/pk' }] } });
    await t.rejects(many.destroyMany([]), { name: 'TypeError', message: /"pk" is an empty list/ });
    await api.named.create({ name: 'East & West' });
    await api.named.create({ name: 'East, or West' });
    await named.destroyMany(['East & West', 'East, or West']);
    t.equal(last(), 'DELETE /api/named?pk=East & West,East, or West', 'of which the second comma was encoded');
  });

  await t.test('a key is encoded, and cannot change the path', async (t) => {
    await t.rejects(api.books.retrieve('a/b?c#d'), { code: 'not_found', status: 404 });
    t.equal(last(), 'GET /api/books/a/b?c#d', 'which was a%2Fb%3Fc%23d');
    const before = requests.length;
    for (const key of ['', '.', '..', undefined as never, {} as never]) {
      await t.rejects(api.books.destroy(key), { name: 'TypeError', message: /is no key of a record/ });
    }
    t.equal(requests.length, before);
  });

  await t.test('actions go by their names, their methods and their paths', async (t) => {
    t.match(await api.books.featured({ sort: '-title', ids: '1,2,3' }), {
      results: [{ title: 'Cedar' }, { title: 'Birch' }],
    });
    t.equal(last(), 'GET /api/books/featured?sort=-title&ids=1,2,3');
    t.strictSame(await api.books.addPages.post(1, { pages: 11 }), { pages: 111 });
    t.equal(last(), 'POST /api/books/1/add-pages');
    t.strictSame(await api.books.addPages.put(1, { pages: 1 }), { pages: 112 });
    t.strictSame(await api.books['/lists/top_ten']({ titles: ['a,b', 'c'] }), { titles: ['a,b', 'c'] });
    t.equal(last(), 'GET /api/books/lists/top_ten?titles=a,b&titles=c');
    t.strictSame(await api.books['/each'](), { titles: ['each'] });
    t.strictSame(await api.books.importText.post(new Blob(['x\ny'], { type: 'text/csv' })), { titles: ['x', 'y'] });
    t.equal(await api.books.clear.delete(), undefined);
    t.equal(last(), 'DELETE /api/books/clear');
  });

  await t.test('a write may have a query string', async (t) => {
    t.strictSame(await api.books.shelve.post(3, undefined, { query: { shelf: 'B', row: 2 } }), { place: '3@B2' });
    t.equal(last(), 'POST /api/books/3/shelve?shelf=B&row=2');
  });

  await t.test('filter values have the type of their field, for every kind', async (t) => {
    const id = 2n ** 62n + 1n;
    const ticket = '0189d3a4-7e5c-7cc3-98c4-dc0c0c07398f';
    const lentAt = new Date('2026-03-01T10:00:00.000Z');
    const loan = { id: String(id), state: 'late', fee: '1234567890.25', due: '2026-04-01', ticket } as const;
    const made = await api.loans.create({ ...loan, lent_at: lentAt.toISOString() });
    t.match(made, { ...loan, lent_at: lentAt.toISOString(), is_paid: false });
    t.strictSame(await api.loans.retrieve(id), made);
    const found = [
      { id },
      { ids: [id, 5n] },
      { state: 'late' },
      { states: ['late', 'over'] },
      { min_fee: '1234567890.25' },
      { due: ['2026-03-31', '2026-04-01'] },
      { lent_before: new Date(lentAt.getTime() + 1) },
      { lent: [lentAt, '2026-03-02T00:00:00Z'] },
      { tickets: [ticket] },
      { is_paid: false },
      { no_fee: false },
    ] as const;
    for (const filter of found) t.equal((await api.loans.list(filter)).count, 1, JSON.stringify(Object.keys(filter)));
    for (const filter of [{ id: id + 1n }, { lent_before: lentAt }, { state: 'open' }, { no_fee: true }] as const) {
      t.equal((await api.loans.list(filter)).count, 0, JSON.stringify(Object.keys(filter)));
    }
  });

  await t.test('each iterates over all records with every paginator', async (t) => {
    const all = ['Ash', 'Birch', 'Cedar', 'Date', 'Elm'];
    const walk = async (records: AsyncIterable<{ readonly title: string }>) => {
      const found: string[] = [];
      for await (const { title } of records) found.push(title);
      return found;
    };
    const before = requests.length;
    t.strictSame(await walk(api.books.each({ pageSize: 2 })), all);
    t.equal(requests.length - before, 3);
    t.equal(last(), 'GET /api/books?page_size=2&page=3');
    t.strictSame(await walk(api.books.each({ search: 'a', sort: '-title', pageSize: 1 })), ['Date', 'Cedar', 'Ash']);
    t.strictSame(await walk(api.books.each()), all);
    t.strictSame(await walk(api['by-cursor'].each({ pageSize: 2, sort: '-title' })), all.toReversed());
    t.match(last(), /^GET \/api\/by-cursor\?sort=-title&page_size=2&cursor=/);
    const byLimit = api['by-limit'].each({ pageSize: 2 }, { paging: { offset: 'offset', pageSize: 'limit' } });
    t.strictSame(await walk(byLimit), all);
    t.equal(last(), 'GET /api/by-limit?limit=2&offset=4');
    t.strictSame(await walk(api.unpaged.each({ sort: '-title' })), all.toReversed());
    t.strictSame(await walk(api.renamed.each({ pageSize: 4 }, { paging: { page: 'p', pageSize: 'n' } })), all);
    t.equal(last(), 'GET /api/renamed?n=4&p=2');
    const asked = requests.length;
    for await (const { title } of api.books.each({ pageSize: 2 })) if (title === 'Ash') break;
    t.equal(requests.length - asked, 1, 'a page is asked for when the one before it was taken');
  });

  await t.test('the pages of every paginator have their form', async (t) => {
    t.strictSame((await api['by-limit'].list({ limit: 1, offset: 1 })).count, null);
    const first = await api['by-cursor'].list({ page_size: 4 });
    t.equal((await api['by-cursor'].list({ page_size: 4, cursor: first.next_cursor! })).results.length, 1);
    t.equal((await api.unpaged.list()).at(-1)?.title, 'Elm');
    t.strictSame(titles(await api.renamed.list({ q: 'elm', p: 1, n: 5 })), ['Elm']);
  });

  await t.test('a path with slashes, and a view without an entity', async (t) => {
    t.match(await api['shelf/publishers'].list(), { results: [{ name: 'North' }, { name: 'South' }] });
    const { since, isUp } = await api.status.list();
    t.strictSame([since, isUp], ['1970-01-01T00:00:00.000Z', true]);
  });

  await t.test('views below a record of another one', async (t) => {
    const below = api['shelf/publishers'](2).books;
    t.strictSame(titles(await below.list({ search: 'e', sort: 'title' })), ['Cedar', 'Elm']);
    t.equal(last(), 'GET /api/shelf/publishers/2/books?search=e&sort=title');
    const made = await below.create({ title: 'Maple' });
    t.equal(made.publisher, 'South');
    t.match(await below.retrieve(made.id), made);
    t.strictSame(await below.addPages.post(made.id, { pages: 3 }), { pages: 3 });
    t.equal(last(), `POST /api/shelf/publishers/2/books/${made.id}/add-pages`);
    await below.destroy(made.id);
    t.strictSame(titles(await below.featured({ min_price: 20 })), ['Cedar']);
    t.strictSame(below.key(), [`${url}/api/shelf/publishers/2/books`]);
    const missing = await api['shelf/publishers'](99).books.list.safe();
    t.equal(missing.status, 404);
    t.throws(() => api['shelf/publishers']('..'), TypeError);
  });

  await t.test('an error is thrown, or given back', async (t) => {
    const error: unknown = await api.books.create({ title: '', price: -1e12 }).catch((thrown: unknown) => thrown);
    if (!(error instanceof ApiError)) throw new Error('an ApiError was expected');
    t.strictSame([error.status, error.code], [400, 'invalid_usage']);
    t.match(error.details, [
      { in: 'body', path: '/title' },
      { in: 'body', path: '/price' },
    ]);
    t.equal(error.request, `POST ${url}/api/books`);
    t.match(error.message, /^Invalid body/);

    const good = await api.books.retrieve.safe(1);
    t.match(good, { ok: true, status: 200, data: { title: 'Ash' } });
    const missing = await api.books.retrieve.safe(999);
    t.match(missing, { ok: false, status: 404, error: { code: 'not_found' } });
    const conflict = await api['shelf/publishers'].create.safe({ name: 'North' });
    t.match(conflict, { ok: false, status: 409, error: { code: 'conflict', details: [{ path: '/name' }] } });
    const owed = await api.books.addPages.post.safe(1, { pages: 1001 });
    if (owed.ok || owed.status !== 402) throw new Error('a 402 was expected');
    t.equal(owed.error.body.owed, 9.5);
  });

  await t.test('keys of a cache are equal for equal requests', async (t) => {
    const key = api.books.list.key({ sort: ['-price', 'id'], ids: [1, 2], search: undefined });
    t.strictSame(key, [`${url}/api/books`, 'list', { sort: ['-price', 'id'], ids: ['1', '2'] }]);
    t.strictSame(api.books.list.key(), api.books.list.key({}));
    t.strictSame(api.books.retrieve.key(5), api.books.retrieve.key(5n));
    t.strictSame(api.books.key(), [`${url}/api/books`]);
    t.strictSame(api.books['/lists/top_ten'].key({ titles: ['a', 'b'] }).at(-1), { titles: ['a', 'b'] });
  });
});

t.test('a client can be awaited and printed like any object', async (t) => {
  const api = createClient<Api>({ url: '/api', fetch: () => t.fail('asked') as never });
  t.equal(await Promise.resolve(api), api);
  t.equal(await Promise.resolve(api.books), api.books);
  t.equal(JSON.stringify(api), '{}');
  t.equal(api.books.list, api.books.list, 'a call is one function');
  t.equal(api.books.featured, api.books.featured);
});
