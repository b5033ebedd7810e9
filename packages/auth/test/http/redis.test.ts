import { RedisStore } from '@viewset/core';
import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { openPostgreSql, openSqlite, postgresUrl } from '../../../core/test/support/databases.ts';
import { PASSWORD, startApp, type TestApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

const url = process.env['TEST_REDIS_URL'];
const skip =
  url === undefined && process.env['CI'] !== 'true' ? 'TEST_REDIS_URL is not set: nothing was tried on Redis' : false;
const entities = [Account, Role];

function openStore(t: Test): RedisStore {
  const client = new Redis(url ?? '', { maxRetriesPerRequest: 1 });
  t.teardown(() => client.disconnect());
  return new RedisStore(client);
}

t.test('several applications with one Redis and one database share their state', { skip }, async (t) => {
  const orm = postgresUrl() === undefined ? await openSqlite(t, { entities }) : await openPostgreSql(t, { entities });
  const apps = await Promise.all([0, 1, 2].map(async () => startApp(t, orm, { store: openStore(t) })));
  const [first, second, third] = apps as [TestApp, TestApp, TestApp];
  const address = (): string => `${crypto.randomUUID()}@example.com`;
  const account = (email: string, code: string) => ({ email, password: PASSWORD, name: 'Ann', code });

  await t.test('a code that one sends is good on another', async (t) => {
    const email = address();
    const code = await first.code(email);
    t.equal((await second.post('/auth/register', account(email, code))).status, 201);
    t.equal((await third.get('/me', await third.login(email))).status, 200, 'and so is a token');
  });

  await t.test(
    'of many concurrent registrations with one code on all applications, exactly one succeeds',
    async (t) => {
      const email = address();
      const code = await first.code(email);
      const answers = await Promise.all(
        Array.from({ length: 18 }, (_, index) => apps[index % 3]!.post('/auth/register', account(email, code))),
      );
      t.strictSame(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [201, ...Array<number>(17).fill(400)],
      );
    },
  );

  await t.test('tries and sends are counted together', async (t) => {
    const email = address();
    const code = await first.code(email);
    const wrong = code === '000000' ? '000001' : '000000';
    await Promise.all(
      Array.from({ length: 5 }, (_, index) => apps[index % 3]!.post('/auth/register', account(email, wrong))),
    );
    t.equal((await second.post('/auth/register', account(email, code))).status, 400);
    const sends = await Promise.all(
      Array.from({ length: 6 }, (_, index) => apps[index % 3]!.post('/auth/send-verification-email', { email })),
    );
    t.strictSame(
      sends.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 200, 200, 200, 429, 429],
    );
  });

  await t.test('a registration that fails leaves the code as it was', async (t) => {
    const email = address();
    await first.addAccount(email);
    const code = await first.code(email);
    const answers = [];
    for (const app of apps) answers.push(await app.post('/auth/register', account(email, code)));
    for (const { status, body } of answers) {
      t.match({ status, body }, { status: 400, body: { error: /already registered/ } });
    }
  });
});
