import { generateKeyPairSync } from 'node:crypto';
import t, { type Test } from 'tap';
import { isError, isInvalid } from './support/expect.ts';
import type { Answer } from './support/http-client.ts';
import { SECRET_KEY } from './support/running-shop.ts';
import { ADMIN, PASSWORD, type Shop, openShop, withShop } from './support/shop.ts';
import { type Claims, claimsOf, encode, forge, seconds } from './support/token.ts';

interface Account {
  id: number;
  name: string;
  email: string;
  is_active: boolean;
  role: string | null;
}

withShop({}, async (t, shop) => {
  const admin = await shop.login();
  const id = await shop.register('user@example.com');
  const user = await shop.login({ email: 'user@example.com', password: PASSWORD });

  await t.test('login', (t) => login(t, shop));
  await t.test('the claims of a token', (t) => claims(t, shop, admin, id));
  await t.test('disabled and deleted accounts', (t) => gone(t, shop, admin));
  await t.test('the Authorization header', (t) => headers(t, shop, user));
  await t.test('forged tokens', (t) => forged(t, shop, id, user));
  await t.test('paths that need no authentication', (t) => nonAuth(t, shop, user, admin));
});

async function login(t: Test, shop: Shop): Promise<void> {
  const post = (body: unknown): Promise<Answer> => shop.post('/api/auth/login', body);
  const good = await post(ADMIN);
  t.equal(good.status, 200);
  t.same(Object.keys(good.body), ['access_token']);
  t.equal(
    (await post({ ...ADMIN, email: '  ADMIN@Example.COM\t' })).status,
    200,
    'the address is trimmed and lower-cased',
  );
  t.equal((await post({ ...ADMIN, extra: 1, __proto__: { x: 1 } })).status, 200, 'what else is sent is dropped');
  const credentials: Answer[] = [];
  for (const body of [
    { email: 'nobody@example.com', password: ADMIN.password },
    { email: ADMIN.email, password: 'wrong-password' },
    { email: ADMIN.email, password: ADMIN.password.toUpperCase() },
    { email: ADMIN.email, password: `${ADMIN.password} ` },
    { email: ADMIN.email, password: 'x'.repeat(73) },
    { email: ADMIN.email, password: `${ADMIN.password}${'x'.repeat(10_000)}` },
    { email: ADMIN.email, password: '💩'.repeat(40) },
    { email: 'x'.repeat(10_000), password: ADMIN.password },
    { email: 'no address', password: ADMIN.password },
    { email: "' or 1=1 --", password: "' or 1=1 --" },
    { email: '%', password: '%' },
    { email: 'admin@example.com%', password: ADMIN.password },
  ]) {
    const answer = await post(body);
    isError(t, answer, 'unauthorized', JSON.stringify(body).slice(0, 60));
    credentials.push(answer);
  }
  isError(t, await post({ ...ADMIN, password: 'x'.repeat(100_000) }), 'payload_too_large', 'more than some kilobytes');
  t.equal(new Set(credentials.map(({ text }) => text)).size, 1, 'all credential failures carry one message');
  for (const body of [
    {},
    { email: ADMIN.email },
    { password: ADMIN.password },
    { ...ADMIN, email: null },
    { ...ADMIN, password: null },
    { ...ADMIN, email: '' },
    { ...ADMIN, password: '' },
    { email: null, password: null },
  ]) {
    isError(t, await post(body), 'unauthorized', `missing, null or empty: ${JSON.stringify(body)}`);
  }
  for (const value of [1, 0, true, false, [], ['admin@example.com'], {}, { $ne: null }]) {
    isInvalid(t, await post({ ...ADMIN, email: value }), ['/email'], `email ${JSON.stringify(value)}`);
    isInvalid(t, await post({ ...ADMIN, password: value }), ['/password'], `password ${JSON.stringify(value)}`);
  }
  isInvalid(t, await post({ email: 1, password: 1 }), ['/email', '/password'], 'both');
  for (const body of ['null', '[]', '1', '"x"', 'true']) {
    isError(t, await shop.request('POST', '/api/auth/login', { body }), 'invalid_usage', body);
  }
  isInvalid(
    t,
    await shop.request('POST', '/api/auth/login', { body: '{"email":"a\\u0000b","password":"x"}' }),
    ['/email'],
    'NUL',
  );
}

async function claims(t: Test, shop: Shop, admin: string, id: number): Promise<void> {
  const before = seconds();
  const token = await shop.login({ email: 'user@example.com', password: PASSWORD });
  const { iat, exp, ...rest } = claimsOf(token);
  t.same(rest, { user_id: id, username: 'Some User', email: 'user@example.com', role: 'user' });
  t.ok(Number(iat) >= before && Number(iat) <= seconds(), 'iat is now');
  t.equal(Number(exp) - Number(iat), 86_400, 'a day by default');
  const { sid, kid, ...header } = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as Claims;
  t.same(header, { alg: 'HS256', typ: 'JWT' });
  t.match(kid, /^[\w-]{8,}$/, 'the key that signed it');
  t.match(sid, /^[0-9a-f-]{36}$/, 'the session');
  t.equal(claimsOf(admin)['role'], 'admin');
  const email = 'roleless@example.com';
  const account = { name: 'Roleless', email, is_active: true, role: null };
  const other = await shop.register(email);
  t.equal((await shop.put(`/api/accounts/${other}`, account, { token: admin })).status, 200);
  t.equal(
    claimsOf(await shop.login({ email, password: PASSWORD }))['role'],
    'user',
    'the literal user when there is no role',
  );
}

async function gone(t: Test, shop: Shop, admin: string): Promise<void> {
  const email = 'gone@example.com';
  const id = await shop.register(email);
  const token = await shop.login({ email, password: PASSWORD });
  const path = `/api/accounts/${id}`;
  t.equal((await shop.get(path, { token })).status, 200);
  t.equal((await shop.patch(path, { is_active: false }, { token: admin })).status, 200);
  isError(t, await shop.get(path, { token }), 'unauthorized', 'a token of a disabled account');
  const disabled = await shop.post('/api/auth/login', { email, password: PASSWORD });
  const wrong = await shop.post('/api/auth/login', { email, password: 'wrong-password' });
  const unknown = await shop.post('/api/auth/login', { email: 'nobody@example.com', password: PASSWORD });
  isError(t, disabled, 'unauthorized', 'login to a disabled account');
  t.match(disabled.body.error, /disabled/i, 'which says so');
  t.not(disabled.text, wrong.text, 'to whoever has the right password');
  t.equal(wrong.text, unknown.text, 'and to nobody else');
  await shop.patch(path, { is_active: true }, { token: admin });
  t.equal((await shop.get(path, { token })).status, 200, 'enabled again');
  t.equal((await shop.delete(path, { token: admin })).status, 204);
  isError(t, await shop.get(path, { token }), 'unauthorized', 'a token of a deleted account');
  isError(t, await shop.get('/api/roles', { token }), 'unauthorized', 'anywhere');
}

async function headers(t: Test, shop: Shop, token: string): Promise<void> {
  const get = (authorization: string): Promise<Answer> => shop.get('/api/roles', { headers: { authorization } });
  for (const value of [`Bearer ${token}`, `bearer ${token}`, `BEARER ${token}`]) {
    t.equal((await get(value)).status, 200, value.slice(0, 10));
  }
  for (const value of [
    token,
    `Basic ${token}`,
    `Token ${token}`,
    'Bearer',
    'Bearer ',
    `Bearer${token}`,
    `Bearer ${token} x`,
    `Bearer ${token},`,
    `Bearer "${token}"`,
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token}x`,
    `Bearer ${token}.x`,
    `Bearer ${token.slice(0, token.lastIndexOf('.'))}`,
    `Bearer ${token.slice(0, token.lastIndexOf('.') + 1)}`,
    'Bearer ..',
    'Bearer a.b.c',
    'Bearer null',
    'Bearer undefined',
    'Bearer {}',
    `Bearer ${'x'.repeat(8000)}`,
    `Bearer ${'.'.repeat(5000)}`,
    'Bearer \xe9',
    'Basic YWRtaW46YWRtaW4=',
  ]) {
    isError(t, await get(value), 'unauthorized', `Authorization: ${value.slice(0, 30)}`);
  }
  const twice = await shop.raw(
    `GET /api/roles HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer bad\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  isError(t, twice, 'unauthorized', 'two headers: the first, as Node has it');
  isError(t, await shop.get(`/api/products/1?access_token=${token}`), 'unauthorized', 'no token from the query');
}

async function forged(t: Test, shop: Shop, id: number, user: string): Promise<void> {
  const now = seconds();
  const good = { user_id: id, username: 'x', email: 'x', role: 'admin', iat: now, exp: now + 600 };
  const get = (token: string): Promise<Answer> => shop.get('/api/roles', { token });
  t.equal((await get(forge(good))).status, 200, 'a token that we signed ourselves, to begin with');
  isError(
    t,
    await shop.get('/api/accounts', { token: forge(good) }),
    'forbidden',
    'the role is the account’s, not the token’s',
  );
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const [head, body, signature] = user.split('.') as [string, string, string];
  const tokens: Record<string, string> = {
    'alg none': `${encode({ alg: 'none', typ: 'JWT' })}.${encode(good)}.`,
    'alg None, with a signature': forge(good, { header: { alg: 'None' } }),
    'alg NONE': forge(good, { header: { alg: 'NONE' } }),
    'alg missing': forge(good, { header: { alg: undefined } }),
    'alg null': forge(good, { header: { alg: null } }),
    'alg empty': forge(good, { header: { alg: '' } }),
    'alg a list': forge(good, { header: { alg: ['HS256'] } }),
    'alg HS384': forge(good, { header: { alg: 'HS384' } }),
    'alg HS512': forge(good, { header: { alg: 'HS512' } }),
    'alg hs256': forge(good, { header: { alg: 'hs256' } }),
    'alg RS256, signed with the secret': forge(good, { header: { alg: 'RS256' } }),
    'alg ES256': forge(good, { header: { alg: 'ES256' } }),
    'alg EdDSA': forge(good, { header: { alg: 'EdDSA' } }),
    'signed with another secret': forge(good, { secret: 'another secret, thirty-two bytes long, too' }),
    'signed with SECRET_KEY': forge(good, { secret: SECRET_KEY }),
    'signed with nothing': forge(good, { secret: '' }),
    'signed with a public key': forge(good, { secret: privateKey.export({ type: 'pkcs8', format: 'pem' }) }),
    'a key of its own': forge(good, { header: { jwk: { kty: 'oct', k: 'eA' }, kid: '../../dev/null' }, secret: 'x' }),
    'a critical extension': forge(good, { header: { crit: ['exp'], b64: false } }),
    'claims of another': `${head}.${encode({ ...good, user_id: 1 })}.${signature}`,
    'another signature': `${head}.${body}.${encode('x'.repeat(32))}`,
    'no signature': `${head}.${body}.`,
    'header changed': `${encode({ alg: 'HS256' })}.${body}.${signature}`,
    'four parts': `${head}.${body}.${signature}.${signature}`,
    expired: forge({ ...good, iat: now - 20, exp: now - 10 }),
    'expired long ago': forge({ ...good, exp: 1 }),
    'exp zero': forge({ ...good, exp: 0 }),
    'exp negative': forge({ ...good, exp: -1 }),
    'no exp': forge({ ...good, exp: undefined }),
    'exp null': forge({ ...good, exp: null }),
    'exp a string': forge({ ...good, exp: String(now + 600) }),
    'exp a list': forge({ ...good, exp: [now + 600] }),
    'exp an object': forge({ ...good, exp: {} }),
    'exp true': forge({ ...good, exp: true }),
    'nbf to come': forge({ ...good, nbf: now + 500 }),
    'payload no object': forge('"x"'),
    'payload null': forge('null'),
    'payload a list': forge('[]'),
    'payload a number': forge('1'),
    'payload no JSON': forge('{'),
    'payload empty': forge(''),
    'payload no UTF-8': `${head}.${Buffer.from([0xff, 0xfe]).toString('base64url')}.${signature}`,
    'header no JSON': `${encode('{')}.${body}.${signature}`,
    'header null': `${encode('null')}.${body}.${signature}`,
  };
  for (const [name, value] of Object.entries<unknown>({
    missing: undefined,
    null: null,
    'a string': String(id),
    empty: '',
    'a list': [id],
    'an object': { id },
    'an operator': { $gt: 0 },
    true: true,
    'a fraction': id + 0.5,
    zero: 0,
    negative: -1,
    'too large': 2 ** 31,
    huge: 1e300,
    unknown: 999_999,
    'not safe': 2 ** 53,
    SQL: '1 or 1=1',
    proto: '__proto__',
  })) {
    tokens[`user_id ${name}`] = forge({ ...good, user_id: value });
  }
  for (const text of ['1e400', '-1e400', '123456789012345678901234567890', '1.0000000000000000000001e40']) {
    tokens[`user_id ${text}`] = forge(`{"user_id":${text},"exp":${now + 600}}`);
  }
  tokens['user_id twice'] = forge(`{"user_id":${id},"user_id":"x","exp":${now + 600}}`);
  tokens['deep'] = forge(`{"user_id":${'['.repeat(2000)}${']'.repeat(2000)},"exp":${now + 600}}`);
  for (const [name, token] of Object.entries(tokens)) {
    const answer = await get(token);
    isError(t, answer, 'unauthorized', name);
    t.match(answer.headers.get('www-authenticate'), /error="invalid_token"/, `${name}: invalid_token`);
  }
}

async function nonAuth(t: Test, shop: Shop, user: string, admin: string): Promise<void> {
  for (const path of [
    '/api/products',
    '/api/products/',
    '/api/products?page=2',
    '/health',
    '/health/',
    '/health/live',
    '/health/ready',
  ]) {
    t.equal((await shop.get(path)).status, 200, path);
    t.equal((await shop.get(path, { token: 'bad' })).status, 200, `${path}, with a bad token, which counts as none`);
    t.equal((await shop.get(path, { token: user })).status, 200, `${path}, with a good token`);
    t.equal((await shop.request('HEAD', path)).status, 200, `HEAD ${path}`);
  }
  for (const path of [
    '/api/products/1',
    '/api/products/1/',
    '/api/products/featured',
    '/api/products/search?q=a',
    '/api/roles',
    '/api/roles/1',
    '/api/accounts',
    '/api/accounts/1',
    '/api/%61ccounts',
  ]) {
    for (const token of [undefined, 'bad']) {
      isError(t, await shop.get(path, { token }), 'unauthorized', `${path}, token ${token}`);
      t.equal((await shop.request('HEAD', path, { token })).status, 401, `HEAD ${path}, token ${token}`);
    }
  }
  t.equal((await shop.post('/api/auth/login', ADMIN, { token: 'bad' })).status, 200, 'login with a bad token');
  t.equal(
    (await shop.post('/api/auth/login', ADMIN, { token: forge({ user_id: 1, exp: 1 }) })).status,
    200,
    'login with an expired one',
  );
  const product = { name: 'A', price: 1 };
  for (const token of [undefined, 'bad']) {
    for (const [method, path] of [
      ['POST', '/api/products'],
      ['PUT', '/api/products/1'],
      ['PATCH', '/api/products/1'],
      ['DELETE', '/api/products/1'],
    ] as const) {
      isError(
        t,
        await shop.request(method, path, { token, ...(method === 'DELETE' ? {} : { json: product }) }),
        'unauthorized',
        `${method} ${path}, token ${token}`,
      );
    }
  }
  t.equal((await shop.get<Account>('/api/accounts/1', { token: admin })).body.email, ADMIN.email);
}

t.test('settings', async (t) => {
  const variables = {
    NON_AUTH_ENDPOINTS: ' /api/auth/login , /api/products/*,HEAD /api/roles',
    JWT_ACCESS_TOKEN_EXPIRES: '60',
    JWT_SECRET: '',
  };
  const shop = await openShop(t, { variables });
  const token = await shop.login();
  const { iat, exp } = claimsOf(token);
  t.equal(Number(exp) - Number(iat), 60, 'JWT_ACCESS_TOKEN_EXPIRES');
  t.equal(
    (await shop.get('/api/products', { token: forge(claimsOf(token), { secret: SECRET_KEY }) })).status,
    200,
    'JWT_SECRET is SECRET_KEY by default',
  );
  for (const path of ['/api/products', '/api/products/', '/api/products/1', '/api/products/featured']) {
    t.equal((await shop.get(path)).status, 200, `${path}: a star at the end matches any rest`);
  }
  isError(
    t,
    await shop.post('/api/products', { name: 'A', price: 1 }),
    'unauthorized',
    'the permission is asked all the same',
  );
  isError(t, await shop.get('/api/roles'), 'unauthorized', 'GET, where HEAD stands in front');
  isError(t, await shop.post('/api/auth/register', {}), 'unauthorized', 'what is not listed needs a token');
  t.equal((await shop.get('/health/')).status, 200, 'health routes never need a token');
});
