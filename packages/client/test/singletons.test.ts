/** Views whose record follows from the request: their calls take no key. */
import { action, ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { fastify } from 'fastify';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, fillLibrary, LIBRARY, Publisher } from '../../core/test/support/library.ts';
import { createClient, type DataOf } from '../src/index.ts';

class CurrentBook extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
  singleton: () => ({ id: 1 }),
  operations: ['create', 'retrieve', 'update', 'destroy'],
  envelope: { one: 'book' },
  expand: { publisher: readShape(Publisher, ['name']) },
  etags: true,
}) {
  praise = action({ detail: true, methods: ['post'] }, () => ({ praised: true }));
  look = action({ detail: true, answers: 'record' }, async (request) => this.represent(await this.getObject(request)));
}
class MainPublisher extends ModelViewSet(Publisher, {
  read: readShape(Publisher, ['id', 'name']),
  singleton: () => ({ id: 1 }),
}) {}
class PublisherViewSet extends ModelViewSet(Publisher, { read: readShape(Publisher, ['id']) }) {}
class FirstBook extends ModelViewSet(Book, { read: readShape(Book, ['title']), singleton: () => ({ id__lt: 3 }) }) {}

const router = () =>
  new Router({ prefix: 'api' })
    .register('current', CurrentBook)
    .register('publisher', MainPublisher)
    .register('publishers', PublisherViewSet)
    .register('publishers/:publisher/first', FirstBook);
type Api = ReturnType<typeof router>;

forEachDatabase(t, { entities: LIBRARY, only: ['sqlite'] }, async (t, orm) => {
  await fillLibrary(orm);
  const app = fastify(serverOptions());
  await app.register(viewset, { orm });
  await app.register(router().plugin);
  t.teardown(() => app.close());
  const requests: string[] = [];
  app.addHook('onRequest', async ({ method, url }) => void requests.push(`${method} ${url}`));
  const api = createClient<Api>({ url: `${await app.listen({ port: 0, host: '127.0.0.1' })}/api` });
  const signal = new AbortController().signal;

  t.test('calls have no key', async (t) => {
    const { book } = await api.current.retrieve();
    t.strictSame(book, { id: 1, title: 'Ash' });
    t.equal((await api.current.retrieve({ expand: 'publisher' })).book.publisher?.name, 'North');
    t.equal((await api.current.retrieve({}, { signal })).book.id, 1);
    t.equal((await api.current.update({ book: { title: 'Oak' } }, { ifMatch: true })).book.title, 'Oak');
    t.equal((await api.current.replace({ book: { title: 'Elf' } })).book.title, 'Elf');
    t.strictSame(await api.current.praise.post(), { praised: true });
    t.equal((await api.current.look()).book.title, 'Elf');
    t.strictSame(await api.publisher.retrieve(), { id: 1, name: 'North' });
    t.strictSame(await api.publishers(1).first.retrieve(), { title: 'Elf' });
    t.strictSame(api.current.retrieve.key({ expand: 'publisher' }).slice(1), ['retrieve', { expand: ['publisher'] }]);
    t.strictSame(requests, [
      'GET /api/current',
      'GET /api/current?expand=publisher',
      'GET /api/current',
      'PATCH /api/current',
      'PUT /api/current',
      'POST /api/current/praise',
      'GET /api/current/look',
      'GET /api/publisher',
      'GET /api/publishers/1/first',
    ]);
  });

  t.test('a write may be refused, and miss its record', async (t) => {
    const refused = await api.current.destroy.safe({ ifMatch: '"other"' });
    if (!refused.ok) t.equal(refused.status satisfies number, 412);
    const missing = await api.publisher.retrieve.safe();
    if (!missing.ok && missing.status === 404) t.fail('it is there');
    const wrong = [
      // @ts-expect-error there is no key
      () => api.current.retrieve(1),
      // @ts-expect-error undefined would be a key that is missing
      () => api.current.retrieve(undefined, {}),
      // @ts-expect-error there is no list
      () => api.current.list(),
      // @ts-expect-error the view does not write
      () => api.publisher.update({ name: 'x' }),
    ];
    t.equal(wrong.length, 4);
    const before = requests.length;
    for (const key of [undefined, null, '']) {
      await t.rejects(api.publishers.retrieve(key as never), { name: 'TypeError', message: /is no key of a record/ });
    }
    t.equal(requests.length, before);
    type Shown = DataOf<typeof api.current.retrieve>;
    const shown: Shown = { book: { id: 1, title: 'Ash' } };
    t.ok(shown);
  });
});
