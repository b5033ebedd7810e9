/**
 * PgBouncer in transaction mode gives each statement, or each transaction, whichever connection is free: what one of them
 * has prepared or set is not there for the next.
 */
import { LockMode } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/postgresql';
import type { FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { action, ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { createDatabaseBehindPgBouncer, postgresUrl, skipPgBouncer } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY, Publisher, testApp } from '../support/library.ts';

const read = readShape(Book, ['id', 'title', 'pages', 'price'], { publisher: 'publisher.name' });
const write = writeShape(Book, ['title', 'pages', 'price'], { publisher: 'publisher.name' });
const names = {
  searchFields: ['title'],
  filterFields: { pages: 'pages', publisher: 'publisher__name' },
  orderingFields: { title: 'title', pages: 'pages' },
} as const;

class BookViewSet extends ModelViewSet(Book, { read, write, ...names }) {
  /**
   * Adds a page in a transaction of its own, which is rolled back if the client asks for that. The action's would hold the
   * lock that this one waits for.
   */
  grow = action({ methods: ['post'], detail: true, transaction: false }, async (request) =>
    request.em.fork().transactional(async (em) => {
      const book = await em.findOneOrFail(Book, Number(request.params.pk), { lockMode: LockMode.PESSIMISTIC_WRITE });
      book.pages += 1;
      await em.flush();
      if (request.headers['x-fail'] !== undefined) throw new Error('after the flush');
      return { pages: book.pages };
    }),
  );
}

/** Writes through the unit of work. */
class HookedViewSet extends ModelViewSet(Book, { read, write, ...names }) {
  override performCreate(...args: Parameters<InstanceType<typeof BookViewSet>['performCreate']>) {
    return super.performCreate(...args);
  }
}

const READS = [
  '/books',
  '/books?page=2&page_size=2',
  '/books?search=a&sort=-pages',
  '/books?pages=300',
  '/books?publisher=North&sort=title',
  '/books?filter={"in":[{"var":"publisher.name"},["South"]]}',
  '/books/1',
  '/books/4',
  '/books/99',
];

/** More requests at once than there are connections on either side of PgBouncer, several times over. */
const REQUESTS_AT_ONCE = 40;

async function appOn(t: Test, clientUrl: string): Promise<{ orm: MikroORM; app: FastifyInstance }> {
  const orm = await MikroORM.init({ clientUrl, entities: LIBRARY, pool: { min: 0, max: 8 } });
  t.teardown(() => orm.close(true));
  const router = new Router().register('books', BookViewSet).register('hooked', HookedViewSet);
  return { orm, app: await testApp(t, orm, [router]) };
}

function manyOf<Result>(send: (index: number) => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, (_, index) => send(index)));
}

t.test('behind PgBouncer in transaction mode', { skip: skipPgBouncer() }, async (t) => {
  const clientUrl = await createDatabaseBehindPgBouncer(t);
  const { orm, app } = await appOn(t, clientUrl);
  await orm.schema.create();
  await fillLibrary(orm);

  await t.test('repeated reads return the same as without PgBouncer', async (t) => {
    const direct = new URL(postgresUrl()!);
    direct.pathname = new URL(clientUrl).pathname;
    const { app: directApp } = await appOn(t, direct.href);
    for (const url of READS) {
      const { statusCode, body } = await directApp.inject(url);
      t.equal(statusCode, url === '/books/99' ? 404 : 200, url);
      // The second time a statement is prepared under a name, which another connection does not know.
      for (let round = 0; round < 3; round++) {
        const answers = await manyOf(() => app.inject(url));
        t.same(
          [...new Set(answers.map((answer) => `${answer.statusCode} ${answer.body}`))],
          [`${statusCode} ${body}`],
          url,
        );
      }
    }
  });

  for (const path of ['/books', '/hooked']) {
    await t.test(`${path}: each write is done once`, async (t) => {
      const before = await orm.em.fork().count(Book);
      const created = await manyOf((index) =>
        app.inject({ method: 'POST', url: path, payload: { title: `${path} ${index}`, publisher: 'North' } }),
      );
      t.same([...new Set(created.map(({ statusCode }) => statusCode))], [201]);
      t.equal(await orm.em.fork().count(Book), before + REQUESTS_AT_ONCE);
      const ids = created.map((answer) => answer.json<{ id: number }>().id);
      const changed = await manyOf((index) =>
        app.inject({ method: 'PATCH', url: `${path}/${ids[index]}`, payload: { pages: 1000 + index } }),
      );
      t.same(
        changed.map((answer) => answer.json<{ id: number; pages: number }>()).map(({ id, pages }) => [id, pages]),
        ids.map((id, index) => [id, 1000 + index]),
      );
      const removed = await manyOf((index) => app.inject({ method: 'DELETE', url: `${path}/${ids[index]}` }));
      t.same([...new Set(removed.map(({ statusCode }) => statusCode))], [204]);
      t.equal(await orm.em.fork().count(Book), before);
    });
  }

  await t.test('transactions keep to one connection, wait for each other, and are rolled back', async (t) => {
    const grow = (headers = {}) => app.inject({ method: 'POST', url: '/books/5/grow', headers });
    const grown = await manyOf(async () => (await grow()).json<{ pages: number }>().pages);
    t.same(
      grown.toSorted((a, b) => a - b),
      Array.from({ length: REQUESTS_AT_ONCE }, (_, index) => 51 + index),
    );
    t.equal((await grow({ 'x-fail': '1' })).statusCode, 500);
    t.equal((await app.inject('/books/5')).json<{ pages: number }>().pages, 50 + REQUESTS_AT_ONCE);
    await t.rejects(
      orm.em.fork().transactional(async (em) => {
        em.create(Publisher, { name: 'Never' });
        await em.flush();
        throw new Error('undone');
      }),
      { message: 'undone' },
    );
    t.equal(await orm.em.fork().count(Publisher, { name: 'Never' }), 0);
  });

  await t.test('a conflict is reported as without PgBouncer', async (t) => {
    const payload = { title: 'x', publisher: 'Nobody' };
    t.equal((await app.inject({ method: 'POST', url: '/books', payload })).statusCode, 400);
    await t.rejects(orm.em.fork().insert(Publisher, { name: 'North' }), { name: 'UniqueConstraintViolationException' });
  });
});
