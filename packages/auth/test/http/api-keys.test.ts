import { createHmac } from 'node:crypto';
import { defineEntity, p } from '@mikro-orm/core';
import { action, IsAuthenticated, IsRoleAdminUser, Router, serverOptions, ViewSet, viewset } from '@viewset/core';
import fastify, { type FastifyInstance } from 'fastify';
import { Writable } from 'node:stream';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { auth, HasPermission } from '../../src/index.ts';
import { MailBox, PASSWORD, SECRET, startApp, type TestApp } from '../support/app.ts';
import {
  Account as PlainAccount,
  ApiKey as PlainApiKey,
  PermissionRole as Role,
  Role as PlainRole,
  RolesAccount as Account,
  Session,
  TwoFactor,
} from '../support/entities.ts';
import { codeOf } from '../support/totp-code.ts';

const ApiKey = defineEntity({
  name: 'ApiKey',
  properties: {
    id: p.string().length(16).primary(),
    account: () => p.manyToOne(Account).deleteRule('cascade'),
    name: p.string().length(100),
    hash: p.string().length(43),
    scopes: p.json<string[]>().nullable(),
    expires_at: p.datetime(3).nullable(),
    last_used_at: p.datetime(3).nullable(),
    created_at: p.datetime(3),
  },
});

const answer = (): object => ({});

class Things extends ViewSet {
  override permissionClasses = [IsAuthenticated];
  any = action({}, answer);
  write = action({ permissionClasses: [HasPermission('products.write')] }, answer);
  read = action({ permissionClasses: [HasPermission('products.read')] }, answer);
  staff = action({ permissionClasses: [IsRoleAdminUser] }, answer);
}

function addRoutes(app: FastifyInstance): void {
  const router = new Router();
  router.register('things', Things);
  void app.register(router.plugin);
}

interface NewKey {
  readonly id: string;
  readonly key: string;
  readonly [field: string]: unknown;
}

const queries: string[] = [];
const logged = { debug: ['query' as const], colors: false, logger: (line: string) => void queries.push(line) };
const names = ['products.write', 'products.read', 'prices.read'];

forEachDatabase(t, { entities: [Account, Role, ApiKey], orm: logged }, async (t, orm) => {
  const options = { account: Account, apiKeys: ApiKey, permissions: names };
  const app = await startApp(t, orm, options, addRoutes);
  const other = await startApp(t, orm, { ...options, userCacheSeconds: 60 }, addRoutes);
  const em = orm.em.fork();
  const admin = em.create(Role, { name: 'admin', permissions: ['products.write'] });
  const reader = em.create(Role, { name: 'reader', permissions: ['products.read'] });
  await em.flush();
  const accountOf = async (name: string): Promise<{ id: number; token: string }> => {
    const fork = orm.em.fork();
    const fields = {
      email: `${name}@example.com`,
      password: PASSWORD,
      name: 'Ann',
      is_active: true,
      role: admin,
      roles: [reader],
    };
    const account = fork.create(Account, fields as never);
    await fork.persist(account).flush();
    return { id: account.id, token: await app.login(`${name}@example.com`) };
  };
  const ann = await accountOf('ann');
  const by = (token: string) => ({ authorization: `Bearer ${token}` });
  const make = async (body: object, token = ann.token): Promise<NewKey> => {
    const made = await app.post('/auth/api-keys', body, by(token));
    t.equal(made.status, 201, made.text);
    return made.body as unknown as NewKey;
  };
  const list = async (token = ann.token): Promise<NewKey[]> =>
    (await app.get('/auth/api-keys', token)).body as unknown as NewKey[];
  const statuses = async (key: string, on: TestApp = app): Promise<number[]> => {
    const answers = await Promise.all(['any', 'write', 'read', 'staff'].map((name) => on.get(`/things/${name}`, key)));
    return answers.map(({ status }) => status);
  };

  t.test('a key is shown once, stored hashed, and is a bearer token for all that its account may do', async (t) => {
    const made = await make({ name: 'backup' });
    t.match(made, {
      id: /^[0-9a-f]{16}$/,
      prefix: `key_${made.id}`,
      key: new RegExp(`^key_${made.id}_[\\w-]{43}$`),
      name: 'backup',
      scopes: null,
      expires_at: null,
      last_used_at: null,
      created_at: /Z$/,
    });
    const [shown] = await list();
    const { key, ...rest } = made;
    t.strictSame(shown, rest);
    const stored = JSON.stringify(await orm.em.fork().findOneOrFail(ApiKey, { id: made.id }));
    t.notOk(stored.includes(key.slice(-43)), 'the secret, which may have any of the characters around it');
    t.strictSame(await statuses(key), [200, 200, 200, 200]);
    t.strictSame(await statuses(key, other), [200, 200, 200, 200], 'in another process too');
    t.match((await app.get('/me', key)).body, {
      user: { email: 'ann@example.com', role: { name: 'admin' }, api_key: { id: made.id, scopes: null } },
    });
  });

  t.test('a key with scopes can do what both it and its account may, and nothing by a role', async (t) => {
    const { key, scopes } = await make({ name: 'x', scopes: ['products.read', 'prices.read', 'products.read'] });
    t.strictSame(scopes, ['products.read', 'prices.read']);
    t.strictSame(await statuses(key), [200, 403, 200, 403]);
    t.match((await app.get('/me', key)).body, { user: { role: null, roles: [], permissions: ['products.read'] } });
    const { key: none } = await make({ name: 'y', scopes: [] });
    t.strictSame(await statuses(none), [200, 403, 403, 403]);
    const broken = await make({ name: 'z', scopes: ['products.write'] });
    await orm.em.fork().nativeUpdate(ApiKey, { id: broken.id }, { scopes: 'products.write' as never });
    t.strictSame(await statuses(broken.key), [200, 403, 403, 403], 'scopes that cannot be read permit nothing');
  });

  t.test("a change of the account's role changes the rights of the key", async (t) => {
    const bob = await accountOf('bob');
    const { key } = await make({ name: 'x', scopes: ['products.write'] }, bob.token);
    t.strictSame(await statuses(key), [200, 200, 403, 403]);
    await orm.em.fork().nativeUpdate(Account, { id: bob.id }, { role: null });
    t.strictSame(await statuses(key), [200, 403, 403, 403]);
  });

  t.test('a revoked, expired or foreign key, and one of a disabled account, returns 401', async (t) => {
    const refused = async (key: string): Promise<void> => {
      for (const on of [app, other]) {
        const answer = await on.get('/things/any', key);
        t.match(answer, { status: 401, body: { code: 'unauthorized' } });
        t.equal(answer.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
      }
    };
    const eve = await accountOf('eve');
    const revoked = await make({ name: 'x' }, eve.token);
    t.strictSame(await statuses(revoked.key, other), [200, 200, 200, 200]);
    const remove = (id: string, token: string) => app.request('DELETE', `/auth/api-keys/${id}`, { headers: by(token) });
    t.equal((await remove(revoked.id, ann.token)).status, 404, 'another account has no such key');
    for (const id of [
      '%00',
      `${revoked.id}%00`,
      `${revoked.id.slice(1)}%F0%9F%98%80`,
      `${revoked.id.toUpperCase()}G`,
    ]) {
      t.match(await remove(id, eve.token), { status: 404, body: { code: 'not_found' } }, id);
    }
    t.equal((await remove(revoked.id, eve.token)).status, 204);
    t.equal((await remove(revoked.id, eve.token)).status, 404);
    await refused(revoked.key);
    const expiring = await make({ name: 'x', expires_at: '2999-01-01T00:00:00Z' }, eve.token);
    t.equal(expiring['expires_at'], '2999-01-01T00:00:00.000Z');
    t.equal((await app.get('/things/any', expiring.key)).status, 200);
    await orm.em.fork().nativeUpdate(ApiKey, { id: expiring.id }, { expires_at: new Date(Date.now() - 1) });
    await refused(expiring.key);
    const { key, id } = await make({ name: 'x' }, eve.token);
    const wrong = `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`;
    for (const each of [wrong, `${key}x`, key.slice(0, -1), `key_${id}_`, `key_${'0'.repeat(16)}_${'A'.repeat(43)}`]) {
      await refused(each);
    }
    await orm.em.fork().nativeUpdate(Account, { id: eve.id }, { is_active: false });
    await refused(key);
  });

  t.test('a key manages no keys', async (t) => {
    const { key, id } = await make({ name: 'x' });
    const answers = [
      await app.get('/auth/api-keys', key),
      await app.post('/auth/api-keys', { name: 'y' }, by(key)),
      await app.request('DELETE', `/auth/api-keys/${id}`, { headers: by(key) }),
    ];
    for (const answer of answers) t.match(answer, { status: 403, body: { code: 'forbidden' } });
    t.equal((await app.get('/things/any', key)).status, 200);
  });

  t.test('requests for keys need a token', async (t) => {
    t.equal((await app.get('/auth/api-keys')).status, 401);
    t.equal((await app.post('/auth/api-keys', { name: 'x' })).status, 401);
    t.equal((await app.request('DELETE', '/auth/api-keys/x')).status, 401);
  });

  t.test('an invalid body names every invalid field', async (t) => {
    const faults = async (body: unknown): Promise<unknown> => {
      const { status, body: answer } = await app.post('/auth/api-keys', body, by(ann.token));
      t.equal(status, 400);
      return (answer as unknown as { details: { path: string }[] }).details.map(({ path }) => path);
    };
    t.strictSame(await faults({}), ['/name']);
    t.strictSame(await faults({ name: '', scopes: 'x', expires_at: 5 }), ['/name', '/scopes', '/expires_at']);
    t.strictSame(await faults({ name: 'a'.repeat(101) }), ['/name']);
    t.strictSame(await faults({ name: 'a\0' }), ['/name']);
    t.strictSame(await faults({ name: 'x', scopes: ['products.read', 'products.wriet'] }), ['/scopes/1']);
    t.strictSame(await faults({ name: 'x', expires_at: '2001-01-01T00:00:00Z' }), ['/expires_at']);
    t.equal((await app.request('POST', '/auth/api-keys', { headers: by(ann.token) })).status, 400);
  });

  t.test('one query loads a key and its user, and its use is recorded at most once a minute', async (t) => {
    const { key, id } = await make({ name: 'x' });
    const count = async (): Promise<number> => {
      queries.length = 0;
      t.equal((await app.get('/things/any', key)).status, 200);
      return queries.length;
    };
    t.equal(await count(), 2, queries.join('\n'));
    const noted = (await orm.em.fork().findOneOrFail(ApiKey, { id })).last_used_at!;
    t.ok(Math.abs(noted.getTime() - Date.now()) < 60_000);
    t.equal(await count(), 1, queries.join('\n'));
    t.equal((await list()).find((each) => each.id === id)?.['last_used_at'], noted.toISOString());
    const longAgo = new Date(Date.now() - 61_000);
    await orm.em.fork().nativeUpdate(ApiKey, { id }, { last_used_at: longAgo });
    t.equal(await count(), 2);
    t.ok((await orm.em.fork().findOneOrFail(ApiKey, { id })).last_used_at! > longAgo);
  });
});

t.test('keys leave an audit line, without the key', async (t) => {
  const orm = await openSqlite(t, { entities: [PlainAccount, PlainRole, PlainApiKey] });
  const lines: string[] = [];
  const stream = new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) });
  const app = fastify(serverOptions({ logger: { stream } }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  const options = { account: PlainAccount, secret: SECRET, bcryptRounds: 4, mailer: new MailBox() };
  await app.register(auth, { ...options, apiKeys: { entity: PlainApiKey, prefix: 'shop' } });
  const em = orm.em.fork();
  const account = em.create(PlainAccount, {
    email: 'ann@example.com',
    password: PASSWORD,
    name: 'Ann',
    is_active: true,
  });
  await em.flush();
  const headers = { authorization: `Bearer ${app.auth.issueToken(account)}` };
  const made = await app.inject({ method: 'POST', url: '/auth/api-keys', headers, payload: { name: 'x' } });
  const { id, key } = made.json<{ id: string; key: string }>();
  t.match(key, /^shop_/);
  await app.inject({ method: 'POST', url: '/auth/api-keys', headers: { authorization: `Bearer ${key}` }, payload: {} });
  await app.inject({ method: 'DELETE', url: `/auth/api-keys/${id}`, headers });
  await app.inject({ method: 'GET', url: '/auth/api-keys', headers: { authorization: `Bearer ${key}` } });
  const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ event }) => event);
  t.match(events, [
    { event: 'auth.api_key_created', account: account.id, api_key: id },
    { event: 'auth.api_key_refused', account: account.id },
    { event: 'auth.api_key_deleted', account: account.id, api_key: id },
    { event: 'auth.token_refused', account: null },
  ]);
  t.notOk(lines.some((line) => line.includes(key)));
});

t.test('an entity that cannot be the API key fails at start', async (t) => {
  const fields = {
    id: p.string().length(16).primary(),
    account: () => p.manyToOne(PlainAccount).deleteRule('cascade'),
    name: p.string().length(100),
    hash: p.string().length(43),
    scopes: p.json<string[]>().nullable(),
    expires_at: p.datetime().nullable(),
    last_used_at: p.datetime().nullable(),
    created_at: p.datetime(),
  };
  const { scopes: _scopes, ...scopeless } = fields;
  const entity = (name: string, properties: object): never => defineEntity({ name, properties } as never) as never;
  const wrong: [object, RegExp][] = [
    [{ apiKeys: entity('A', scopeless) }, /option "apiKeys" must have the properties .*; A has no scopes/],
    [{ apiKeys: entity('B', { ...fields, id: p.integer().primary() }) }, /must have "id" as a text/],
    [{ apiKeys: entity('C', { ...fields, hash: p.string().length(20) }) }, /room for a hash, 43 characters, in "hash"/],
    [
      { apiKeys: entity('D', { ...fields, account: () => p.manyToOne(PlainRole) }) },
      /must refer by "account" to Account/,
    ],
    [{ apiKeys: entity('E', { ...fields, expires_at: p.datetime() }) }, /"expires_at" nullable/],
    [{ apiKeys: { entity: PlainApiKey, prefix: 'a_b' } }, /option "apiKeys" must be an entity, or/],
    [{ apiKeys: { entity: PlainApiKey, prefx: 'a' } }, /unknown option "prefx"/],
    [{ apiKeys: PlainApiKey, storeUser: () => {} }, /option "apiKeys" needs the default of "storeUser"/],
    [{ routes: ['login', 'api-keys'] }, /the route "api-keys" needs the option "apiKeys"/],
  ];
  for (const [options, message] of wrong) {
    const { apiKeys } = options as { apiKeys?: { entity?: never } };
    const known = apiKeys === undefined || apiKeys.entity !== undefined ? PlainApiKey : apiKeys;
    const orm = await openSqlite(t, { entities: [PlainAccount, PlainRole, known as never] });
    const app = fastify(serverOptions());
    await app.register(viewset, { orm });
    const given = { account: PlainAccount, secret: SECRET, mailer: new MailBox(), ...options };
    await t.rejects(async () => app.register(auth, given as never), { name: 'ImproperlyConfigured', message });
    await app.close().catch(() => {});
  }
});

forEachDatabase(t, { entities: [PlainAccount, PlainRole, PlainApiKey, Session, TwoFactor] }, async (t, orm) => {
  const app = await startApp(t, orm, { apiKeys: PlainApiKey, sessions: Session, twoFactor: TwoFactor });
  const without = await startApp(t, orm, { apiKeys: PlainApiKey });
  const make = async (at: TestApp, token: string, more: object = {}): Promise<number> =>
    (await at.post('/auth/api-keys', { name: 'x', ...more }, { authorization: `Bearer ${token}` })).status;

  t.test('a key needs the password, with two factors also a code, or a login of the last ten minutes', async (t) => {
    const { id } = await app.addAccount('ann@example.com');
    const login = await app.post('/auth/login', { email: 'ann@example.com', password: PASSWORD, refresh: 'body' });
    const { access_token, refresh_token } = login.body as unknown as { access_token: string; refresh_token: string };
    t.equal(await make(app, access_token), 201);
    const begun = (seconds: number) =>
      orm.em
        .fork()
        .nativeUpdate(Session, { account: id as never }, { created_at: new Date(Date.now() - seconds * 1000) });
    await begun(590);
    t.equal(await make(app, access_token), 201);
    await begun(601);
    const refreshed = await app.post('/auth/refresh', { refresh_token });
    const token = String(refreshed.body['access_token']);
    t.match(await app.post('/auth/api-keys', { name: 'x' }, { authorization: `Bearer ${token}` }), {
      status: 403,
      body: { code: 'forbidden', error: /older than ten minutes/ },
    });
    t.equal(await make(app, token, { password: 'wrong one' }), 403);
    t.equal(await make(app, token, { code: '000000' }), 403);
    t.equal(await make(app, token, { password: 7 }), 400);
    t.equal(await make(app, token, { password: PASSWORD }), 201);
    const by = { authorization: `Bearer ${token}` };
    t.equal((await app.post('/auth/two-factor', {}, by)).status, 403, 'nor is a second factor switched on');
    const { secret } = (await app.post('/auth/two-factor', { password: PASSWORD }, by)).body as never as {
      secret: string;
    };
    await app.post('/auth/two-factor/confirm', { code: codeOf(secret, -1) }, by);
    const code = codeOf(secret);
    t.match(await app.post('/auth/api-keys', { name: 'x', password: PASSWORD }, by), {
      status: 403,
      body: { error: 'A code of the second factor is required with the password' },
    });
    t.equal(await make(app, token, { code }), 403, 'nor is the code alone enough');
    t.equal(await make(app, token, { password: PASSWORD, code: '000000' }), 403);
    t.equal(await make(app, token, { password: PASSWORD, code }), 201);
    t.equal(await make(app, token, { password: PASSWORD, code }), 403, 'a code proves once');
    t.equal(await make(app, token), 403);
    for (let guess = 0; guess < 12; guess++) await make(app, token, { password: 'wrong one' });
    t.equal(await make(app, token, { password: PASSWORD }), 429, 'guesses count as wrong passwords');
  });

  t.test('a code proves the owner of an account without a password', async (t) => {
    const { id } = await app.addAccount('service@example.com');
    const token = await app.login('service@example.com');
    const by = { authorization: `Bearer ${token}` };
    const { secret } = (await app.post('/auth/two-factor', {}, by)).body as never as { secret: string };
    await app.post('/auth/two-factor/confirm', { code: codeOf(secret, -1) }, by);
    const em = orm.em.fork();
    await em.nativeUpdate(PlainAccount, { id }, { password: '!' });
    await em.nativeUpdate(Session, { account: { id } }, { created_at: new Date(Date.now() - 601_000) });
    t.equal(await make(app, token), 403);
    t.equal(await make(app, token, { password: '!' }), 403);
    t.equal(await make(app, token, { code: codeOf(secret) }), 201);
  });

  t.test('simultaneous requests make no more keys than an account may have', async (t) => {
    const few = await startApp(t, orm, { apiKeys: { entity: PlainApiKey, maxPerAccount: 3 } });
    const { id } = await few.addAccount('rush@example.com');
    const token = await few.login('rush@example.com');
    const statuses = await Promise.all(Array.from({ length: 8 }, () => make(few, token)));
    t.strictSame(
      statuses.toSorted((one, other) => one - other),
      [201, 201, 201, 409, 409, 409, 409, 409],
    );
    t.equal(await orm.em.fork().count(PlainApiKey, { account: { id } }), 3);
  });

  t.test('an account has a bounded number of keys', async (t) => {
    const few = await startApp(t, orm, { apiKeys: { entity: PlainApiKey, maxPerAccount: 3 } });
    const [ann, bob] = await Promise.all(
      ['few1@example.com', 'few2@example.com'].map(async (email) => {
        await few.addAccount(email);
        return few.login(email);
      }),
    );
    for (const status of [201, 201, 201, 409]) t.equal(await make(few, ann!), status);
    t.equal(await make(few, bob!), 201, 'of each account');
    const by = { authorization: `Bearer ${ann!}` };
    const [key] = (await few.request('GET', '/auth/api-keys', { headers: by })).body as never as { id: string }[];
    t.equal((await few.request('DELETE', `/auth/api-keys/${key!.id}`, { headers: by })).status, 204);
    t.equal(await make(few, ann!), 201);
    for (const maxPerAccount of [0, 1001, 1.5, '5']) {
      const wrong = startApp(t, orm, { apiKeys: { entity: PlainApiKey, maxPerAccount } as never });
      await t.rejects(wrong, { message: /"apiKeys.maxPerAccount" must be a whole number from 1 to 1000/ });
    }
  });

  t.test('without sessions the token contains the time of the login', async (t) => {
    await app.addAccount('bob@example.com');
    const token = await without.login('bob@example.com');
    t.equal(await make(without, token), 201);
    const [header = '', payload = ''] = token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { iat: number };
    const older = Buffer.from(JSON.stringify({ ...claims, iat: claims.iat - 601 })).toString('base64url');
    const signature = createHmac('sha256', SECRET).update(`${header}.${older}`).digest('base64url');
    const old = `${header}.${older}.${signature}`;
    t.equal((await without.get('/me', old)).status, 200);
    t.equal(await make(without, old), 403);
    t.equal(await make(without, old, { password: PASSWORD }), 201);
  });
});
