import { isError, isInvalid } from './support/expect.ts';
import type { Page } from './support/records.ts';
import { withShop } from './support/shop.ts';

interface Role {
  id: number;
  name: string;
  description: string | null;
}

const ROLES = '/api/roles';

withShop({}, async (t, shop) => {
  const admin = await shop.login();
  const user = await shop.newUser('user@example.com');

  await t.test('reading needs somebody who is logged in', async (t) => {
    for (const path of [ROLES, `${ROLES}/1`]) {
      isError(t, await shop.get(path), 'unauthorized', `GET ${path}`);
      t.equal((await shop.request('HEAD', path)).status, 401, `HEAD ${path}`);
      t.equal((await shop.get(path, { token: user })).status, 200, `GET ${path} as a user`);
      t.equal((await shop.get(path, { token: admin })).status, 200, `GET ${path} as the administrator`);
    }
    const { body } = await shop.get<Page<Role>>(ROLES, { token: user });
    t.same(Object.keys(body.results[0] ?? {}), ['id', 'name', 'description']);
    t.same(body.results.map(({ name }) => name).toSorted(), ['admin', 'user'], 'the seeded ones');
  });

  await t.test('writing needs an administrator', async (t) => {
    for (const [method, path] of [
      ['POST', ROLES],
      ['PUT', `${ROLES}/1`],
      ['PATCH', `${ROLES}/1`],
      ['DELETE', `${ROLES}/1`],
    ] as const) {
      const body = method === 'DELETE' ? {} : { json: { name: 'x' } };
      isError(t, await shop.request(method, path, body), 'unauthorized', `${method}, nobody logged in`);
      isError(t, await shop.request(method, path, { ...body, token: user }), 'forbidden', `${method}, a user`);
    }
    t.equal((await shop.get<Page<Role>>(ROLES, { token: user })).body.count, 2, 'nothing was written');
  });

  await t.test('create, update, destroy', async (t) => {
    const created = await shop.post<Role>(ROLES, { name: 'editor', description: 'May edit' }, { token: admin });
    t.equal(created.status, 201);
    const { id } = created.body;
    t.same(created.body, { id, name: 'editor', description: 'May edit' });
    t.equal(created.headers.get('location'), `${ROLES}/${id}`);
    const path = `${ROLES}/${id}`;
    t.same((await shop.patch(path, { description: null }, { token: admin })).body, {
      id,
      name: 'editor',
      description: null,
    });
    t.same((await shop.put(path, { name: 'author' }, { token: admin })).status, 200, 'a description is optional');
    t.equal((await shop.get<Role>(path, { token: user })).body.name, 'author');
    t.equal(
      (await shop.patch(path, { name: 'author' }, { token: admin })).status,
      200,
      'its own name again is no conflict',
    );
    t.equal((await shop.delete(path, { token: admin })).status, 204);
    isError(t, await shop.get(path, { token: admin }), 'not_found');
    const plain = await shop.post<Role>(ROLES, { name: 'plain' }, { token: admin });
    t.same(plain.body, { id: plain.body.id, name: 'plain', description: null });
  });

  await t.test('names', async (t) => {
    for (const name of [undefined, null, 1, '', 'x'.repeat(51), '💩'.repeat(51), 'a\0b', '\ud800', [], {}]) {
      isInvalid(t, await shop.post(ROLES, { name }, { token: admin }), ['/name'], `name ${JSON.stringify(name)}`);
    }
    for (const description of [1, [], {}, true, 'a\0b', '\udc00']) {
      isInvalid(
        t,
        await shop.post(ROLES, { name: 'x', description }, { token: admin }),
        ['/description'],
        `description ${JSON.stringify(description)}`,
      );
    }
    for (const name of ['x'.repeat(50), '💩'.repeat(50), 'É']) {
      t.equal((await shop.post(ROLES, { name }, { token: admin })).status, 201, name.slice(0, 20));
    }
    t.equal((await shop.post(ROLES, { name: 'é' }, { token: admin })).status, 201, 'unique is case-sensitive');
    isError(t, await shop.post(ROLES, { name: 'É' }, { token: admin }), 'conflict');
    const long = { name: 'long', description: 'x'.repeat(100_000) };
    t.equal(
      (await shop.post<Role>(ROLES, long, { token: admin })).body.description?.length,
      100_000,
      'a description may be long',
    );
  });

  await t.test('a role that accounts refer to stays', async (t) => {
    const { body } = await shop.get<Page<Role>>(ROLES, { token: admin });
    for (const { id } of body.results.filter(({ name }) => name === 'admin' || name === 'user')) {
      isError(t, await shop.delete(`${ROLES}/${id}`, { token: admin }), 'conflict');
      t.equal((await shop.get(`${ROLES}/${id}`, { token: admin })).status, 200);
    }
    t.equal((await shop.get('/api/accounts', { token: admin })).status, 200, 'the administrator is one still');
  });
});
