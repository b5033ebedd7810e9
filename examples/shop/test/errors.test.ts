import { isError, isInvalid } from './support/expect.ts';
import type { Test } from 'tap';
import { type Shop, withShop } from './support/shop.ts';

const PRODUCT = { name: 'A', price: 1 };

withShop({}, async (t, shop) => {
  const admin = await shop.login();
  const user = await shop.newUser('user@example.com');

  await t.test('400 parse_error: unreadable bodies', (t) => unreadable(t, shop, admin));
  await t.test('400 invalid_usage: details name every offending field', (t) => unusable(t, shop, admin));
  await t.test('401 unauthorized: with WWW-Authenticate', (t) => unauthorized(t, shop));
  await t.test('403 forbidden: somebody is logged in, and may not', async (t) => {
    isError(t, await shop.post('/api/roles', { name: 'x' }, { token: user }), 'forbidden');
    isError(t, await shop.get('/api/accounts', { token: user }), 'forbidden');
  });
  await t.test('404 not_found: unknown route, missing record, malformed key', (t) => notFound(t, shop, admin));
  await t.test('405 method_not_allowed: with Allow, for every user', (t) => wrongMethods(t, shop, admin));
  await t.test('409 conflict: on create, update and destroy', (t) => conflicts(t, shop, admin));
  await t.test('413, 414, 415 and 431: requests that are too large or of another type', (t) => refused(t, shop, admin));
  await t.test('the order of checks', (t) => order(t, shop, admin, user));
  await t.test('every response has the security headers of browsers', async (t) => {
    const answers = await Promise.all([
      shop.get('/api/products'),
      shop.get('/api/nothing'),
      shop.get('/health/'),
      shop.post('/api/products', {}),
      shop.post('/api/auth/login', {}),
      shop.request('DELETE', '/api/products'),
      shop.request('OPTIONS', '/api/products'),
    ]);
    for (const { status, headers } of answers) {
      t.equal(headers.get('x-content-type-options'), 'nosniff', `${status}`);
      t.match(headers.get('content-security-policy'), /default-src 'none'/, `${status}`);
      t.match(headers.get('strict-transport-security'), /max-age=\d{7,}/, `${status}`);
      t.match(headers.get('x-frame-options'), /SAMEORIGIN|DENY/, `${status}`);
      t.equal(headers.get('referrer-policy'), 'no-referrer', `${status}`);
      t.equal(headers.get('x-powered-by'), null);
    }
  });
  await t.test('HEAD has the status of GET and no body', async (t) => {
    const answer = await shop.request('HEAD', '/api/nothing');
    t.equal(answer.status, 404);
    t.equal(answer.text, '');
  });
});

async function unreadable(t: Test, shop: Shop, token: string): Promise<void> {
  for (const body of [
    '{"name":',
    '{',
    'nonsense',
    "{'name':'A'}",
    '{"a":1,}',
    '[1',
    '"',
    'NaN',
    '{"name":"A","price":1} x',
  ]) {
    const answer = await shop.request('POST', '/api/products', { token, body });
    isError(t, answer, 'parse_error', `malformed JSON ${body}`);
  }
  const latin1 = Buffer.from('{"name":"\xe9","price":1}', 'latin1');
  isError(t, await shop.request('POST', '/api/products', { token, body: latin1 }), 'parse_error', 'no UTF-8');
  for (const method of ['POST', 'PUT', 'PATCH']) {
    const path = method === 'POST' ? '/api/products' : '/api/products/1';
    const headers = { 'content-type': 'application/json' };
    isError(t, await shop.request(method, path, { token, headers }), 'parse_error', `${method}, an empty body`);
    isError(t, await shop.request(method, path, { token }), 'parse_error', `${method}, no body at all`);
  }
  for (const path of ['login', 'register', 'send-verification-email']) {
    const headers = { 'content-type': 'application/json' };
    isError(t, await shop.request('POST', `/api/auth/${path}`, { headers }), 'parse_error', `${path}, an empty body`);
    isError(
      t,
      await shop.request('POST', `/api/auth/${path}`, { body: '{' }),
      'parse_error',
      `${path}, malformed JSON`,
    );
  }
  for (const path of ['/api/products/%', '/api/products/%zz', '/%c0%af', '/api/products/%ff', '/api/%E0%A4%A']) {
    const answer = await shop.raw(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    isError(t, answer, 'parse_error', `bad percent-encoding ${path}`);
  }
  const malformed = {
    'a header without a colon': 'GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n',
    'no HTTP': 'nonsense\r\n\r\n',
    'an unknown method': 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n',
    'another version': 'GET / HTTP/9.9\r\nHost: x\r\n\r\n',
    'two lengths': 'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}',
    'a length and chunks':
      'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'a length that is no number': 'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n{}',
    'a bad chunk':
      'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n',
    'a NUL in a header': 'GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n',
    'no host': 'GET /api/products HTTP/1.1\r\nConnection: close\r\n\r\n',
  };
  for (const [name, bytes] of Object.entries(malformed)) isError(t, await shop.raw(bytes), 'parse_error', name);
}

async function unusable(t: Test, shop: Shop, token: string): Promise<void> {
  isInvalid(t, await shop.post('/api/products', {}, { token }), ['/name', '/price'], 'missing fields');
  isInvalid(
    t,
    await shop.post('/api/products', { name: 1, price: '1', stock: 'x' }, { token }),
    ['/name', '/price', '/stock'],
    'wrong types',
  );
  isInvalid(
    t,
    await shop.patch('/api/products/1', { price: 0, stock: -1 }, { token }),
    ['/price', '/stock'],
    'a partial update',
  );
  const registration = await shop.post('/api/auth/register', { email: 'x', password: '1', name: '' });
  isInvalid(t, registration, ['/email', '/name', '/password'], 'a registration');
  isInvalid(t, await shop.get('/api/products?page=0', { token }), ['/page'], 'a page');
  t.equal((await shop.get('/api/products?page=0')).body.details?.[0]?.in, 'query');
  t.equal((await shop.post('/api/products', {}, { token })).body.details?.[0]?.in, 'body');
  for (const body of ['null', '[]', '1', '"text"', 'true']) {
    const answer = await shop.request('POST', '/api/products', { token, body });
    isError(t, answer, 'invalid_usage', `${body} for a body`);
  }
}

async function unauthorized(t: Test, shop: Shop): Promise<void> {
  const anonymous = await shop.get('/api/roles');
  isError(t, anonymous, 'unauthorized', 'no token');
  t.equal(anonymous.headers.get('www-authenticate'), 'Bearer');
  const forged = await shop.get('/api/roles', { token: 'nonsense' });
  isError(t, forged, 'unauthorized', 'a bad token');
  t.match(forged.headers.get('www-authenticate'), /^Bearer .*error="invalid_token"/);
  isError(t, await shop.post('/api/products', PRODUCT), 'unauthorized', 'a permission that fails');
}

async function notFound(t: Test, shop: Shop, token: string): Promise<void> {
  for (const path of [
    '/',
    '/api/nothing',
    '/api/products/1/nothing',
    '/api/auth',
    '/health/nothing',
    '/API/products',
    '//api/products',
    '/api//products',
    '/api/products.json',
    '/favicon.ico',
  ]) {
    isError(t, await shop.get(path, { token }), 'not_found', path);
    isError(t, await shop.get(path), 'not_found', `${path}, nobody logged in`);
  }
  const pks = [
    '0',
    '51000',
    '2147483647',
    '2147483648',
    '9223372036854775808',
    '1'.repeat(300),
    '01',
    '-1',
    '+1',
    '1.0',
    '1e0',
    '0x1',
    '1_0',
    'abc',
    '%201',
    '1%20',
    '1%00',
    '%EF%BC%91',
    '1%2f2',
    'null',
    'undefined',
    '__proto__',
    'constructor',
    "1'",
    '1;drop',
    '%F0%9F%92%A9',
    '..%2f1',
    'NaN',
    'Infinity',
    '-0',
    '1,2',
    '*',
  ];
  for (const pk of pks) {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      const body = method === 'PUT' || method === 'PATCH' ? { json: PRODUCT } : {};
      const answer = await shop.request(method, `/api/products/${pk}`, { token, ...body });
      isError(t, answer, 'not_found', `${method} pk ${pk.slice(0, 30)}`);
    }
  }
}

async function wrongMethods(t: Test, shop: Shop, token: string): Promise<void> {
  const table: [path: string, allowed: string[], wrong: string[]][] = [
    ['/api/products', ['GET', 'HEAD', 'POST', 'OPTIONS'], ['PUT', 'PATCH', 'DELETE', 'PURGE', 'PROPFIND']],
    ['/api/products/', ['GET', 'HEAD', 'POST', 'OPTIONS'], ['DELETE']],
    ['/api/products/1', ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], ['POST', 'LINK']],
    ['/api/products/featured', ['GET', 'HEAD', 'OPTIONS'], ['POST', 'PUT', 'PATCH', 'DELETE']],
    ['/api/products/search', ['GET', 'HEAD', 'OPTIONS'], ['POST', 'PUT', 'PATCH', 'DELETE']],
    ['/api/accounts', ['GET', 'HEAD', 'OPTIONS'], ['POST', 'PUT', 'PATCH', 'DELETE']],
    ['/api/accounts/1', ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], ['POST']],
    ['/api/auth/login', ['POST', 'OPTIONS'], ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']],
    ['/api/auth/register', ['POST', 'OPTIONS'], ['GET', 'DELETE']],
    ['/api/auth/send-verification-email', ['POST', 'OPTIONS'], ['GET', 'DELETE']],
    ['/health/', ['GET', 'HEAD', 'OPTIONS'], ['POST', 'PUT', 'PATCH', 'DELETE']],
  ];
  for (const [path, allowed, wrong] of table) {
    const requests = wrong.flatMap((method) => [undefined, token, 'bad'].map((who) => ({ method, token: who })));
    for (const { method, token } of requests) {
      const answer = await shop.request(method, path, { token });
      if (method === 'HEAD') t.equal(answer.status, 405, `HEAD ${path}`);
      else isError(t, answer, 'method_not_allowed', `${method} ${path}`);
      t.same(listOf(answer.headers.get('allow')), [...allowed].toSorted(), `${method} ${path}: Allow`);
    }
    const options = await shop.request('OPTIONS', path);
    t.equal(options.status, 204, `OPTIONS ${path}`);
    t.same(listOf(options.headers.get('allow')), [...allowed].toSorted(), `OPTIONS ${path}: Allow`);
  }
  isError(t, await shop.request('OPTIONS', '/api/nothing'), 'not_found');
  isError(
    t,
    await shop.request('POST', '/api/products/1', { body: '{' }),
    'method_not_allowed',
    'before the body is parsed',
  );
}

function listOf(header: string | null): string[] {
  return (header ?? '')
    .split(',')
    .map((method) => method.trim())
    .toSorted();
}

async function conflicts(t: Test, shop: Shop, token: string): Promise<void> {
  const role = await shop.post<{ id: number }>('/api/roles', { name: 'one' }, { token });
  t.equal(role.status, 201);
  isError(t, await shop.post('/api/roles', { name: 'one' }, { token }), 'conflict', 'create');
  isError(t, await shop.patch(`/api/roles/${role.body.id}`, { name: 'admin' }, { token }), 'conflict', 'PATCH');
  isError(t, await shop.put(`/api/roles/${role.body.id}`, { name: 'admin' }, { token }), 'conflict', 'PUT');
  const roles = await shop.get<{ results: { id: number; name: string }[] }>('/api/roles', { token });
  const admin = roles.body.results.find(({ name }) => name === 'admin');
  isError(t, await shop.delete(`/api/roles/${admin?.id}`, { token }), 'conflict', 'a role that accounts refer to');
  t.equal((await shop.get(`/api/roles/${admin?.id}`, { token })).status, 200, 'the role is still there');
}

async function refused(t: Test, shop: Shop, token: string): Promise<void> {
  const large = JSON.stringify({ name: 'x'.repeat(2 ** 20 + 1), price: 1 });
  isError(t, await shop.request('POST', '/api/products', { token, body: large }), 'payload_too_large');
  isError(t, await shop.request('POST', '/api/auth/login', { body: large }), 'payload_too_large', 'login');
  isError(t, await shop.get(`/api/products/${'a'.repeat(4000)}`, { token }), 'uri_too_long');
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/jsonp',
    'text/json',
    'x',
    '*/*',
    ';',
  ]) {
    const options = { token, body: JSON.stringify(PRODUCT), headers: { 'content-type': type } };
    isError(t, await shop.request('POST', '/api/products', options), 'unsupported_media_type', type);
    isError(t, await shop.request('POST', '/api/auth/login', options), 'unsupported_media_type', `login, ${type}`);
  }
  const untyped = await shop.raw(
    `POST /api/auth/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`,
  );
  isError(t, untyped, 'unsupported_media_type', 'no content type');
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/json;charset="UTF-8"',
  ]) {
    const options = { token, body: JSON.stringify(PRODUCT), headers: { 'content-type': type } };
    t.equal((await shop.request('POST', '/api/products', options)).status, 201, type);
  }
  isError(t, await shop.raw(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(40_000)}\r\n\r\n`), 'headers_too_large');
  isError(t, await shop.raw(`GET /?${'x'.repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`), 'uri_too_long', 'a long URL');
}

async function order(t: Test, shop: Shop, admin: string, user: string): Promise<void> {
  isError(t, await shop.get('/api/nothing', { token: 'bad' }), 'not_found', 'the route before the token');
  isError(t, await shop.request('POST', '/api/products', { body: '{' }), 'unauthorized', 'who, before what was sent');
  isError(t, await shop.post('/api/products', {}), 'unauthorized', 'who, before what was sent');
  const large = JSON.stringify({ name: 'x'.repeat(2 ** 20 + 1) });
  isError(
    t,
    await shop.request('POST', '/api/products', { body: large, headers: { connection: 'close' } }),
    'unauthorized',
    'who, before how much',
  );
  isError(
    t,
    await shop.request('POST', '/api/products', { body: 'x', headers: { 'content-type': 'text/plain' } }),
    'unauthorized',
    'who, before which type',
  );
  isError(t, await shop.delete('/api/products/abc'), 'unauthorized', 'who, before the pk');
  isError(t, await shop.delete('/api/roles/abc', { token: user }), 'forbidden', 'the permission before the pk');
  isError(
    t,
    await shop.request('POST', '/api/roles', { token: user, body: '{' }),
    'forbidden',
    'the permission before the body',
  );
  isError(
    t,
    await shop.request('PUT', '/api/products/abc', { token: admin, body: '{' }),
    'not_found',
    'the pk before the body',
  );
  isError(t, await shop.put('/api/products/abc', {}, { token: admin }), 'not_found', 'the pk before validation');
  isError(
    t,
    await shop.put('/api/products/999999', {}, { token: admin }),
    'invalid_usage',
    'validation before the lookup',
  );
  isError(
    t,
    await shop.request('PATCH', '/api/products/999999', { token: admin, body: '{' }),
    'parse_error',
    'parsing before the lookup',
  );
  isError(t, await shop.put('/api/products/999999', PRODUCT, { token: admin }), 'not_found', 'the lookup');
}
