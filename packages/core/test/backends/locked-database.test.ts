/** A file of SQLite or libSQL that another process has locked: it is waited for, and nobody else is held up. */
import { MikroORM as LibSqlORM } from '@mikro-orm/libsql';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import type { FastifyRequest } from 'fastify';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { Book, fillLibrary, LIBRARY, testApp } from '../support/library.ts';

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
}) {}

class HookedViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
}) {
  override performCreate(request: FastifyRequest, data: Parameters<BookViewSet['performCreate']>[1]) {
    return super.performCreate(request, { ...data, title: `${data.title}!` });
  }
}

const OPEN = {
  SQLite: (dbName: string) => SqliteORM.init({ dbName, entities: LIBRARY }),
  libSQL: (dbName: string) => LibSqlORM.init({ dbName, entities: LIBRARY }),
};

/** An application on a database of its own, and what locks it as another process would. */
async function lockable(t: Test, name: keyof typeof OPEN) {
  const dbName = join(t.testdir(), 'library.sqlite');
  const orm = await OPEN[name](dbName);
  const other = await OPEN[name](dbName);
  t.teardown(() => Promise.all([orm.close(true), other.close(true)]));
  await orm.em.getConnection().execute('pragma journal_mode = wal');
  await orm.schema.create();
  await fillLibrary(orm);
  const router = new Router().register('books', BookViewSet).register('hooked', HookedViewSet);
  const app = await testApp(t, orm, [router]);
  await app.inject('/books');
  const lock = (): Promise<unknown> => other.em.getConnection().execute('begin immediate');
  const unlock = (): Promise<unknown> => other.em.getConnection().execute('commit');
  return { app, lock, unlock };
}

const WRITES = [
  { method: 'POST', url: '/books', payload: { title: 'Fir' } },
  { method: 'PATCH', url: '/books/1', payload: { title: 'Ash tree' } },
  { method: 'POST', url: '/hooked', payload: { title: 'Gum' } },
  { method: 'DELETE', url: '/books/2' },
] as const;

for (const name of ['SQLite', 'libSQL'] as const) {
  t.test(`${name}: writes wait for the lock, and everything else goes on meanwhile`, async (t) => {
    const { app, lock, unlock } = await lockable(t, name);
    await lock();
    const order: string[] = [];
    const writes = WRITES.map(async (write) => {
      const { statusCode } = await app.inject(write);
      order.push('written');
      return statusCode;
    });
    for (let time = 0; time < 5; time++) {
      await sleep(20);
      t.equal((await app.inject('/health/live')).statusCode, 200);
      order.push('healthy');
    }
    await unlock();
    t.strictSame(await Promise.all(writes), [201, 200, 201, 204]);
    t.strictSame(order, [...Array<string>(5).fill('healthy'), ...Array<string>(4).fill('written')]);
    const { results } = (await app.inject('/books')).json<{ results: { title: string }[] }>();
    t.strictSame(results.map(({ title }) => title).toSorted(), ['Ash tree', 'Cedar', 'Date', 'Elm', 'Fir', 'Gum!']);
  });

  t.test(`${name}: a lock that is not released returns 503, and nothing is written`, async (t) => {
    const { app, lock, unlock } = await lockable(t, name);
    await lock();
    const answers = await Promise.all(WRITES.map((write) => app.inject(write)));
    await unlock();
    for (const answer of answers) {
      t.match(answer.json(), { code: 'service_unavailable' });
      t.equal(answer.statusCode, 503);
    }
    t.equal((await app.inject('/books')).json<{ count: number }>().count, 5);
    for (const write of WRITES.toReversed()) t.equal((await app.inject(write)).statusCode < 300, true, write.url);
  });
}
