/** Administrators who take each other away at once. */
import type { EntityManager } from '@mikro-orm/core';
import type { Test } from 'tap';
import { Account } from '../../src/entities/account.ts';
import { Role } from '../../src/entities/role.ts';
import { pastShop } from './database.ts';
import type { Answer } from './http-client.ts';
import { ADMIN, PASSWORD, type Shop } from './shop.ts';

export const ACCOUNTS = '/api/accounts';

/** The ways in which an administrator may be taken away: method and body. */
export const REMOVALS = [
  ['PATCH', { role: 'user' }],
  ['PATCH', { role: null }],
  ['PATCH', { is_active: false }],
  ['PATCH', { role: 'user', is_active: false }],
  ['PUT', { name: 'x', email: ADMIN.email, is_active: true, role: 'user' }],
  ['PUT', { name: 'x', email: ADMIN.email, is_active: false, role: 'admin' }],
  ['DELETE', undefined],
] as const;

export type Removal = (typeof REMOVALS)[number];
export const RACES: readonly Removal[] = [REMOVALS[0], REMOVALS[2], REMOVALS[6]];

export function remove(shop: Shop, id: number, [method, json]: Removal, token: string): Promise<Answer> {
  return shop.request(method, `${ACCOUNTS}/${id}`, json === undefined ? { token } : { json, token });
}

/** Makes two accounts the only administrators, has each take the other away at once, and looks who is left. */
export async function oneStays(t: Test, shops: readonly [Shop, Shop], removal: Removal, round: number): Promise<void> {
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
  // An administrator who was removed before the permission check gets 403.
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
