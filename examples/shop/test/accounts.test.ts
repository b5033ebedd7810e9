import type { Test } from 'tap';
import { isError, isInvalid } from './support/expect.ts';
import { Account as StoredAccount } from '../src/entities/account.ts';
import { pastShop } from './support/database.ts';
import type { Page } from './support/records.ts';
import { ADMIN, PASSWORD, type Shop, withShop } from './support/shop.ts';
import { claimsOf } from './support/token.ts';

interface Account {
  id: number;
  email: string;
  name: string;
  is_active: boolean;
  role: string | null;
}

const ACCOUNTS = '/api/accounts';

withShop({}, async (t, shop) => {
  const admin = await shop.login();
  const id = await shop.register('user@example.com');
  const user = await shop.login({ email: 'user@example.com', password: PASSWORD });
  const own = `${ACCOUNTS}/${id}`;
  const adminId = Number(claimsOf(admin)['user_id']);

  await t.test('the read shape, without the password', async (t) => {
    const list = await shop.get<Page<Account>>(ACCOUNTS, { token: admin });
    t.equal(list.status, 200);
    t.equal(list.body.count, 2);
    for (const account of list.body.results) t.same(Object.keys(account), ['id', 'email', 'name', 'is_active', 'role']);
    t.notMatch(list.text, /password|\$2[aby]\$/);
    const one = await shop.get<Account>(own, { token: admin });
    t.same(one.body, { id, email: 'user@example.com', name: 'Some User', is_active: true, role: 'user' });
    t.same((await shop.get(`${ACCOUNTS}/${adminId}`, { token: admin })).body, {
      ...one.body,
      id: adminId,
      email: ADMIN.email,
      name: 'Administrator',
      role: 'admin',
    });
  });

  await t.test('access by role', async (t) => {
    isError(t, await shop.get(ACCOUNTS), 'unauthorized', 'list, nobody');
    isError(t, await shop.get(ACCOUNTS, { token: user }), 'forbidden', 'list, a user');
    isError(t, await shop.get(own), 'unauthorized', 'retrieve, nobody');
    t.equal((await shop.get(own, { token: user })).status, 200, 'retrieve, the account itself');
    t.equal((await shop.request('HEAD', own, { token: user })).status, 200, 'HEAD too');
    isError(t, await shop.get(`${ACCOUNTS}/${adminId}`, { token: user }), 'forbidden', 'retrieve, another');
    const body = { name: 'x', email: 'user@example.com', is_active: true, role: 'admin' };
    for (const [method, json] of [
      ['PUT', body],
      ['PATCH', { role: 'admin' }],
      ['PATCH', {}],
    ] as const) {
      isError(t, await shop.request(method, own, { json }), 'unauthorized', `${method}, nobody`);
      isError(t, await shop.request(method, own, { json, token: user }), 'forbidden', `${method}, the account itself`);
      isError(
        t,
        await shop.request(method, `${ACCOUNTS}/999999`, { json, token: user }),
        'forbidden',
        `${method}, a user`,
      );
    }
    isError(t, await shop.delete(own), 'unauthorized', 'destroy, nobody');
    isError(t, await shop.delete(own, { token: user }), 'forbidden', 'destroy, the account itself');
    isError(t, await shop.post(ACCOUNTS, body, { token: admin }), 'method_not_allowed', 'no create');
    t.same((await shop.get<Account>(own, { token: admin })).body.role, 'user', 'nothing was written');
  });

  await t.test('the administrator’s write shape', (t) => writing(t, shop, admin, own));
  await t.test('a role given and taken works at once', async (t) => {
    t.equal((await shop.patch(own, { role: 'admin' }, { token: admin })).status, 200);
    t.equal((await shop.get(ACCOUNTS, { token: user })).status, 200, 'with the token from before');
    t.equal((await shop.patch(own, { role: 'user' }, { token: admin })).status, 200);
    isError(t, await shop.get(ACCOUNTS, { token: user }), 'forbidden');
  });

  await t.test('search, filters and order', async (t) => {
    const roleless = await shop.register('roleless@example.com');
    await shop.patch(`${ACCOUNTS}/${roleless}`, { role: null, is_active: false }, { token: admin });
    const filter = (logic: unknown): string => `filter=${encodeURIComponent(JSON.stringify(logic))}`;
    for (const [query, ids] of [
      ['role=admin', [adminId]],
      ['role=user&role=admin', [adminId, id]],
      ['role=nothing', []],
      ['is_active=true', [adminId, id]],
      ['is_active=false', [roleless]],
      ['search=USER@', [id]],
      ['search=example+admin', [adminId]],
      ['sort=-id', [roleless, id, adminId]],
      ['sort=email', [adminId, roleless, id]],
      [filter({ '==': [{ var: 'role.name' }, 'user'] }), [id]],
      [filter({ '==': [{ var: 'role.name' }, null] }), [roleless]],
      [filter({ '!=': [{ var: 'role.name' }, null] }), [adminId, id]],
      [filter({ '!': { '==': [{ var: 'role.name' }, 'user'] } }), [adminId, roleless]],
      [filter({ '==': [{ var: 'is_active' }, false] }), [roleless]],
    ] as const) {
      const { body } = await shop.get<Page<Account>>(`${ACCOUNTS}?${query}`, { token: admin });
      t.same(
        body.results?.map((account) => account.id),
        ids,
        query,
      );
    }
    for (const query of [
      'is_active=yes',
      'is_active=1',
      'is_active=TRUE',
      filter({ '==': [{ var: 'is_active' }, 1] }),
    ]) {
      isError(t, await shop.get(`${ACCOUNTS}?${query}`, { token: admin }), 'invalid_usage', query);
    }
    for (const field of ['password', 'email', 'role', 'created_at']) {
      const logic = filter({ '==': [{ var: field }, 'x'] });
      isInvalid(
        t,
        await shop.get(`${ACCOUNTS}?${logic}`, { token: admin }),
        ['/filter'],
        `${field} is not to be filtered by`,
      );
    }
    isInvalid(
      t,
      await shop.get(`${ACCOUNTS}?sort=password`, { token: admin }),
      ['/sort'],
      'nor ordered by the password',
    );
    await shop.delete(`${ACCOUNTS}/${roleless}`, { token: admin });
  });

  await t.test('the stored columns', async (t) => {
    const before = Date.now();
    await shop.login({ email: 'user@example.com', password: PASSWORD });
    const stored = await pastShop(shop.databaseUrl, (em) => em.findOneOrFail(StoredAccount, id));
    t.match(stored.password, /^\$2b\$04\$.{53}$/, 'the password as a bcrypt hash');
    const lastLogin = stored.last_login!.getTime();
    t.ok(lastLogin >= before - 1 && lastLogin <= Date.now() + 1, 'the time of the last login');
    t.ok(stored.created_at.getTime() <= lastLogin, 'the time of creation');
  });

  await t.test('destroy', async (t) => {
    const other = await shop.register('other@example.com');
    t.equal((await shop.delete(`${ACCOUNTS}/${other}`, { token: admin })).status, 204);
    isError(t, await shop.get(`${ACCOUNTS}/${other}`, { token: admin }), 'not_found');
    isError(t, await shop.post('/api/auth/login', { email: 'other@example.com', password: PASSWORD }), 'unauthorized');
    await shop.register('other@example.com');
    t.pass('the address is free again');
  });
});

async function writing(t: Test, shop: Shop, token: string, path: string): Promise<void> {
  const body = { name: 'New Name', email: 'user@example.com', is_active: true, role: 'user' };
  const put = await shop.put<Account>(path, body, { token });
  t.equal(put.status, 200);
  t.same(put.body, { ...body, id: put.body.id });
  isInvalid(
    t,
    await shop.put(path, {}, { token }),
    ['/email', '/is_active', '/name', '/role'],
    'all are required by PUT',
  );
  for (const field of ['name', 'email', 'is_active', 'role'] as const) {
    const { [field]: _, ...rest } = body;
    isInvalid(t, await shop.put(path, rest, { token }), [`/${field}`], `PUT without ${field}`);
    const patch = await shop.patch<Account>(path, { [field]: body[field] }, { token });
    t.equal(patch.status, 200, `PATCH with ${field} alone`);
    t.same(patch.body, put.body);
  }
  t.same((await shop.patch(path, {}, { token })).body, put.body, 'PATCH {}');
  t.equal((await shop.patch<Account>(path, { role: null }, { token })).body.role, null, 'no role');
  t.equal((await shop.patch<Account>(path, { role: 'user' }, { token })).body.role, 'user', 'a role by its name');
  for (const role of ['nothing', '', 'ADMIN', 'admin ', '1', '__proto__', 'a\0b', 'x'.repeat(10_000), '\ud800']) {
    isInvalid(t, await shop.patch(path, { role }, { token }), ['/role'], `role ${JSON.stringify(role).slice(0, 30)}`);
  }
  for (const role of [1, true, [], {}, ['admin'], { name: 'admin' }]) {
    isInvalid(t, await shop.patch(path, { role }, { token }), ['/role'], `role ${JSON.stringify(role)}`);
  }
  for (const is_active of [1, 0, 'true', null, [], {}]) {
    isInvalid(
      t,
      await shop.patch(path, { is_active }, { token }),
      ['/is_active'],
      `is_active ${JSON.stringify(is_active)}`,
    );
  }
  for (const name of ['', null, 1, 'x'.repeat(101), 'a\0b']) {
    isInvalid(t, await shop.patch(path, { name }, { token }), ['/name'], `name ${JSON.stringify(name)?.slice(0, 30)}`);
  }
  for (const email of ['', null, 1, 'x', 'a b@example.com', `${'x'.repeat(250)}@example.com`, 'a\0@example.com']) {
    isInvalid(
      t,
      await shop.patch(path, { email }, { token }),
      ['/email'],
      `email ${JSON.stringify(email)?.slice(0, 30)}`,
    );
  }
  const extra = {
    password: 'other-password',
    id: 7777,
    created_at: '2020-01-01T00:00:00Z',
    last_login: null,
    role_id: 1,
    role__name: 'admin',
  };
  t.same((await shop.patch(path, extra, { token })).body, put.body, 'what is not in the shape is dropped');
  await shop.login({ email: 'user@example.com', password: PASSWORD });
  isError(t, await shop.patch(path, { email: ADMIN.email }, { token }), 'conflict', 'a taken address');
  isError(t, await shop.patch(path, { email: ' ADMIN@example.com ' }, { token }), 'conflict', 'in another form');
  t.equal(
    (await shop.patch<Account>(path, { email: ' Other@Example.com' }, { token })).body.email,
    'other@example.com',
    'stored trimmed and lower-cased',
  );
  await shop.login({ email: 'other@example.com', password: PASSWORD });
  t.equal((await shop.patch(path, { email: 'user@example.com' }, { token })).status, 200);
}
