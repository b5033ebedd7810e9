import type { MikroORM } from '@mikro-orm/core';
import { MikroORM as PostgreSqlORM, raw } from '@mikro-orm/postgresql';
import type { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ModelViewSet, QuerySet, readShape, Router, writeShape } from '../../src/index.ts';
import { poolOrClient } from '../../src/mikro/postgresql-pool.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Book, LIBRARY, testApp } from '../support/library.ts';

const POOL_SIZE = 2;
const WAITING = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
}) {}

const options = {
  entities: LIBRARY,
  orm: { pool: { max: POOL_SIZE }, driverOptions: { connectionTimeoutMillis: 500 } },
  only: ['postgresql'],
} as const;

forEachDatabase(t, options, async (t, orm) => {
  const router = new Router();
  router.register('books', BookViewSet);
  const app = await testApp(t, orm, [router]);
  const create = async () => app.inject({ method: 'POST', url: '/books', payload: { title: 'Ash' } });
  const other = await anotherOrm(t, orm);

  await t.test('a transaction whose connection is closed returns 503 and releases its place in the pool', async (t) => {
    for (let round = 0; round < 3; round += 1) {
      await whileLocked(other, async (execute) => {
        const answers = Array.from({ length: POOL_SIZE }, create);
        await untilWaiting(execute, POOL_SIZE);
        await execute(`select pg_terminate_backend(pid) ${WAITING}`);
        for (const answer of await Promise.all(answers)) {
          t.equal(answer.statusCode, 503, answer.body);
          t.match(answer.json(), { code: 'service_unavailable' });
        }
      });
    }
    t.equal((await create()).statusCode, 201);
    t.equal((await app.inject('/books')).statusCode, 200);
  });

  await t.test('a statement that is refused keeps its connection, in writes and reads', async (t) => {
    await other.em.getConnection().execute('create unique index book_title on book (title)');
    const { pool } = (await poolOrClient(orm.em, orm.em.getConnection())) as unknown as { pool: EventEmitter };
    let closed = 0;
    const onClosed = (): void => void (closed += 1);
    pool.on('remove', onClosed);
    t.equal((await app.inject({ method: 'POST', url: '/books', payload: { title: 'Elm' } })).statusCode, 201);
    for (let round = 0; round < 5; round += 1) {
      const refused = await app.inject({ method: 'POST', url: '/books', payload: { title: 'Elm' } });
      t.equal(refused.statusCode, 409);
      const broken = QuerySet.of(orm.em.fork(), Book).matching({ [raw('1/(pages - pages)')]: 1 });
      await t.rejects(broken.count(), { code: '22012' });
      t.equal((await app.inject('/books')).statusCode, 200);
    }
    pool.off('remove', onClosed);
    t.equal(closed, 0);
    await other.em.getConnection().execute('drop index book_title');
  });

  await t.test('a request returns 503 if no connection is free in time', async (t) => {
    await whileLocked(other, async (execute) => {
      const waiting = Array.from({ length: POOL_SIZE }, create);
      await untilWaiting(execute, POOL_SIZE);
      t.equal((await create()).statusCode, 503, 'a write');
      t.equal((await app.inject('/books')).statusCode, 503, 'a read');
      await execute(`select pg_cancel_backend(pid) ${WAITING}`);
      for (const answer of await Promise.all(waiting)) t.equal(answer.statusCode, 503, 'a statement that is cancelled');
    });
    t.equal((await create()).statusCode, 201);
  });
});

type Execute = (sql: string) => Promise<{ count: string }[]>;

/** Runs work while nobody else can write books; what it executes is outside of the transaction that sees to that. */
async function whileLocked(orm: MikroORM, work: (execute: Execute) => Promise<void>): Promise<void> {
  const em = orm.em.fork();
  const connection = em.getConnection();
  // Not `transactional`: what runs inside of it, requests to the application too, is in its transaction.
  await em.begin();
  try {
    await connection.execute('lock table book in exclusive mode', [], 'run', em.getTransactionContext());
    await work((sql) => connection.execute(sql));
  } finally {
    await em.rollback();
  }
}

async function untilWaiting(execute: Execute, count: number): Promise<void> {
  for (;;) {
    const [row] = await execute(`select count(*) ${WAITING}`);
    if (Number(row?.count) === count) return;
    await sleep(20);
  }
}

/** On the same database, with connections of its own. */
async function anotherOrm(t: Test, orm: MikroORM): Promise<MikroORM> {
  const clientUrl = orm.config.get('clientUrl') ?? '';
  const other = await PostgreSqlORM.init({ clientUrl, entities: LIBRARY });
  t.teardown(() => other.close(true));
  return other;
}
