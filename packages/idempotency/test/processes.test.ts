/** Two processes on one database: requests with one key at once, and a process that ends while it writes. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import {
  createDatabaseBehindPgBouncer,
  createPostgreSqlDatabase,
  mongoDatabase,
  skipMongo,
  skipPgBouncer,
  skipPostgreSql,
} from '../../core/test/support/databases.ts';
import { type ForkedServer, forkServer } from '../../core/test/support/forked-server.ts';
import { IdempotencyRecord } from '../src/index.ts';
import { openOrders, Order } from './support/order-server.ts';

const REQUESTS = 100;
const program = fileURLToPath(new URL('support/order-server.ts', import.meta.url));

function startServer(t: Test, url: string): Promise<ForkedServer> {
  return forkServer(t, program, { DATABASE_URL: url });
}

async function post({ address }: ForkedServer, path: string, key: string) {
  const answer = await fetch(address + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': JSON.stringify(key) },
    body: JSON.stringify({ item: key }),
  });
  return { status: answer.status, text: await answer.text() };
}

function testOn(name: string, skip: string | false, makeDatabase: (t: Test) => string | Promise<string>): void {
  t.test(`on ${name}`, { skip }, async (t) => {
    const url = await makeDatabase(t);
    const orm = await openOrders(url);
    t.teardown(async () => {
      if (url.startsWith('mongodb')) await orm.schema.drop();
      await orm.close(true);
    });
    await orm.schema.create();
    const servers = await Promise.all([startServer(t, url), startServer(t, url)]);

    await t.test(`of ${REQUESTS} concurrent requests with one key, exactly one writes`, async (t) => {
      const key = randomUUID();
      const requests = Array.from({ length: REQUESTS }, (_, index) => post(servers[index % 2]!, '/orders', key));
      const answers = await Promise.all(requests);
      const counts = Object.groupBy(answers, ({ status }) => status);
      t.comment(
        Object.entries(counts)
          .map(([status, all]) => `${status}: ${all!.length}`)
          .join(', '),
      );
      t.strictSame(
        Object.keys(counts).filter((status) => status !== '201' && status !== '409'),
        [],
      );
      t.equal(new Set(counts[201]!.map(({ text }) => text)).size, 1, 'they all show the same record');
      t.equal(await orm.em.fork().count(Order, { item: key }), 1);
      t.equal((await post(servers[1], '/orders', key)).text, counts[201]![0]!.text);
    });

    await t.test('a process that is killed during a write leaves neither record nor key', async (t) => {
      const dying = await startServer(t, url);
      const key = randomUUID();
      const lost = post(dying, '/orders/slow', key).catch(() => 'lost');
      await once(dying.process, 'message');
      dying.process.kill('SIGKILL');
      t.equal(await lost, 'lost');
      t.equal(await orm.em.fork().count(Order, { item: 'slow' }), 0);
      const before = await orm.em.fork().count(IdempotencyRecord, {});
      let status = 409;
      // A server notices the end of a connection after a moment.
      for (let tries = 0; status === 409 && tries < 50; tries++) ({ status } = await post(servers[0], '/orders', key));
      t.equal(status, 201, 'the key of another route says nothing');
      t.equal(await orm.em.fork().count(IdempotencyRecord, {}), before + 1);
    });
  });
}

testOn('SQLite', false, (t) => join(t.testdir(), 'orders.sqlite'));
testOn('PostgreSQL', skipPostgreSql(), createPostgreSqlDatabase);
testOn('PgBouncer', skipPgBouncer(), createDatabaseBehindPgBouncer);
testOn('MongoDB', skipMongo(), () => mongoDatabase());
