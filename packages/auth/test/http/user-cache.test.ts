import type { FastifyInstance, FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { AccountUser, type AuthOptions } from '../../src/index.ts';
import { startApp, TestApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

const queries: string[] = [];
const logged = { debug: ['query'] as ['query'], colors: false, logger: (line: string) => void queries.push(line) };
const entities = [Account, Role];

/** How many queries something makes. */
async function count(act: () => Promise<unknown>): Promise<number> {
  queries.length = 0;
  await act();
  return queries.length;
}

forEachDatabase(t, { entities, orm: logged }, async (t, orm) => {
  let now = 0;
  const start = (t: Test, options: Partial<AuthOptions> = {}, addRoutes?: (app: FastifyInstance) => void) =>
    startApp(t, orm, { clock: () => now, ...options }, addRoutes);
  const update = (id: number, is_active: boolean) => orm.em.fork().nativeUpdate(Account, { id }, { is_active });
  const setUp = await start(t);
  const role = await setUp.addRole('admin');
  const ann = await setUp.addAccount('ann@example.com', { role });
  const bob = await setUp.addAccount('bob@example.com');
  const token = await setUp.login('ann@example.com');
  const bobs = await setUp.login('bob@example.com');
  const many = async (app: TestApp): Promise<void> => {
    for (let index = 0; index < 5; index++) {
      t.match(await app.get('/me', token), { status: 200, body: { user: { id: ann.id, role: { name: 'admin' } } } });
    }
  };

  t.test('by default every request is a query', async (t) => {
    t.equal(await count(() => many(setUp)), 5);
    const off = await start(t, { userCacheSeconds: 0 });
    t.equal(await count(() => many(off)), 5);
  });

  t.test('with a cache, many requests are one query, until the time is over', async (t) => {
    const app = await start(t, { userCacheSeconds: 5 });
    t.equal(await count(() => many(app)), 1);
    t.equal(await count(() => app.get('/me', bobs)), 1, 'another user has its own');
    t.match(await app.get('/me', bobs), { body: { user: { id: bob.id, role: null } } });
    now += 4999;
    t.equal(await count(() => many(app)), 0);
    now += 1;
    t.equal(await count(() => many(app)), 1);
    const other = await start(t, { userCacheSeconds: 5 });
    t.equal(await count(() => many(other)), 1, 'each application has its own');
  });

  t.test('a disabled account is refused when the time is over, and an enabled one comes in at once', async (t) => {
    const app = await start(t, { userCacheSeconds: 5 });
    await app.get('/me', bobs);
    await update(bob.id, false);
    now += 4999;
    t.equal((await app.get('/me', bobs)).status, 200, 'noticed late, as documented');
    now += 1;
    t.equal((await app.get('/me', bobs)).status, 401);
    t.equal(await count(() => app.get('/me', bobs)), 1, 'that it is disabled is not kept');
    await update(bob.id, true);
    t.equal((await app.get('/me', bobs)).status, 200);
  });

  t.test('an account that is gone, and a new role, are noticed when the time is over', async (t) => {
    const app = await start(t, { userCacheSeconds: 5 });
    const eve = await app.addAccount('eve@example.com', { role });
    const hers = app.app.auth.issueToken(eve);
    await app.get('/me', hers);
    const em = orm.em.fork();
    await em.nativeUpdate(Account, { id: eve.id }, { role: null });
    now += 5000;
    t.match(await app.get('/me', hers), { status: 200, body: { user: { role: null } } });
    await em.nativeDelete(Account, { id: eve.id });
    now += 5000;
    t.equal((await app.get('/me', hers)).status, 401);
  });

  t.test('one request cannot change the user of another', async (t) => {
    const app = await start(t, { userCacheSeconds: 5 }, (instance) => {
      instance.post('/rename', async (request) => {
        Object.assign(request.user!.role!, { name: 'owner' });
      });
    });
    app.app.log.level = 'silent';
    t.equal((await app.request('POST', '/rename', { headers: { authorization: `Bearer ${token}` } })).status, 500);
    t.match((await app.get('/me', token)).body, { user: { role: { name: 'admin' } } });
  });

  t.test('app.auth has the same users', async (t) => {
    const app = await start(t, { userCacheSeconds: 5 }, (instance) => {
      instance.get('/again', async (request: FastifyRequest) => {
        const again: unknown = await instance.auth.retrieveUser(request, { user_id: ann.id });
        const user: unknown = request.user;
        request.user = null;
        await instance.auth.storeUser(request, ann.id);
        return { same: again === user && request.user === user, isUser: user instanceof AccountUser };
      });
    });
    t.equal(await count(async () => t.match((await app.get('/again', token)).body, { same: true, isUser: true })), 1);
  });
});

const filters = {
  named: { name: 'named', cond: ({ name }: { name: string }) => ({ name }), entity: ['Account'], default: true },
};

forEachDatabase(t, { entities, orm: { ...logged, filters } }, async (t, orm) => {
  const app = new TestApp(orm);
  t.teardown(() => app.app.close());
  app.app.addHook('onRequest', async (request) => {
    request.em.setFilterParams('named', { name: request.headers['x-name'] ?? 'Ann' });
  });
  await app.start({ userCacheSeconds: 5 }, () => {});
  await app.addAccount('ann@example.com');
  const authorization = `Bearer ${await app.login('ann@example.com')}`;

  t.test('a filter with parameters of the request decides for each request', async (t) => {
    for (const [name, status] of [
      ['Ann', 200],
      ['Bob', 401],
      ['Ann', 200],
    ] as const) {
      t.equal((await app.request('GET', '/me', { headers: { authorization, 'x-name': name } })).status, status);
    }
  });
});
