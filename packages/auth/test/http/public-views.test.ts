import { action, AllowAny, getCurrentUser, IsAuthenticated, IsSafeMethodOnly, Router, ViewSet } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { startApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

const who = (request: FastifyRequest): object => ({
  user: (getCurrentUser(request) as { email?: string } | null)?.email ?? null,
});

class OpenViewSet extends ViewSet {
  override permissionClasses = [AllowAny];
  override list = who as never;
  closed = action({ permissionClasses: [IsAuthenticated] }, async (request) => who(request));
  shut = action({ allowAnonymous: false }, async (request) => who(request));
}

class MixedViewSet extends ViewSet {
  override allowAnonymous = true;
  override permissionClasses = [IsSafeMethodOnly.or(IsAuthenticated)];
  override list(request: FastifyRequest) {
    return who(request);
  }
  override create(request: FastifyRequest) {
    return who(request);
  }
}

class ClosedViewSet extends ViewSet {
  override list(request: FastifyRequest) {
    return who(request);
  }
  open = action({ permissionClasses: [AllowAny] }, async (request) => who(request));
  both = action({ permissionClasses: [AllowAny, IsSafeMethodOnly] }, async (request) => who(request));
}

forEachDatabase(t, { entities: [Account, Role], only: ['sqlite'] }, async (t, orm) => {
  const router = new Router()
    .register('open', OpenViewSet)
    .register('mixed', MixedViewSet)
    .register('closed', ClosedViewSet);
  const tokens = new Map<string, boolean | undefined>();
  const app = await startApp(t, orm, { nonAuthEndpoints: ['/auth/*'] }, (app) => {
    app.addHook(
      'onRoute',
      ({ method, url, config }) => void tokens.set(`${String(method)} ${url}`, config?.needsToken),
    );
    app.post('/auth/own', () => ({}));
    app.get('/hello', { config: { public: true, identifies: true } }, async (request) => who(request));
    app.get('/about', { config: { public: true } }, async (request) => who(request));
    void app.register(router.plugin);
  });
  await app.addAccount('ann@example.com');
  const token = await app.login('ann@example.com');
  const ask = async (path: string, authorization?: string, method = 'GET') =>
    app.request(method, path, { headers: authorization === undefined ? {} : { authorization } });

  t.test('OPTIONS needs no token, and lists what the user of a valid one may do', async (t) => {
    const permitted = async (path: string, authorization?: string) => {
      const { status, headers } = await ask(path, authorization, 'OPTIONS');
      t.equal(status, 204, path);
      return [headers.get('permitted-methods'), headers.get('permitted-operations')];
    };
    for (const nobody of [undefined, 'Bearer forged']) {
      t.strictSame(await permitted('/closed', nobody), ['OPTIONS', 'openClosed']);
      t.strictSame(await permitted('/mixed', nobody), ['GET, HEAD, OPTIONS', 'listMixed']);
      t.strictSame(await permitted('/open', nobody), ['GET, HEAD, OPTIONS', 'listOpen']);
    }
    const { headers } = await ask('/closed', 'Bearer forged', 'OPTIONS');
    t.match(headers.get('www-authenticate'), /invalid_token/, 'and says why a token counts as none');
    const ann = `Bearer ${token}`;
    t.strictSame(await permitted('/closed', ann), ['GET, HEAD, OPTIONS', 'listClosed, openClosed, bothClosed']);
    t.strictSame(await permitted('/mixed', ann), ['GET, HEAD, POST, OPTIONS', 'listMixed, createMixed']);
    t.strictSame(await permitted('/open', ann), ['GET, HEAD, OPTIONS', 'listOpen, closedOpen, shutOpen']);
  });

  t.test('a public route of the application receives the user of a valid token if it requests it', async (t) => {
    const ann = { user: 'ann@example.com' };
    t.match(await ask('/hello', `Bearer ${token}`), { status: 200, body: ann });
    for (const nobody of [undefined, 'Bearer forged']) t.match(await ask('/hello', nobody), { body: { user: null } });
    t.match(await ask('/about', `Bearer ${token}`), { status: 200, body: { user: null } });
  });

  t.test('a view or an action is opened by its option, or by AllowAny as the only class', async (t) => {
    for (const path of ['/open', '/mixed', '/closed/open']) {
      t.match(await ask(path), { status: 200, body: { user: null } }, path);
      t.match(
        await ask(path, `Bearer ${token}`),
        { status: 200, body: { user: 'ann@example.com' } },
        'and a token counts',
      );
      t.match(await ask(path, 'Bearer forged'), { status: 200, body: { user: null } }, 'a bad one does not');
    }
  });

  t.test('nothing else opens a route', async (t) => {
    for (const path of ['/open/closed', '/open/shut', '/closed', '/closed/both']) {
      t.equal((await ask(path)).status, 401, path);
      t.equal((await ask(path, `Bearer ${token}`)).status, 200, path);
    }
  });

  t.test('the configuration of each route says whether it needs a token', async (t) => {
    for (const path of ['GET /open', 'HEAD /open', 'POST /mixed', 'GET /closed/open', 'POST /auth/own']) {
      t.equal(tokens.get(path), false, path);
    }
    for (const path of ['GET /open/closed', 'GET /closed', 'HEAD /closed']) t.equal(tokens.get(path), true, path);
  });

  t.test('an open route still checks its permissions', async (t) => {
    t.equal((await ask('/mixed', undefined, 'POST')).status, 401);
    t.match(await ask('/mixed', `Bearer ${token}`, 'POST'), { status: 200, body: { user: 'ann@example.com' } });
    const forged = await ask('/mixed', 'Bearer forged', 'POST');
    t.equal(forged.status, 401);
    t.match(forged.headers.get('www-authenticate'), /invalid_token/);
  });
});

class ThingViewSet extends ViewSet {
  override list = who as never;
  override retrieve = who as never;
  override update = who as never;
  parts = action({ detail: true }, async (request) => who(request));
}

forEachDatabase(t, { entities: [Account, Role], only: ['sqlite'] }, async (t, orm) => {
  const nonAuthEndpoints = [
    'GET /api/things/1',
    'PUT /api/things/a%20b',
    'GET /api/things/2/parts',
    'GET /api/more/{pk}',
    'HEAD /api/more',
  ];
  const router = new Router({ prefix: 'api' }).register('things', ThingViewSet).register('more', ThingViewSet);
  const app = await startApp(t, orm, { nonAuthEndpoints }, (app) => void app.register(router.plugin));
  const ask = (method: string, path: string) => app.request(method, path, method === 'PUT' ? { json: {} } : {});

  t.test('OPTIONS goes by the URL, of which one may be open and another closed', async (t) => {
    const urls = ['1', '1/', '1?page=2', '2', '2/parts', '1/parts', 'a%20b', '3'].map((rest) => `things/${rest}`);
    for (const url of [...urls, 'things', 'more', 'more/1', 'more/%7Bpk%7D']) {
      const path = `/api/${url}`;
      const { headers } = await ask('OPTIONS', path);
      const permitted = String(headers.get('permitted-methods')).split(', ');
      for (const method of String(headers.get('allow')).split(', ')) {
        if (['OPTIONS', 'HEAD'].includes(method)) continue;
        const { status } = await ask(method, path);
        t.equal(permitted.includes(method), status !== 401, `${method} ${path}: ${status}`);
      }
    }
    const { headers } = await ask('OPTIONS', '/api/things/1');
    t.equal(headers.get('permitted-methods'), 'GET, HEAD, OPTIONS');
    t.equal((await ask('OPTIONS', '/api/things/2')).headers.get('permitted-operations'), 'partsThing');
  });
});
