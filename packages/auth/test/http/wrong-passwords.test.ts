import { MemoryStore, RedisStore, type Store } from '@viewset/core';
import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { openSqlite } from '../../../core/test/support/databases.ts';
import { type Answer, PASSWORD, startApp } from '../support/app.ts';
import { watchComparisons } from '../support/comparisons.ts';
import { Account, Role } from '../support/entities.ts';

const url = process.env['TEST_REDIS_URL'];
const noRedis =
  url === undefined && process.env['CI'] !== 'true' ? 'TEST_REDIS_URL is not set: nothing was tried on Redis' : false;
const LOGIN = '/auth/login';
const entities = [Account, Role];

function memory(t: Test): Store {
  const store = new MemoryStore();
  t.teardown(() => store.close());
  return store;
}

function redis(t: Test): Store {
  const client = new Redis(url ?? '', { maxRetriesPerRequest: 1 });
  t.teardown(() => client.disconnect());
  return new RedisStore(client, { prefix: `test:${crypto.randomUUID()}:` });
}

for (const [name, openStore, skip] of [
  ['memory', memory, false],
  ['Redis', redis, noRedis],
] as const) {
  t.test(`with ${name}, ten wrong passwords hold an address, whether or not it has an account`, { skip }, async (t) => {
    const orm = await openSqlite(t, { entities });
    const app = await startApp(t, orm, { store: openStore(t) });
    await app.addAccount('ann@example.com');
    await app.addAccount('bob@example.com');
    const answers: Record<string, Answer[]> = {};
    for (const email of ['ann@example.com', 'nobody@example.com']) {
      const tries: Answer[] = (answers[email] = []);
      for (let wrong = 1; wrong <= 10; wrong++) {
        tries.push(await app.post(LOGIN, { email, password: `wrong ${wrong}` }));
      }
      t.ok(
        tries.every(({ status }) => status === 401),
        'ten are told that the password is wrong',
      );
      const comparisons = watchComparisons(t);
      tries.push(
        await app.post(LOGIN, { email, password: 'wrong' }),
        await app.post(LOGIN, { email, password: PASSWORD }),
      );
      t.match(tries.slice(10), [{ status: 429 }, { status: 429 }], 'then the right password is refused too');
      t.strictSame(comparisons, [], 'and nothing is compared');
      t.equal((await app.post(LOGIN, { email: ` ${email.toUpperCase()}`, password: PASSWORD })).status, 429);
    }
    const told = (email: string): unknown =>
      answers[email]!.map(({ status, text, headers }) => [status, text, Number(headers.get('retry-after')) > 60]);
    t.strictSame(told('ann@example.com'), told('nobody@example.com'), 'both are told the same');
    t.match(answers['ann@example.com']!.at(-1), {
      body: { code: 'too_many_requests', error: /^Too many wrong passwords/ },
    });
    t.ok(await app.login('bob@example.com'), 'another account is not held');
    t.equal(
      (await app.get('/me', app.app.auth.issueToken((await app.stored('ann@example.com'))!))).status,
      200,
      'nor is a token',
    );
  });

  t.test(`with ${name}, many right passwords do not count as wrong`, { skip }, async (t) => {
    const app = await startApp(t, await openSqlite(t, { entities }), { store: openStore(t) });
    await app.addAccount('ann@example.com');
    const logins = await Promise.all(Array.from({ length: 30 }, () => app.login('ann@example.com')));
    t.ok(logins.every(Boolean));
    for (const json of [{}, { email: 'ann@example.com' }, { email: 'ann@example.com', password: '' }, { email: 1 }]) {
      for (let round = 0; round < 11; round++) await app.post(LOGIN, json);
    }
    t.ok(await app.login('ann@example.com'), 'and no password is no wrong one');
  });

  t.test(`with ${name}, of ninety-seven concurrent wrong passwords ten are reported as wrong`, { skip }, async (t) => {
    const app = await startApp(t, await openSqlite(t, { entities }), { store: openStore(t) });
    await app.addAccount('ann@example.com');
    const answers = await Promise.all(
      Array.from({ length: 97 }, (_, index) =>
        app.post(LOGIN, { email: 'ann@example.com', password: `wrong ${index}` }),
      ),
    );
    t.equal(answers.filter(({ status }) => status === 401).length, 10);
    t.equal(answers.filter(({ status }) => status === 429).length, 87);
    t.equal((await app.post(LOGIN, { email: 'ann@example.com', password: PASSWORD })).status, 429);
  });
}

t.test('processes that share a Redis count together', { skip: noRedis }, async (t) => {
  const orm = await openSqlite(t, { entities });
  const store = redis(t);
  const apps = [await startApp(t, orm, { store }), await startApp(t, orm, { store })];
  await apps[0]!.addAccount('ann@example.com');
  for (let wrong = 0; wrong < 10; wrong++) {
    const answer = await apps[wrong % 2]!.post(LOGIN, { email: 'ann@example.com', password: 'wrong' });
    t.equal(answer.status, 401);
  }
  for (const app of apps) {
    t.equal((await app.post(LOGIN, { email: 'ann@example.com', password: PASSWORD })).status, 429);
  }
});

t.test('if the store is down, logins pass uncounted', { skip: noRedis }, async (t) => {
  const client = new Redis('redis://127.0.0.1:1', { maxRetriesPerRequest: 0, retryStrategy: () => null });
  client.on('error', () => {});
  t.teardown(() => client.disconnect());
  const app = await startApp(t, await openSqlite(t, { entities }), { store: new RedisStore(client) });
  await app.addAccount('ann@example.com');
  for (let wrong = 0; wrong < 12; wrong++) {
    t.equal((await app.post(LOGIN, { email: 'ann@example.com', password: 'wrong' })).status, 401);
  }
  t.ok(await app.login('ann@example.com'));
});
