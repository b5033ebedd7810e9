import type { Test } from 'tap';
import { Session } from '../../src/entities/session.ts';
import { pastShop } from '../support/database.ts';
import { ADMIN } from '../support/shop.ts';
import type { Shops } from '../support/shops.ts';

const MANY = 50;

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

export async function sessionsTogether(t: Test, shops: Shops): Promise<void> {
  const at = (index: number) => shops.at(index);
  const { databaseUrl } = at(0);
  const login = async (): Promise<Tokens> =>
    (await at(0).post<Tokens>('/api/auth/login', { ...ADMIN, refresh: 'body' })).body;
  const refresh = (index: number, refresh_token: string) =>
    at(index).post<Tokens>('/api/auth/refresh', { refresh_token });
  const many = <Result>(make: (index: number) => Promise<Result>): Promise<Result[]> =>
    Promise.all(Array.from({ length: MANY }, (_, index) => make(index)));
  const me = async (index: number, token: string): Promise<number> =>
    (await at(index).get('/api/roles', { token })).status;

  await t.test('fifty concurrent refreshes leave one valid token and a valid session', async (t) => {
    for (let round = 0; round < 3; round++) {
      const { refresh_token: token } = await login();
      const answers = await many((index) => refresh(index, token));
      t.same([...new Set(answers.map(({ status }) => status))], [200]);
      t.equal(new Set(answers.map(({ body }) => body.refresh_token)).size, 1);
      for (const index of [0, 1]) t.equal(await me(index, answers[index]!.body.access_token), 200);
      t.equal((await refresh(1, answers[0]!.body.refresh_token)).status, 200);
    }
  });

  await t.test('a logout at one process is seen by the others at once', async (t) => {
    const { access_token: token, refresh_token } = await login();
    t.equal(await me(1, token), 200);
    t.equal((await at(0).post('/api/auth/logout', {}, { token })).status, 204);
    t.equal(await me(1, token), 401);
    t.equal((await refresh(1, refresh_token)).status, 401);
  });

  await t.test('concurrent refreshes and a logout in any order end the session', async (t) => {
    const { access_token: token, refresh_token } = await login();
    const answers = await many((index) =>
      index === 10 ? at(1).post<Tokens>('/api/auth/logout', {}, { token }) : refresh(index, refresh_token),
    );
    for (const { status, body } of answers) {
      t.ok([200, 204, 401].includes(status));
      if (status === 200) t.equal(await me(0, body.access_token), 401);
    }
    const successor = answers.find(({ status }) => status === 200)?.body.refresh_token;
    if (successor !== undefined) t.equal((await refresh(0, successor)).status, 401);
  });

  await t.test('a used token ends the session wherever it comes back, also many times at once', async (t) => {
    const first = await login();
    const next = (await refresh(0, first.refresh_token)).body;
    const third = (await refresh(1, next.refresh_token)).body;
    const [tabs, newest] = [await many((index) => refresh(index, first.refresh_token)), third.refresh_token];
    t.ok(
      tabs.every(({ status, body }) => status === 200 && body.refresh_token === newest),
      'within the grace',
    );
    await pastShop(databaseUrl, (em) => em.nativeUpdate(Session, {}, { last_used_at: new Date(Date.now() - 60_000) }));
    const answers = await many((index) => refresh(index, first.refresh_token));
    t.same([...new Set(answers.map(({ status }) => status))], [401]);
    t.equal(await me(0, third.access_token), 401);
    t.equal((await refresh(1, third.refresh_token)).status, 401);
    const reports = shops.all.flatMap(({ process }) =>
      process.log.filter(({ event }) => event === 'auth.refresh_reused'),
    );
    t.equal(reports.length, 1, 'who ends the session reports it');
  });

  await t.test('a chain of refreshes that changes the process each time goes on', async (t) => {
    let { refresh_token: token } = await login();
    for (let index = 0; index < 20; index++) {
      const { status, body } = await refresh(index, token);
      t.equal(status, 200);
      token = body.refresh_token;
    }
  });

  await t.test('an account that is deleted takes its sessions along', async (t) => {
    const token = await at(0).newUser('gone@example.com');
    const mine = (await at(1).get<unknown[]>('/api/auth/sessions', { token })).body;
    t.equal(mine.length, 1);
    const accounts = (
      await at(0).get<{ results: { id: number; email: string }[] }>('/api/accounts', {
        token: (await login()).access_token,
      })
    ).body.results;
    const { id } = accounts.find(({ email }) => email === 'gone@example.com')!;
    const admin = (await login()).access_token;
    t.equal((await at(1).delete(`/api/accounts/${id}`, { token: admin })).status, 204);
    t.equal(await me(0, token), 401);
    const left = await pastShop(databaseUrl, (em) => em.count(Session, { account: id }));
    t.equal(left, 0);
  });
}
