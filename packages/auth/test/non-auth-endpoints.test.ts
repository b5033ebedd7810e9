import { ImproperlyConfigured } from '@viewset/core';
import fastify from 'fastify';
import t from 'tap';
import { NonAuthEndpoints } from '../src/tokens/non-auth-endpoints.ts';

t.test('an exact entry is that path, with or without a trailing slash and a query, by every method', async (t) => {
  const endpoints = new NonAuthEndpoints(['/api/auth/login', '/health/', '/']);
  for (const url of [
    '/api/auth/login',
    '/api/auth/login/',
    '/api/auth/login?a=/x',
    '/health',
    '/health/',
    '/',
    '/?x',
  ]) {
    t.ok(endpoints.includes('GET', url), url);
    t.ok(endpoints.includes('POST', url), url);
  }
  for (const url of [
    '/api/auth',
    '/api/auth/login/x',
    '/api/auth/loginx',
    '/api/auth/login//',
    '//api/auth/login',
    '/API/auth/login',
    '/api/auth/login;x',
    '/api/auth/../auth/login',
    '/x?/api/auth/login',
    '',
  ]) {
    t.notOk(endpoints.includes('POST', url), url);
  }
});

t.test('a star at the end matches any rest, also an empty one', async (t) => {
  const endpoints = new NonAuthEndpoints(['/public/*', '/doc*', 'GET /files/*']);
  for (const url of ['/public', '/public/', '/public/a/b', '/doc', '/docs', '/doc/x']) {
    t.ok(endpoints.includes('PUT', url), url);
  }
  for (const url of ['/publi', '/publicx', '/do', '/x/public/a', '/files/a']) {
    t.notOk(endpoints.includes('PUT', url), url);
  }
  t.ok(endpoints.includes('HEAD', '/files/a'));
  t.ok(new NonAuthEndpoints(['*']).includes('DELETE', '/anything'));
  t.ok(new NonAuthEndpoints(['/*']).includes('DELETE', '/anything'));
  t.ok(new NonAuthEndpoints(['GET *']).includes('GET', '/'));
});

t.test('a method in front limits the entry to it, and GET brings HEAD', async (t) => {
  const endpoints = new NonAuthEndpoints(['GET /api/products', 'post   /api/orders', 'HEAD /h', 'PATCH /api/products']);
  t.ok(endpoints.includes('GET', '/api/products'));
  t.ok(endpoints.includes('HEAD', '/api/products/'));
  t.ok(endpoints.includes('PATCH', '/api/products'));
  t.notOk(endpoints.includes('POST', '/api/products'));
  t.ok(endpoints.includes('POST', '/api/orders'));
  t.notOk(endpoints.includes('HEAD', '/api/orders'));
  t.ok(endpoints.includes('HEAD', '/h'));
  t.notOk(endpoints.includes('GET', '/h'));
});

t.test('a wrong entry is refused when it is read', async (t) => {
  const wrong: unknown[] = [
    '',
    'login',
    'FETCH /a',
    'GET',
    'GET /a /b',
    '/a?b',
    '/a#b',
    '/a*b',
    '/*/a',
    '**',
    '/%zz',
    'GET a*',
    1,
    null,
  ];
  for (const entry of wrong) {
    t.throws(() => new NonAuthEndpoints([entry as string]), ImproperlyConfigured, JSON.stringify(entry));
  }
  t.throws(() => new NonAuthEndpoints('/a' as never), { message: /NON_AUTH_ENDPOINTS/ });
});

t.test('a path is matched as the router decodes it, whichever way it is written', async (t) => {
  const endpoints = new NonAuthEndpoints(['/api/auth/login', '/caf%C3%A9', '/100%25']);
  const app = fastify({ routerOptions: { ignoreTrailingSlash: true } });
  for (const path of ['/api/auth/login', '/café', '/100%']) app.get(path, async () => path);
  app.get('/:rest', async () => 'another');
  app.addHook('onRequest', async (request, reply) => {
    reply.header('public', String(endpoints.includes(request.method, request.url)));
  });
  const listed = new Set(['/api/auth/login', '/café', '/100%']);
  for (const url of [
    '/api/auth/login',
    '/api/auth/%6Cogin',
    '/%61pi/auth/login/',
    '/api%2Fauth%2Flogin',
    '/api/auth%2flogin',
    '/caf%C3%A9',
    '/caf%c3%a9',
    '/a%2Fb',
    '/a/b',
    '/100%25',
    '/100%2525',
    '/api/auth/login%3Fx',
    '/api/auth/login%23x',
    '/%2e%2e/login',
  ]) {
    const answer = await app.inject({ url, method: 'GET' });
    const routed = answer.statusCode === 200 && listed.has(answer.body);
    if (answer.headers['public'] === 'true') t.ok(routed, `${url} is public, so it must be the listed route`);
    if (routed) t.equal(answer.headers['public'], 'true', `${url} is the listed route`);
  }
  t.ok(endpoints.includes('POST', 'http://shop.example/api/auth/login?x'), 'a request line may hold the whole URL');
  t.notOk(endpoints.includes('POST', 'http://shop.example/other?http://x/api/auth/login'));
});
