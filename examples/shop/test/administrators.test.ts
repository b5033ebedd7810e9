import type { EntityManager } from '@mikro-orm/core';
import { missingServer } from '@viewset/testing';
import tap, { type Test } from 'tap';
import { Account } from '../src/entities/account.ts';
import { Role } from '../src/entities/role.ts';
import type { Answer } from './support/http-client.ts';
import { isError } from './support/expect.ts';
import type { Page } from './support/records.ts';
import { freshDatabase, pastShop } from './support/database.ts';
import { ADMIN, PASSWORD, type Shop, startShop, withShop } from './support/shop.ts';
import { claimsOf } from './support/token.ts';

const ACCOUNTS = '/api/accounts';
const ROLES = '/api/roles';

/** The ways in which an administrator may be taken away: method and body. */
const REMOVALS = [
  ['PATCH', { role: 'user' }],
  ['PATCH', { role: null }],
  ['PATCH', { is_active: false }],
  ['PATCH', { role: 'user', is_active: false }],
  ['PUT', { name: 'x', email: ADMIN.email, is_active: true, role: 'user' }],
  ['PUT', { name: 'x', email: ADMIN.email, is_active: false, role: 'admin' }],
  ['DELETE', undefined],
] as const;

type Removal = (typeof REMOVALS)[number];
const RACES: readonly Removal[] = [REMOVALS[0], REMOVALS[2], REMOVALS[6]];

function remove(shop: Shop, id: number, [method, json]: Removal, token: string): Promise<Answer> {
  return shop.request(method, `${ACCOUNTS}/${id}`, json === undefined ? { token } : { json, token });
}

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

  await t.test('the last administrator cannot delete the own account either', async (t) => {
    const json = { password: ADMIN.password };
    isError(t, await shop.request('DELETE', '/api/auth/me', { json, token }), 'conflict');
    t.equal((await shop.get('/api/auth/me', { token })).status, 200);
  });

  await t.test('a disabled administrator is none, and any other account may go', async (t) => {
    const id = await shop.register('disabled@example.com');
    const path = `${ACCOUNTS}/${id}`;
    t.equal((await shop.patch(path, { role: 'admin', is_active: false }, { token })).status, 200);
    isError(t, await shop.patch(`${ACCOUNTS}/${adminId}`, { role: 'user' }, { token }), 'conflict');
    t.equal((await shop.patch(path, { role: 'user' }, { token })).status, 200);
    t.equal((await shop.delete(path, { token })).status, 204);
  });

  await t.test('the role admin is neither renamed nor deleted', async (t) => {
    const { results } = (await shop.get<Page<{ id: number; name: string }>>(ROLES, { token })).body;
    const path = `${ROLES}/${results.find(({ name }) => name === 'admin')!.id}`;
    isError(t, await shop.patch(path, { name: 'boss' }, { token }), 'conflict', 'PATCH');
    isError(t, await shop.put(path, { name: 'Admin', description: null }, { token }), 'conflict', 'PUT');
    isError(t, await shop.delete(path, { token }), 'conflict', 'DELETE');
    t.equal((await shop.patch(path, { description: 'Everything' }, { token })).status, 200, 'its description changes');
    t.equal((await shop.put(path, { name: 'admin' }, { token })).status, 200, 'and its own name is no other');
  });

  await t.test('each change of what an account may do is a line in the log, once it is made', async (t) => {
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

  await t.test('no cache keeps what is known of accounts', async (t) => {
    for (const path of [ACCOUNTS, `${ACCOUNTS}/${adminId}`, `${ACCOUNTS}/999999`]) {
      for (const who of [token, undefined]) {
        const { headers, status } = await shop.get(path, who === undefined ? {} : { token: who });
        t.equal(headers.get('cache-control'), 'no-store', `${path} ${status}`);
      }
    }
    t.equal((await shop.get('/api/products')).headers.get('cache-control'), null, 'products may be kept');
  });

  await t.test('of two administrators who take each other away at once, one stays', async (t) => {
    for (const [round, removal] of [...RACES, ...RACES].entries()) await oneStays(t, [shop, shop], removal, round);
  });
});

tap.test('in two processes too', { skip: missingServer('postgresql') }, async (t) => {
  const databaseUrl = await freshDatabase(t, 'postgresql');
  const variables = { THROTTLE_IP: 'off', THROTTLE_USER: 'off' };
  const first = await startShop(t, { kind: 'postgresql', databaseUrl, variables });
  const second = await startShop(t, { kind: 'postgresql', databaseUrl, variables });
  for (const [round, removal] of RACES.entries()) await oneStays(t, [first, second], removal, round);
});

/** Makes two accounts the only administrators, has each take the other away at once, and looks who is left. */
async function oneStays(t: Test, shops: readonly [Shop, Shop], removal: Removal, round: number): Promise<void> {
  const [shop] = shops;
  const emails = [`a${round}@example.com`, `b${round}@example.com`] as const;
  const ids = [await shop.register(emails[0]), await shop.register(emails[1])] as const;
  await makeAdministrators(shop, ids);
  const [first, second] = [
    await shop.login({ email: emails[0], password: PASSWORD }),
    await shop.login({ email: emails[1], password: PASSWORD }),
  ];
  const answers = await Promise.all([
    remove(shops[0], ids[1], removal, first),
    remove(shops[1], ids[0], removal, second),
  ]);
  const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
  t.ok(statuses[0]! < 300, `${JSON.stringify(removal)}: one succeeds (${statuses.join()})`);
  // Whoever has been taken away by the time that permissions are asked is refused for that.
  t.ok([401, 403, 409].includes(statuses[1]!), `${JSON.stringify(removal)}: the other does not`);
  const left = await administratorsOf(shop);
  t.same(left, [answers[0].status < 300 ? ids[0] : ids[1]], 'one administrator is left');
}

/** Makes accounts the only administrators, past the shop. */
function makeAdministrators({ databaseUrl }: Shop, ids: readonly number[]): Promise<unknown> {
  return pastShop(databaseUrl, async (em) => {
    const [admin, user] = [await roleOf(em, 'admin'), await roleOf(em, 'user')];
    await em.nativeUpdate(Account, {}, { role: user });
    await em.nativeUpdate(Account, { id: { $in: [...ids] } }, { role: admin });
  });
}

/** The ids of the active administrators. */
function administratorsOf({ databaseUrl }: Shop): Promise<number[]> {
  return pastShop(databaseUrl, async (em) => {
    const accounts = await em.find(Account, { role: await roleOf(em, 'admin'), is_active: true });
    return accounts.map(({ id }) => id);
  });
}

const roleOf = (em: EntityManager, name: string): Promise<Role> => em.findOneOrFail(Role, { name });
