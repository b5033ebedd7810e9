import t, { type Test } from 'tap';
import { PASSWORD, type Shop, openShop, withShop } from './support/shop.ts';
import { codeOf, enrol } from './support/two-factor.ts';

withShop({}, async (t, shop) => {
  const other = await openShop(t, { kind: shop.kind, databaseUrl: shop.databaseUrl });
  await t.test('API keys', (t) => apiKeys(t, shop, other));
  await t.test('two factors', (t) => twoFactors(t, shop));
  await t.test('an account goes with its keys and its second factor', (t) => deletion(t, shop));
});

async function apiKeys(t: Test, shop: Shop, other: Shop): Promise<void> {
  const token = await shop.newUser('keys@example.com');
  const made = await shop.post<{ id: string; key: string }>('/api/auth/api-keys', { name: 'x' }, { token });
  t.equal(made.status, 201);
  const { id, key } = made.body;
  t.match(key, new RegExp(`^shop_${id}_`));
  const listed = await shop.get<{ id: string; key?: string }[]>('/api/auth/api-keys', { token });
  t.match(listed.body, [{ id, name: 'x', scopes: null }]);
  t.notOk('key' in (listed.body[0] ?? {}));
  for (const each of [shop, other]) {
    t.equal((await each.post('/api/products', { name: 'A', price: 1 }, { token: key })).status, 201);
    t.equal((await each.get('/api/accounts', { token: key })).status, 403, 'it can do what its account can');
    t.equal((await each.post('/api/auth/api-keys', { name: 'y' }, { token: key })).status, 403);
    t.equal((await each.post('/api/auth/logout-all', {}, { token: key })).status, 403);
    const passwords = { current_password: PASSWORD, new_password: 'another-password' };
    t.equal((await each.post('/api/auth/change-password', passwords, { token: key })).status, 403);
    t.equal((await each.delete('/api/auth/me', { token: key, json: { password: PASSWORD } })).status, 403);
  }
  t.equal((await shop.delete(`/api/auth/api-keys/${id}`, { token })).status, 204);
  for (const each of [other, shop]) t.equal((await each.get('/api/roles', { token: key })).status, 401, 'at once');
}

async function twoFactors(t: Test, shop: Shop): Promise<void> {
  const token = await shop.newUser('two@example.com');
  const { secret, codes } = await enrol(shop, token);
  t.equal(codes.length, 10);
  const login = async (): Promise<string> => {
    const credentials = { email: 'two@example.com', password: PASSWORD, refresh: 'body' };
    const answer = await shop.post<{ two_factor_token: string }>('/api/auth/login', credentials);
    t.equal(answer.status, 200);
    t.same(Object.keys(answer.body), ['two_factor_token']);
    return answer.body.two_factor_token;
  };
  const second = (two_factor_token: string, code: string) =>
    shop.post<Record<string, string>>('/api/auth/login/two-factor', { two_factor_token, code });
  const done = await second(await login(), codeOf(secret, 1));
  t.equal(done.status, 200);
  t.same(Object.keys(done.body).toSorted(), ['access_token', 'refresh_token'], 'as the login had asked for');
  t.equal((await second(await login(), codes[0] ?? '')).status, 200);
  t.equal((await second(await login(), codes[0] ?? '')).status, 401);
  const body = { password: PASSWORD, code: codes[1] };
  t.equal((await shop.delete('/api/auth/two-factor', { token, json: body })).status, 204);
}

async function deletion(t: Test, shop: Shop): Promise<void> {
  const token = await shop.newUser('gone@example.com');
  await enrol(shop, token);
  const { key } = (await shop.post<{ key: string }>('/api/auth/api-keys', { name: 'x' }, { token })).body;
  t.equal((await shop.delete('/api/auth/me', { token, json: { password: PASSWORD } })).status, 204);
  t.equal((await shop.get('/api/roles', { token: key })).status, 401);
}

t.test('without OAuth settings there are no logins by a service, and a configured service is called', async (t) => {
  const none = await openShop(t);
  t.equal((await none.get('/api/auth/oauth/google')).status, 404);
  const variables = {
    OAUTH_GITHUB_ISSUER: 'https://github.com',
    OAUTH_GITHUB_CLIENT_ID: 'shop',
    OAUTH_GITHUB_CLIENT_SECRET: 'a secret',
  };
  const shop = await openShop(t, { variables });
  const answer = await fetch(`${shop.url}/api/auth/oauth/github`, { redirect: 'manual' });
  t.equal(answer.status, 302);
  t.match(answer.headers.get('location'), /^https:\/\/github\.com\/login\/oauth\/authorize\?.*client_id=shop/);
});
