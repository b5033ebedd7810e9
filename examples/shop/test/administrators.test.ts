import { ACCOUNTS, oneStays, RACES, remove, REMOVALS } from './support/administrators.ts';
import { isError } from './support/expect.ts';
import type { Page } from './support/records.ts';
import { ADMIN, withShop } from './support/shop.ts';
import { claimsOf } from './support/token.ts';

const ROLES = '/api/roles';

withShop({ THROTTLE_IP: 'off', THROTTLE_USER: 'off' }, async (t, shop) => {
  const token = await shop.login();
  const adminId = Number(claimsOf(token)['user_id']);

  await t.test('the last administrator stays, and nothing of the write is kept', async (t) => {
    for (const removal of REMOVALS) {
      isError(t, await remove(shop, adminId, removal, token), 'conflict', JSON.stringify(removal));
    }
    const { body } = await shop.get(`${ACCOUNTS}/${adminId}`, { token });
    t.match(body, { email: ADMIN.email, name: 'Administrator', role: 'admin', is_active: true });
    const renamed = await shop.patch(`${ACCOUNTS}/${adminId}`, { name: 'Somebody' }, { token });
    t.equal(renamed.status, 200, 'what leaves an administrator is written');
  });

  await t.test('the last administrator cannot delete their account either', async (t) => {
    const json = { password: ADMIN.password };
    isError(t, await shop.request('DELETE', '/api/auth/me', { json, token }), 'conflict');
    t.equal((await shop.get('/api/auth/me', { token })).status, 200);
  });

  await t.test('a disabled administrator does not count, and any other account can be deleted', async (t) => {
    const id = await shop.register('disabled@example.com');
    const path = `${ACCOUNTS}/${id}`;
    t.equal((await shop.patch(path, { role: 'admin', is_active: false }, { token })).status, 200);
    isError(t, await shop.patch(`${ACCOUNTS}/${adminId}`, { role: 'user' }, { token }), 'conflict');
    t.equal((await shop.patch(path, { role: 'user' }, { token })).status, 200);
    t.equal((await shop.delete(path, { token })).status, 204);
  });

  await t.test('the role admin can be neither renamed nor deleted', async (t) => {
    const { results } = (await shop.get<Page<{ id: number; name: string }>>(ROLES, { token })).body;
    const path = `${ROLES}/${results.find(({ name }) => name === 'admin')!.id}`;
    isError(t, await shop.patch(path, { name: 'boss' }, { token }), 'conflict', 'PATCH');
    isError(t, await shop.put(path, { name: 'Admin', description: null }, { token }), 'conflict', 'PUT');
    isError(t, await shop.delete(path, { token }), 'conflict', 'DELETE');
    t.equal((await shop.patch(path, { description: 'Everything' }, { token })).status, 200, 'its description changes');
    t.equal((await shop.put(path, { name: 'admin' }, { token })).status, 200, 'and its own name is no other');
  });

  await t.test("every change of an account's rights is logged, after its commit", async (t) => {
    const target = await shop.register('changed@example.com');
    const path = `${ACCOUNTS}/${target}`;
    for (const json of [
      { role: 'admin' },
      { role: null, is_active: false },
      { is_active: true },
      { name: 'Another', is_active: true },
      { role: 'admin', email: ADMIN.email },
    ]) {
      await shop.patch(path, json, { token });
    }
    await shop.delete(path, { token });
    await shop.process.logged((line) => line.event === 'auth.account_deleted' && line.target === target);
    const event = { account: adminId, address: '127.0.0.1', level: 30, route: '/api/accounts/:pk' };
    t.match(
      shop.process.log.filter((line) => line.target === target),
      [
        { ...event, event: 'auth.role_changed', role: 'admin', was: 'user' },
        { ...event, event: 'auth.role_changed', role: null, was: 'admin' },
        { ...event, event: 'auth.account_disabled' },
        { ...event, event: 'auth.account_enabled' },
        { ...event, event: 'auth.account_deleted' },
      ],
      'a name is no access, and a write that was refused has changed none',
    );
  });

  await t.test('responses with accounts are not cached', async (t) => {
    for (const path of [ACCOUNTS, `${ACCOUNTS}/${adminId}`, `${ACCOUNTS}/999999`]) {
      for (const who of [token, undefined]) {
        const { headers, status } = await shop.get(path, who === undefined ? {} : { token: who });
        t.equal(headers.get('cache-control'), 'no-store', `${path} ${status}`);
      }
    }
    t.equal((await shop.get('/api/products')).headers.get('cache-control'), null, 'products may be kept');
  });

  await t.test('of two administrators who concurrently remove each other, one stays', async (t) => {
    for (const [round, removal] of [...RACES, ...RACES].entries()) await oneStays(t, [shop, shop], removal, round);
  });
});
