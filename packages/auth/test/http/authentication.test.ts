import { Unauthorized, ServiceUnavailable } from '@viewset/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { AccountUser, type AuthPayload } from '../../src/index.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

const entities = [Account, Role];
const LISTED = ['/auth/login', '/open/*'];

function addRoutes(app: FastifyInstance): void {
  const who = async (request: FastifyRequest): Promise<object> => ({ user: request.user?.email ?? null });
  app.get('/open/who', who);
  app.get('/open/closed', async (request) => {
    if (request.user === null) throw new Unauthorized();
    return {};
  });
  app.get('/free', { config: { public: true } }, who);
  app.post('/closed', async () => ({}));
}

forEachDatabase(t, { entities }, async (t, orm) => {
  const app = await startApp(t, orm, { nonAuthEndpoints: LISTED }, addRoutes);
  const role = await app.addRole('admin');
  const ann = await app.addAccount('ann@example.com', { role });
  const token = await app.login('ann@example.com');
  const me = (authorization: string) => app.request('GET', '/me', { headers: { authorization } });

  t.test('a good token names its account, role included, without the password', async (t) => {
    for (const header of [`Bearer ${token}`, `bearer ${token}`, `BEARER   ${token}`]) {
      const answer = await me(header);
      t.equal(answer.status, 200);
      t.match(answer.body, { user: { id: ann.id, email: 'ann@example.com', role: { name: 'admin' } } });
      t.notMatch(answer.text, /password|\$2b/);
    }
  });

  t.test('a request without a token returns 401 with a challenge', async (t) => {
    for (const headers of [
      {},
      { authorization: 'Basic YTpi' },
      { authorization: 'Bearer' },
      { authorization: token },
    ]) {
      const answer = await app.request('GET', '/me', { headers });
      t.match(answer, { status: 401, body: { code: 'unauthorized' } });
      t.equal(answer.headers.get('www-authenticate'), 'Bearer');
    }
  });

  t.test('an invalid token returns a 401 that says so', async (t) => {
    const issue = (id: unknown): string => app.app.auth.issueToken({ id: id as number, name: 'x', email: 'x' });
    const ids = [
      0,
      -1,
      1.5,
      2 ** 31,
      2 ** 53,
      1e300,
      'x',
      String(ann.id),
      '',
      null,
      true,
      [ann.id],
      {},
      { $gt: 0 },
      undefined,
      999_999,
    ];
    const bad = [
      ...ids.map((id) => `Bearer ${issue(id)}`),
      `Bearer ${token}x`,
      'Bearer x',
      `Bearer ${token} x`,
      `Bearer ${token},`,
    ];
    for (const header of bad) {
      const answer = await me(header);
      t.match(answer, { status: 401, body: { code: 'unauthorized' } }, header);
      t.equal(answer.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
    }
  });

  t.test('authentication comes before the body is read, and after the route is found', async (t) => {
    t.equal((await app.request('POST', '/closed', { body: '{' })).status, 401);
    t.equal((await app.get('/nowhere')).status, 404);
    t.equal((await app.get('/nowhere', 'bad')).status, 404);
    t.equal((await app.request('HEAD', '/me')).status, 401);
  });

  t.test('a token is refused after its account was deleted or disabled', async (t) => {
    const account = await app.addAccount('gone@example.com');
    const its = await app.login('gone@example.com');
    const em = orm.em.fork();
    await em.nativeUpdate(Account, { id: account.id }, { is_active: false });
    t.equal((await app.get('/me', its)).status, 401);
    await em.nativeUpdate(Account, { id: account.id }, { is_active: true });
    t.equal((await app.get('/me', its)).status, 200);
    await em.nativeDelete(Account, { id: account.id });
    t.equal((await app.get('/me', its)).status, 401);
  });

  t.test('on a route without authentication, a valid token sets the user and an invalid one is ignored', async (t) => {
    t.match(await app.get('/open/who'), { status: 200, body: { user: null } });
    t.match(await app.get('/open/who', token), { status: 200, body: { user: 'ann@example.com' } });
    t.match(await app.get('/open/who', 'bad'), { status: 200, body: { user: null } });
    t.equal((await app.get('/open/who', 'bad')).headers.get('www-authenticate'), null);
    const login = { email: 'ann@example.com', password: PASSWORD };
    t.equal((await app.post('/auth/login', login, { authorization: 'Bearer bad' })).status, 200);
    for (const [sent, challenge] of [
      [undefined, 'Bearer'],
      ['bad', 'Bearer error="invalid_token"'],
    ] as const) {
      const answer = await app.get('/open/closed', sent);
      t.equal(answer.status, 401);
      t.equal(answer.headers.get('www-authenticate'), challenge);
    }
  });

  t.test('a public route needs no token and loads no user', async (t) => {
    t.match(await app.get('/free', 'bad'), { status: 200, body: { user: null } });
    t.match(await app.get('/free', token), { status: 200, body: { user: null } });
  });

  t.test('the role is read with the account, not from the token', async (t) => {
    const em = orm.em.fork();
    await em.nativeUpdate(Role, { id: role.id }, { name: 'former' });
    t.match((await app.get('/me', token)).body, { user: { role: { name: 'former' } } });
  });
});

t.test('the three functions can be replaced', async (t) => {
  const orm = await openSqlite(t, { entities });
  const calls: unknown[][] = [];
  const bob = new AccountUser({ id: 7, email: 'bob@example.com', name: 'Bob', is_active: true, role: null });
  const options = {
    authenticate: (request: FastifyRequest): AuthPayload => {
      const key = request.headers['x-api-key'];
      if (key === 'down') throw new ServiceUnavailable();
      if (key === undefined) throw new Unauthorized('Send a key');
      return key === 'empty' ? {} : { user_id: key };
    },
    retrieveUser: async (_request: FastifyRequest, payload: AuthPayload | null | undefined) => {
      calls.push(['retrieveUser', payload]);
      return payload?.user_id === 'void' ? (undefined as never) : payload?.user_id === 'bob' ? bob : null;
    },
    storeUser: async (request: FastifyRequest, id: number) => {
      calls.push(['storeUser', id]);
      request.user = bob;
    },
  };
  const app = await startApp(t, orm, { ...options, nonAuthEndpoints: ['/open/*'] }, addRoutes);
  const get = (path: string, key?: string) =>
    app.request('GET', path, key === undefined ? {} : { headers: { 'x-api-key': key } });
  t.match(await get('/me'), { status: 401, body: { error: 'Send a key' } });
  t.match(await get('/me', 'empty'), { status: 401 });
  t.match(await get('/me', 'eve'), { status: 401 });
  t.match(await get('/me', 'void'), { status: 401 }, 'undefined is nobody, as null is');
  t.match(await get('/me', 'bob'), { status: 200, body: { user: { email: 'bob@example.com' } } });
  t.strictSame(calls.at(-1), ['storeUser', 7]);
  t.match(await get('/open/who', 'bob'), { body: { user: 'bob@example.com' } });
  t.match(await get('/open/who', 'eve'), { status: 200, body: { user: null } });
  t.match(await get('/open/who', 'down'), { status: 503 }, 'what is no Unauthorized is no "nobody"');
});

t.test('app.auth has the three functions, and issues a token for a custom login', async (t) => {
  const orm = await openSqlite(t, { entities });
  const app = await startApp(t, orm, {}, (instance) => {
    instance.post('/store/:id', { config: { public: true } }, async (request) => {
      await instance.auth.storeUser(request, Number((request.params as { id: string }).id));
      return { user: request.user };
    });
    instance.post('/retrieve', { config: { public: true } }, async (request) => {
      const { retrieveUser } = instance.auth;
      return Promise.all(
        [null, undefined, {}, { user_id: null }, { user_id: 1 }].map((payload) =>
          Promise.resolve(retrieveUser(request, payload)),
        ),
      );
    });
  });
  const ann = await app.addAccount('ann@example.com');
  t.match(await app.get('/me', app.app.auth.issueToken(ann)), { status: 200, body: { user: { id: ann.id } } });
  t.match((await app.request('POST', `/store/${ann.id}`)).body, { user: { id: ann.id } });
  t.match((await app.request('POST', '/store/999')).body, { user: null });
  t.match(JSON.parse((await app.request('POST', '/retrieve')).text), [null, null, null, null, { id: ann.id }]);
});

t.test('one query per request, and none without a token', async (t) => {
  const queries: string[] = [];
  const orm = await openSqlite(t, {
    entities,
    orm: { debug: ['query'], colors: false, logger: (line) => void queries.push(line) },
  });
  const app = await startApp(t, orm);
  await app.addAccount('ann@example.com', { role: await app.addRole('admin') });
  const token = await app.login('ann@example.com');
  queries.length = 0;
  await app.get('/me', token);
  t.equal(queries.length, 1, queries.join('\n'));
  t.match(queries[0], /^\[query\] select .* left join "role" /);
  t.notMatch(queries[0], /password|last_login/);
  queries.length = 0;
  await app.get('/me');
  await app.get('/me', 'bad');
  t.strictSame(queries, []);
});
