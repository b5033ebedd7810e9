import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { AllowAny, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { Writable } from 'node:stream';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import {
  AccountViewSet,
  auth,
  HasPermission,
  keepAdministrator,
  RoleViewSet,
  SessionViewSet,
} from '../../src/index.ts';
import { MailBox, PASSWORD, SECRET, startApp } from '../support/app.ts';
import { PermissionRole as Role, RolesAccount as Account, RolesSession as Session } from '../support/entities.ts';

const permissions = ['products.read', 'products.write', 'members.manage'] as const;

class Accounts extends AccountViewSet(Account, { roles: true }) {}
class ManagedAccounts extends AccountViewSet(Account, {
  roles: true,
  permissionClasses: [HasPermission('members.manage')],
  bulk: 5,
}) {}
class Roles extends RoleViewSet(Role, { permissions }) {}

interface RecordBody {
  readonly id: number | string;
  readonly [field: string]: unknown;
}

interface PageBody {
  readonly count: number;
  readonly results: readonly RecordBody[];
}

function addRoutes(app: FastifyInstance): void {
  const router = new Router({ prefix: 'api' });
  router.register('accounts', Accounts);
  router.register('managed', ManagedAccounts);
  router.register('roles', Roles);
  router.register('sessions', SessionViewSet(Session));
  void app.register(router.plugin);
}

forEachDatabase(t, { entities: [Account, Role, Session] }, async (t, orm) => {
  const options = { account: Account, sessions: Session, permissions, passwords: {} };
  const me = { write: writeShape(Account, ['name']), delete: keepAdministrator(Account) };
  const app = await startApp(t, orm, { ...options, me }, addRoutes);
  const em = orm.em.fork();
  const [admin, user, editor] = ['admin', 'user', 'editor'].map((name) => em.create(Role, { name, permissions: [] }));
  await em.flush();
  const addAccount = async (email: string, role: object | null, roles: readonly object[] = []): Promise<number> => {
    const fork = orm.em.fork();
    const account = fork.create(Account, { email, password: PASSWORD, name: 'Ann', role, roles } as never);
    await fork.flush();
    return account.id;
  };
  const send = async (method: string, path: string, token: string | undefined, json?: unknown) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const answer = await app.request(method, `/api${path}`, { headers, ...(json !== undefined && { json }) });
    return { status: answer.status, body: answer.body as unknown as RecordBody & PageBody };
  };
  const adminId = await addAccount('admin@example.com', admin!);
  const token = await app.login('admin@example.com');
  const annId = await addAccount('ann@example.com', user!, [editor!]);
  const ann = await app.login('ann@example.com');

  t.test('only administrators see and change accounts', async (t) => {
    const list = await send('GET', '/accounts', token);
    t.equal(list.status, 200);
    t.strictSame(list.body.results, [
      { id: adminId, email: 'admin@example.com', name: 'Ann', is_active: true, role: 'admin', roles: [] },
      { id: annId, email: 'ann@example.com', name: 'Ann', is_active: true, role: 'user', roles: ['editor'] },
    ]);
    for (const [method, path, json] of [
      ['GET', '/accounts', undefined],
      ['GET', `/accounts/${annId}`, undefined],
      ['PATCH', `/accounts/${annId}`, { role: 'admin' }],
      ['DELETE', `/accounts/${adminId}`, undefined],
      ['GET', '/sessions', undefined],
    ] as const) {
      t.equal((await send(method, path, ann, json)).status, 403, `${method} ${path}`);
      t.equal((await send(method, path, undefined, json)).status, 401, `${method} ${path}`);
    }
    t.equal((await send('POST', '/accounts', token, {})).status, 405, 'accounts come from registration');
    t.equal((await send('GET', '/accounts?role=user&search=ANN%40', token)).body.count, 1);
  });

  t.test('a change of roles works at once', async (t) => {
    const path = `/accounts/${annId}`;
    t.match(await send('PATCH', path, token, { roles: ['editor', 'admin'] }), {
      status: 200,
      body: { role: 'user', roles: ['admin', 'editor'] },
    });
    t.equal((await send('GET', '/accounts', ann)).status, 200, 'a further role makes an administrator too');
    t.match(await send('PATCH', path, token, { role: null, roles: [], name: 'Bea' }), {
      status: 200,
      body: { role: null, roles: [], name: 'Bea' },
    });
    t.equal((await send('GET', '/accounts', ann)).status, 403);
    t.equal((await send('PATCH', path, token, { role: 'nobody' })).status, 400);
    t.equal((await send('PATCH', path, token, { roles: ['nobody'] })).status, 400);
    t.equal((await send('PATCH', path, token, { email: 'no address' })).status, 400);
    t.equal((await send('PATCH', path, token, { email: 'mi\u212ae@example.com' })).status, 400, 'the Kelvin sign');
    t.equal((await send('PATCH', path, token, { email: 'ADMIN@example.com' })).status, 409);
    t.match(await send('PATCH', path, token, { email: ' Bea@Example.com ' }), { body: { email: 'bea@example.com' } });
    t.match(await send('PATCH', path, token, { password: 'another one', id: 77 }), {
      status: 200,
      body: { id: annId },
    });
    t.ok(await app.login('bea@example.com'), 'the password is not in the shape');
  });

  t.test('a user who manages accounts without being an administrator cannot gain further rights', async (t) => {
    const fork = orm.em.fork();
    const [clerkRole, writerRole] = [
      fork.create(Role, { name: 'clerk', permissions: ['members.manage'] }),
      fork.create(Role, { name: 'shop writer', permissions: ['products.write'] }),
    ];
    await fork.flush();
    const clerkId = await addAccount('clerk@example.com', clerkRole);
    const writerId = await addAccount('writer@example.com', writerRole);
    const furtherId = await addAccount('further@example.com', user!, [admin!]);
    const plainId = await addAccount('plain@example.com', user!);
    const clerk = await app.login('clerk@example.com');
    for (const [id, change] of [
      [clerkId, { role: 'admin' }],
      [clerkId, { roles: ['admin'] }],
      [plainId, { role: 'clerk' }],
      [plainId, { role: null }],
      [adminId, { email: 'mallory@example.com' }],
      [furtherId, { email: 'mallory@example.com' }],
      [writerId, { email: 'mallory@example.com' }],
      [adminId, { is_active: false }],
    ] as const) {
      const text = JSON.stringify(change);
      t.equal((await send('PATCH', `/managed/${id}`, clerk, change)).status, 403, `${id} ${text}`);
      t.equal((await send('PATCH', '/managed', clerk, [{ id, ...change }])).status, 403, `several: ${id} ${text}`);
    }
    for (const id of [adminId, furtherId, writerId]) {
      t.equal((await send('DELETE', `/managed/${id}`, clerk)).status, 403, `DELETE ${id}`);
    }
    t.equal((await send('DELETE', `/managed?pk=${plainId},${adminId}`, clerk)).status, 403, 'all or none');
    t.match((await send('GET', `/managed/${adminId}`, token)).status, 403, 'the permission is asked of all');
    t.match((await send('GET', `/accounts/${adminId}`, token)).body, { email: 'admin@example.com', is_active: true });
    t.match((await send('GET', `/accounts/${clerkId}`, token)).body, { role: 'clerk', roles: [] });
    t.match(await send('PATCH', `/managed/${clerkId}`, clerk, { name: 'Clara', role: 'clerk' }), { status: 200 });
    t.match(await send('PATCH', `/managed/${plainId}`, clerk, { email: 'plainer@example.com' }), { status: 200 });
    t.equal((await send('DELETE', `/managed/${plainId}`, clerk)).status, 204);
    for (const id of [clerkId, writerId, furtherId]) await send('DELETE', `/accounts/${id}`, token);
  });

  t.test('a disabled account is out at once', async (t) => {
    t.equal((await app.get('/me', ann)).status, 200);
    t.equal((await send('PATCH', `/accounts/${annId}`, token, { is_active: false })).status, 200);
    t.equal((await app.get('/me', ann)).status, 401);
    t.equal((await send('PATCH', `/accounts/${annId}`, token, { is_active: true })).status, 200);
  });

  t.test('the last administrator stays, by either kind of role', async (t) => {
    for (const [method, json] of [
      ['PATCH', { role: 'user' }],
      ['PATCH', { is_active: false }],
      ['DELETE', undefined],
    ] as const) {
      t.equal(
        (await send(method, `/accounts/${adminId}`, token, json)).status,
        409,
        `${method} ${JSON.stringify(json)}`,
      );
    }
    const own = await app.request('DELETE', '/auth/me', {
      headers: { authorization: `Bearer ${token}` },
      json: { password: PASSWORD },
    });
    t.equal(own.status, 409);
    t.match(await send('PATCH', `/accounts/${adminId}`, token, { role: 'user', roles: ['admin'] }), { status: 200 });
    t.equal((await send('PATCH', `/accounts/${adminId}`, token, { roles: [] })).status, 409);
    t.match(await send('PATCH', `/accounts/${adminId}`, token, { role: 'admin', roles: [] }), { status: 200 });
  });

  t.test('roles carry the permissions that the view lists', async (t) => {
    const made = await send('POST', '/roles', token, { name: 'writer', permissions: ['products.write'] });
    t.match(made, { status: 201, body: { name: 'writer', permissions: ['products.write'] } });
    const path = `/roles/${made.body.id}`;
    t.equal((await send('PATCH', path, token, { permissions: ['products.wriet'] })).status, 400);
    t.match(await send('PATCH', path, token, { permissions: ['products.read', 'products.write'] }), { status: 200 });
    t.match(await send('GET', path, undefined), { status: 401 });
    const again = await app.login('bea@example.com');
    t.match(await send('GET', path, again), {
      status: 200,
      body: { permissions: ['products.read', 'products.write'] },
    });
    t.equal((await send('PATCH', path, again, { permissions: [] })).status, 403);
    t.equal((await send('DELETE', path, token)).status, 204);
    const { body } = await send('GET', '/roles', token);
    const adminRole = body.results.find(({ name }) => name === 'admin')!.id;
    t.equal((await send('PATCH', `/roles/${adminRole}`, token, { name: 'boss' })).status, 409);
    t.equal((await send('DELETE', `/roles/${adminRole}`, token)).status, 409);
    t.equal((await send('PATCH', `/roles/${adminRole}`, token, { permissions: ['products.read'] })).status, 200);
  });

  t.test('administrators see and end the sessions of others', async (t) => {
    const tokens = [await app.login('bea@example.com'), await app.login('bea@example.com')];
    const { body } = await send('GET', `/sessions?account=${annId}`, token);
    t.strictSame(Object.keys(body.results[0]!).toSorted(), [
      'account',
      'created_at',
      'expires_at',
      'id',
      'ip',
      'last_used_at',
      'user_agent',
    ]);
    t.ok(body.results.every(({ account }) => account === annId));
    t.equal((await send('DELETE', `/sessions/${String(body.results[0]!['id'])}`, token)).status, 204);
    const statuses = async () => Promise.all(tokens.map(async (each) => (await app.get('/me', each)).status));
    t.strictSame(
      (await statuses()).toSorted((a, b) => a - b),
      [200, 401],
    );
    const ids = body.results.slice(1).map(({ id }) => id);
    t.equal((await send('DELETE', `/sessions?pk=${ids.join(',')}`, token)).status, 204);
    t.strictSame(await statuses(), [401, 401]);
    t.equal((await send('GET', `/sessions?account=${annId}`, token)).body.count, 0);
    await app.login('bea@example.com');
    await orm.em.fork().nativeUpdate(Session, { account: annId }, { expires_at: new Date(Date.now() - 1000) });
    t.equal((await send('GET', `/sessions?account=${annId}`, token)).body.count, 0, 'one that has expired is none');
  });
});

const Person = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary(),
    username: p.string().length(100),
    email: p.string().length(255).unique(),
    password: p.string().length(255).hidden(),
    rank: () => p.manyToOne(Role).nullable(),
    isActive: p.boolean().default(true),
    lastLogin: p.datetime(3).nullable(),
  },
});

t.test('custom names, and an audit line for each committed change', async (t) => {
  const orm = await openSqlite(t, { entities: [Person, Role] });
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) => done(void lines.push(JSON.parse(String(chunk)) as Record<string, unknown>)),
  });
  const app = fastify(serverOptions({ logger: { level: 'info', stream } }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  const names = { name: 'username', is_active: 'isActive', role: 'rank' } as const;
  const fields = { ...names, last_login: 'lastLogin' } as const;
  await app.register(auth, { account: Person, fields, secret: SECRET, mailer: new MailBox(), bcryptRounds: 4 });
  const router = new Router();
  router.register('people', AccountViewSet(Person, { names, adminRole: 'boss', bulk: 5 }));
  router.register('roles', RoleViewSet(Role, { adminRole: 'boss', permissions }));
  await app.register(router.plugin);
  const em = orm.em.fork();
  const boss = em.create(Role, { name: 'boss' });
  const clerk = em.create(Role, { name: 'clerk', permissions: ['products.read'] });
  for (const [username, rank] of [
    ['ann', boss],
    ['bob', clerk],
    ['cid', clerk],
  ] as const) {
    em.create(Person, { username, email: `${username}@example.com`, password: PASSWORD, rank, isActive: true });
  }
  await em.flush();
  const login = await app.inject({
    method: 'POST',
    url: '/auth/login',
    payload: { email: 'ann@example.com', password: PASSWORD },
  });
  const authorization = `Bearer ${login.json<{ access_token: string }>().access_token}`;
  const send = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
    lines.length = 0;
    const { statusCode, body } = await app.inject({
      method,
      url,
      headers: { authorization },
      ...(payload && { payload }),
    });
    const events = lines.filter(({ event }) => event !== undefined);
    const shown = events.map(({ event, account, target, role, was, permissions: given }) => ({
      event,
      account,
      target,
      role,
      was,
      given,
    }));
    return {
      statusCode,
      body: body === '' ? undefined : (JSON.parse(body) as unknown),
      events: JSON.parse(JSON.stringify(shown)) as unknown,
    };
  };
  t.match((await send('GET', '/people/2')).body, {
    id: 2,
    email: 'bob@example.com',
    username: 'bob',
    isActive: true,
    rank: 'clerk',
  });
  const event = (name: string, more: object) => ({ event: name, account: 1, ...more });
  t.strictSame((await send('PATCH', '/people/2', { username: 'Bob' })).events, []);
  t.strictSame((await send('PATCH', '/people/2', { rank: 'boss', isActive: false })).events, [
    event('auth.role_changed', { target: 2, role: 'boss', was: 'clerk' }),
    event('auth.account_disabled', { target: 2 }),
  ]);
  t.strictSame(await send('PATCH', '/people/1', { rank: null }), {
    statusCode: 409,
    body: { error: 'The last administrator cannot be removed; make another one first', code: 'conflict' },
    events: [],
  });
  t.strictSame(
    (
      await send('PATCH', '/people', [
        { id: 2, isActive: true },
        { id: 3, rank: null },
      ])
    ).events,
    [event('auth.account_enabled', { target: 2 }), event('auth.role_changed', { target: 3, role: null, was: 'clerk' })],
  );
  t.strictSame((await send('DELETE', '/people/2')).events, [event('auth.account_deleted', { target: 2 })]);
  t.strictSame((await send('DELETE', '/people?pk=3')).events, [event('auth.account_deleted', { target: 3 })]);
  t.strictSame((await send('PATCH', '/roles/2', { permissions: ['products.write'] })).events, [
    event('auth.permissions_changed', { target: 2, was: ['products.read'], given: ['products.write'] }),
  ]);
  t.strictSame((await send('PATCH', '/roles/2', { name: 'Clerk', permissions: ['products.write'] })).events, [
    event('auth.role_renamed', { target: 2, role: 'Clerk', was: 'clerk' }),
  ]);
  t.strictSame((await send('PATCH', '/roles/2', { name: 'Clerk' })).events, []);
  const made = await send('POST', '/roles', { name: 'guest', permissions: ['products.read'] });
  const { id: target } = made.body as { id: number };
  t.strictSame(made.events, [event('auth.role_created', { target, role: 'guest', given: ['products.read'] })]);
  t.equal((await send('POST', '/roles', { name: 'guest' })).statusCode, 409);
  t.strictSame((await send('POST', '/roles', { name: 'guest' })).events, [], 'what is not stored is no event');
  t.strictSame((await send('DELETE', `/roles/${target}`)).events, [
    event('auth.role_deleted', { target, role: 'guest' }),
  ]);
});

forEachDatabase(t, { entities: [Account, Role, Session], only: ['mongodb'] }, async (t, orm) => {
  const events: unknown[] = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) => done(void events.push((JSON.parse(String(chunk)) as { event?: string }).event)),
  });
  let losses = 0;
  class RacingRoles extends RoleViewSet(Role, { permissionClasses: [AllowAny], bulk: 5 }) {
    override async performUpdate(request: FastifyRequest, role: InferEntity<typeof Role>, data: { name?: string }) {
      const changed = await super.performUpdate(request, role, data);
      if (losses-- > 0) throw Object.assign(new Error('WriteConflict'), { code: 112 });
      return changed;
    }
  }
  const app = fastify(serverOptions({ logger: { level: 'info', stream } }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  await app.register(new Router().register('roles', RacingRoles).plugin);
  const { id } = (await app.inject({ method: 'POST', url: '/roles', payload: { name: 'clerk' } })).json<RecordBody>();
  for (const [url, payload] of [
    [`/roles/${id}`, { name: 'boss' }],
    ['/roles', [{ id, name: 'chief' }]],
  ] as const) {
    losses = 2;
    events.length = 0;
    t.equal((await app.inject({ method: 'PATCH', url, payload })).statusCode, 200);
    t.strictSame(
      events.filter((event) => event !== undefined),
      ['auth.role_renamed'],
      'an attempt that has lost a race is no event',
    );
  }
});
