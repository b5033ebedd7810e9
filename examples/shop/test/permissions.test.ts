import { isError } from './support/expect.ts';
import type { Answer } from './support/http-client.ts';
import { withShop } from './support/shop.ts';

const PRODUCT = { name: 'A', price: 1 };
const ROLE = { name: 'A role' };
const ACCOUNT = { name: 'A', email: 'user@example.com', is_active: true, role: 'user' };

/** The status for an anonymous user, a user and an administrator. `own` is replaced by the id of the user's account. */
const TABLE: [method: string, path: string, body: object | undefined, nobody: number, user: number, admin: number][] = [
  ['GET', '/api/products', undefined, 200, 200, 200],
  ['GET', '/api/products/1', undefined, 401, 200, 200],
  ['GET', '/api/products/featured', undefined, 401, 200, 200],
  ['GET', '/api/products/search?q=a', undefined, 401, 200, 200],
  ['POST', '/api/products', PRODUCT, 401, 201, 201],
  ['PUT', '/api/products/1', PRODUCT, 401, 200, 200],
  ['PATCH', '/api/products/1', PRODUCT, 401, 200, 200],
  ['DELETE', '/api/products/2', undefined, 401, 204, 404],
  ['GET', '/api/roles', undefined, 401, 200, 200],
  ['GET', '/api/roles/1', undefined, 401, 200, 200],
  ['POST', '/api/roles', ROLE, 401, 403, 201],
  ['PUT', '/api/roles/99', ROLE, 401, 403, 404],
  ['PATCH', '/api/roles/1', {}, 401, 403, 200],
  ['DELETE', '/api/roles/99', undefined, 401, 403, 404],
  ['GET', '/api/accounts', undefined, 401, 403, 200],
  ['POST', '/api/accounts', ACCOUNT, 405, 405, 405],
  ['GET', '/api/accounts/1', undefined, 401, 403, 200],
  ['GET', '/api/accounts/own', undefined, 401, 200, 200],
  ['PUT', '/api/accounts/own', ACCOUNT, 401, 403, 200],
  ['PATCH', '/api/accounts/own', {}, 401, 403, 200],
  ['DELETE', '/api/accounts/99', undefined, 401, 403, 404],
];

withShop({}, async (t, shop) => {
  const admin = await shop.login();
  const user = await shop.newUser('user@example.com');
  const own = '2';

  for (const [method, path, json, ...statuses] of TABLE) {
    const url = path.replace('own', own);
    for (const [index, token] of [undefined, user, admin].entries()) {
      const who = ['nobody', 'a user', 'the administrator'][index];
      const answer = await shop.request(method, url, { token, ...(json === undefined ? {} : { json }) });
      t.equal(answer.status, statuses[index], `${method} ${path}, ${who}`);
      if (answer.status === 401) isError(t, answer, 'unauthorized');
      if (answer.status === 403) isError(t, answer, 'forbidden');
    }
  }

  await t.test('an unauthenticated create is 401 with an error, and writes nothing', async (t) => {
    const count = async (): Promise<number> => (await shop.get<{ count: number }>('/api/products')).body.count;
    const before = await count();
    const answer: Answer = await shop.post('/api/products', PRODUCT);
    t.equal(answer.status, 401);
    t.type(answer.body.error, 'string');
    t.equal(await count(), before);
  });

  await t.test('a method override changes nothing', async (t) => {
    const headers = { 'x-http-method-override': 'DELETE', 'x-http-method': 'DELETE', 'x-method-override': 'DELETE' };
    t.equal((await shop.get('/api/products/1', { token: user, headers })).status, 200);
    isError(t, await shop.post('/api/roles?_method=GET', ROLE, { token: user, headers }), 'forbidden');
  });
});
