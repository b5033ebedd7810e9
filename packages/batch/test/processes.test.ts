/** Two processes on one database: batches at once that write the same records, and a process that ends within a batch. */
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MikroORM as MongoORM } from '@mikro-orm/mongodb';
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
import { Account, Entry, openBank } from './support/batch-server.ts';

const BATCHES = 40;
const program = fileURLToPath(new URL('support/batch-server.ts', import.meta.url));

function startServer(t: Test, url: string): Promise<ForkedServer> {
  return forkServer(t, program, { DATABASE_URL: url });
}

async function post({ address }: ForkedServer, operations: readonly object[], signal?: AbortSignal) {
  const answer = await fetch(`${address}/api/batch`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ operations }),
    ...(signal && { signal }),
  });
  return { status: answer.status, text: await answer.text() };
}

/** Ends the transaction of a process that is gone at once: MongoDB keeps it for a minute, and its locks. */
async function endSession(orm: Awaited<ReturnType<typeof openBank>>, id: string): Promise<void> {
  const client = (orm as unknown as MongoORM).em.getConnection().getClient();
  const own = client.startSession();
  const Binary = own.id!.id.constructor as new (bytes: Buffer, kind: number) => unknown;
  await client.db('admin').command({ killSessions: [{ id: new Binary(Buffer.from(id, 'hex'), own.id!.id.sub_type) }] });
  await own.endSession();
}

const entry = (account: unknown, amount: number) => ({ method: 'POST', path: '/entries', body: { account, amount } });
const add = (account: number, amount: number) => ({
  method: 'POST',
  path: `/accounts/${account}/add`,
  body: { amount },
});

function testOn(name: string, skip: string | false, makeDatabase: (t: Test) => string | Promise<string>): void {
  t.test(`on ${name}`, { skip }, async (t) => {
    const url = await makeDatabase(t);
    const orm = await openBank(url);
    t.teardown(async () => {
      if (url.startsWith('mongodb')) await orm.schema.drop();
      await orm.close(true);
    });
    await orm.schema.create();
    const em = orm.em.fork();
    const [one, two] = [em.create(Account, { name: 'one' }), em.create(Account, { name: 'two' })];
    await em.flush();
    const servers = await Promise.all([startServer(t, url), startServer(t, url)]);

    await t.test('concurrent transfers lose nothing, and each is stored completely or not at all', async (t) => {
      const requests = Array.from({ length: BATCHES }, (_, index) => {
        const amount = index % 4 < 2 ? 1 : -1;
        const transfer = [add(one.id, -amount), entry(one.id, -amount), add(two.id, amount), entry(two.id, amount)];
        return post(servers[index % 2]!, index % 10 === 9 ? [...transfer, entry(two.id, 'x' as never)] : transfer);
      });
      const answers = await Promise.all(requests);
      const stored = answers.filter(({ status }) => status === 200).length;
      const bad = answers.filter(({ status }) => status === 422).length;
      t.strictSame([stored, bad], [BATCHES * 0.9, BATCHES * 0.1]);
      const after = orm.em.fork();
      const [accounts, entries] = [await after.find(Account, {}), await after.find(Entry, {})];
      t.equal(entries.length, stored * 2);
      for (const { id, balance } of accounts) {
        const sum = entries.filter(({ account }) => account.id === id).reduce((total, { amount }) => total + amount, 0);
        t.equal(balance, sum, 'the balance is that of the entries');
      }
    });

    const waitingFor = (name: string) => [
      { method: 'POST', path: '/accounts', body: { name }, id: 'a' },
      entry({ $ref: 'a.id' }, 5),
      { method: 'POST', path: '/accounts/wait', body: {} },
    ];

    await t.test('a process that ends within a batch leaves nothing', async (t) => {
      const dying = await startServer(t, url);
      const lost = post(dying, waitingFor('killed')).catch(() => 'lost');
      const [session] = (await once(dying.process, 'message')) as [string];
      dying.process.kill('SIGKILL');
      t.equal(await lost, 'lost');
      if (session !== '') await endSession(orm, session);
      t.equal(await orm.em.fork().count(Account, { name: 'killed' }), 0);
    });

    await t.test('a client that goes away leaves nothing', async (t) => {
      const leaving = new AbortController();
      const lost = post(servers[0], waitingFor('left'), leaving.signal).catch(() => 'lost');
      await once(servers[0].process, 'message');
      leaving.abort();
      t.equal(await lost, 'lost');
      let status = 0;
      // The server learns of it after a moment, and frees the name.
      for (let tries = 0; status !== 200 && tries < 50; tries++) {
        ({ status } = await post(servers[1], [{ method: 'POST', path: '/accounts', body: { name: 'left' } }]));
      }
      t.equal(status, 200);
      t.equal(await orm.em.fork().count(Entry, { amount: 5 }), 0);
    });
  });
}

testOn('SQLite', false, (t) => join(t.testdir(), 'bank.sqlite'));
testOn('PostgreSQL', skipPostgreSql(), createPostgreSqlDatabase);
testOn('PgBouncer', skipPgBouncer(), createDatabaseBehindPgBouncer);
testOn('MongoDB', skipMongo(), () => mongoDatabase());
