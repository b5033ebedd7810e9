/**
 * Puts the library into an application that was there before it and keeps its own: @fastify/jwt with its `request.user`,
 * `request.em` as MikroORM's documentation has it, handlers for errors and for what is not found, `/health`, open routes.
 * docs/existing-application.md says the same in words.
 */
import fastifyJwt from '@fastify/jwt';
import { defineEntity, type EntityManager, type MikroORM, p } from '@mikro-orm/core';
import {
  type CurrentUser,
  getCurrentUser,
  HealthRegistry,
  IsAuthenticated,
  IsSafeMethodOnly,
  ModelViewSet,
  readShape,
  Router,
  viewset,
  type ViewsetOptions,
  writeShape,
  action,
} from '@viewset/core';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { auth } from '../../src/index.ts';
import { MailBox, PASSWORD, SECRET } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

const Invoice = defineEntity({
  name: 'Invoice',
  properties: { id: p.integer().primary(), number: p.string().length(20) },
});
const Product = defineEntity({
  name: 'Product',
  properties: { id: p.integer().primary(), name: p.string().length(20) },
});

class InvoiceViewSet extends ModelViewSet(Invoice, {
  read: readShape(Invoice, ['id', 'number']),
  write: writeShape(Invoice, ['number']),
  permissionClasses: [IsAuthenticated],
}) {
  whoami = action({}, async (request) => ({ user: getCurrentUser(request) }));
  managers = action({}, async (request) => ({ invoices: await request.em.count(Invoice) }));
  undone = action({ methods: ['post'] }, async (request) =>
    request.em.transactional(async () => {
      await this.performCreate(request, { number: 'never' });
      throw new Error('undone');
    }),
  );
  failing = action({}, async () => {
    throw new Error('a secret of the server');
  });
}
class ProductViewSet extends ModelViewSet(Product, {
  read: readShape(Product, ['id', 'name']),
  write: writeShape(Product, ['name']),
  permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)],
}) {
  managers = action({}, async (request) => ({ products: await request.em.count(Product) }));
}

/** The application as it was: it knows nothing of the library. */
async function oldApplication(t: Test, orm: MikroORM): Promise<FastifyInstance> {
  const app = fastify();
  t.teardown(() => app.close());
  await app.register(fastifyJwt, { secret: 'the secret of the old application' });
  app.decorateRequest('em');
  app.addHook('onRequest', async (request) => {
    request.em = orm.em.fork();
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send('<h1>Nothing here</h1>'));
  app.setErrorHandler((_error, _request, reply) => reply.code(500).send('<h1>Sorry</h1>'));
  app.get('/health', async () => 'fine');
  app.get('/hello', async () => 'hello');
  app.get('/broken', async () => {
    throw new Error('broken');
  });
  app.get('/me', { onRequest: async (request) => request.jwtVerify() }, async (request) => ({
    user: request.user,
    invoices: await request.em.count(Invoice),
  }));
  return app;
}

/** The user of the old application's token. */
function userOfToken(request: FastifyRequest): CurrentUser | null {
  const claims: unknown = request.user;
  const { sub } = (claims ?? {}) as { sub?: number };
  return sub === undefined ? null : ({ id: sub, role: { name: 'clerk' } } as CurrentUser);
}

interface Databases {
  readonly invoices: MikroORM;
  readonly shop: MikroORM;
}

async function addLibrary(app: FastifyInstance, { invoices, shop }: Databases): Promise<void> {
  await app.register(
    async (scope) => {
      scope.addHook('onRequest', async (request) => {
        if (request.headers.authorization !== undefined) await request.jwtVerify();
      });
      await scope.register(viewset, { orm: invoices, user: userOfToken, em: 'existing', health: false });
      await scope.register(new Router().register('invoices', InvoiceViewSet).plugin);
    },
    { prefix: '/api' },
  );
  await app.register(
    async (scope) => {
      await scope.register(viewset, {
        orm: shop,
        user: 'own',
        em: 'own',
        health: new HealthRegistry(),
        healthPath: '/status',
      });
      const mailer = new MailBox();
      await scope.register(auth, { account: Account, secret: SECRET, bcryptRounds: 4, mailer });
      await scope.register(new Router().register('products', ProductViewSet).plugin);
      scope.get('/whoami', async (request) => ({ user: request.user?.id ?? null }));
    },
    { prefix: '/shop' },
  );
  await app.ready();
}

forEachDatabase(t, { entities: [Account, Role, Product] }, async (t, shop) => {
  const invoices = await openSqlite(t, { entities: [Invoice] });
  const app = await oldApplication(t, invoices);
  await addLibrary(app, { invoices, shop });
  const em = invoices.em.fork() as EntityManager;
  em.create(Invoice, { number: 'A-1' });
  await em.flush();
  const accounts = shop.em.fork();
  accounts.create(Account, { name: 'Ann', email: 'ann@example.com', password: PASSWORD, created_at: new Date() });
  await accounts.flush();
  const oldToken = { authorization: `Bearer ${app.jwt.sign({ sub: 7 })}` };

  t.test('routes of the application respond as before', async (t) => {
    for (const [path, status, body] of [
      ['/hello', 200, 'hello'],
      ['/health', 200, 'fine'],
      ['/nowhere', 404, '<h1>Nothing here</h1>'],
      ['/broken', 500, '<h1>Sorry</h1>'],
    ] as const) {
      const answer = await app.inject(path);
      t.equal(answer.statusCode, status, path);
      t.equal(answer.body, body, path);
      t.equal(answer.headers['x-content-type-options'], undefined, `${path}: nothing is added`);
    }
    t.equal((await app.inject({ method: 'DELETE', url: '/hello' })).body, '<h1>Nothing here</h1>');
    const me = await app.inject({ url: '/me', headers: oldToken });
    t.match(me.json(), { user: { sub: 7 }, invoices: 1 });
  });

  t.test('below a prefix, errors and unknown paths are the one body', async (t) => {
    for (const [method, url, statusCode, code] of [
      ['GET', '/api/nowhere', 404, 'not_found'],
      ['PATCH', '/api/invoices', 405, 'method_not_allowed'],
      ['GET', '/api/invoices', 401, 'unauthorized'],
      ['GET', '/shop/nowhere', 404, 'not_found'],
      ['POST', '/shop/products', 401, 'unauthorized'],
      ['GET', '/shop/whoami', 401, 'unauthorized'],
    ] as const) {
      const answer = await app.inject({ method, url });
      t.match(answer.json(), { code }, url);
      t.equal(answer.statusCode, statusCode, url);
    }
    const failing = await app.inject({ url: '/api/invoices/failing', headers: oldToken });
    t.equal(failing.statusCode, 500);
    t.match(failing.json(), { code: 'internal_error' });
    t.equal(
      (await app.inject({ method: 'OPTIONS', url: '/api/invoices' })).headers['allow'],
      'GET, HEAD, POST, OPTIONS',
    );
  });

  t.test('a view goes by the user of the application, and by its entity manager', async (t) => {
    const who = await app.inject({ url: '/api/invoices/whoami', headers: oldToken });
    t.same(who.json(), { user: { id: 7, role: { name: 'clerk' } } });
    const made = await app.inject({
      method: 'POST',
      url: '/api/invoices',
      headers: oldToken,
      payload: { number: 'A-2' },
    });
    t.equal(made.statusCode, 201, made.body);
    t.equal(made.headers.location, '/api/invoices/2');
    const undone = await app.inject({ method: 'POST', url: '/api/invoices/undone', headers: oldToken });
    t.equal(undone.statusCode, 500);
    t.same((await app.inject({ url: '/api/invoices/managers', headers: oldToken })).json(), { invoices: 2 });
    t.equal((await app.inject({ url: '/api/invoices', headers: oldToken })).json().count, 2);
  });

  t.test('another scope has a separate ORM, accounts, tokens and health routes', async (t) => {
    const login = await app.inject({
      method: 'POST',
      url: '/shop/auth/login',
      payload: { email: 'ann@example.com', password: PASSWORD },
    });
    t.equal(login.statusCode, 200, login.body);
    const headers = { authorization: `Bearer ${login.json().access_token}` };
    const made = await app.inject({ method: 'POST', url: '/shop/products', headers, payload: { name: 'Tea' } });
    t.equal(made.statusCode, 201, made.body);
    t.same((await app.inject({ url: '/shop/products/managers', headers })).json(), { products: 1 });
    t.same((await app.inject({ url: '/shop/whoami', headers })).json(), { user: 1 });
    t.equal((await app.inject({ url: '/api/invoices', headers })).statusCode, 401, "the shop's token is the shop's");
    t.equal((await app.inject({ url: '/shop/whoami', headers: oldToken })).statusCode, 401, 'and theirs is theirs');
    t.equal((await app.inject('/shop/status/')).json().status, 'ok');
    t.equal((await app.inject('/shop/health')).statusCode, 404);
  });
});

t.test('existing decorators and handlers are never replaced silently', async (t) => {
  const orm = await openSqlite(t, { entities: [Invoice] });
  const other = await openSqlite(t, { entities: [Invoice] });
  const start = async (options: Partial<ViewsetOptions>, before: (app: FastifyInstance) => void) => {
    // Otherwise Fastify warns, and lets the later handler win.
    const app = fastify({ allowErrorHandlerOverride: false });
    t.teardown(() => app.close());
    before(app);
    await app.register(viewset, { orm, ...options });
    return app;
  };
  const refuses = async (message: RegExp, before: (app: FastifyInstance) => void, options = {}) =>
    t.rejects(start(options, before), { code: 'improperly_configured', message });
  await refuses(/"user" already.*option "user"/, (app) => void app.decorateRequest('user', null));
  await refuses(/"em" already.*option "em"/, (app) => void app.decorateRequest('em'));
  await refuses(/option "em" is "existing"/, () => {}, { em: 'existing' });
  await refuses(/option "errorHandler"/, (app) => void app.setErrorHandler(() => 'ours'));
  await refuses(/option "notFoundHandler"/, (app) => void app.setNotFoundHandler(() => 'ours'));
  for (const options of [{ user: true }, { em: 'theirs' }, { errorHandler: 'no' }, { healthPath: 'status' }]) {
    await refuses(new RegExp(`option "${Object.keys(options)[0]}" must be`), () => {}, options);
  }
  const twice = start({}, () => {}).then(async (app) => app.register(viewset, { orm: other }));
  await t.rejects(twice, { code: 'improperly_configured', message: /in its own scope/ });

  const kept = await start({ errorHandler: false, notFoundHandler: false }, (app) => {
    app.setErrorHandler((_error, _request, reply) => reply.code(500).send('theirs'));
    app.setNotFoundHandler((_request, reply) => reply.code(404).send('theirs'));
  });
  t.equal((await kept.inject('/nowhere')).body, 'theirs');
});

t.test('an entity manager that a hook sets is used, and one of another database is not', async (t) => {
  const orm = await openSqlite(t, { entities: [Invoice] });
  const other = await openSqlite(t, { entities: [Invoice] });
  const ask = async (source: MikroORM, options: Partial<ViewsetOptions> = {}) => {
    const app = fastify();
    t.teardown(() => app.close());
    await app.register(viewset, { orm, ...options });
    const made: EntityManager[] = [];
    app.addHook('onRequest', async (request) => {
      made.push((request.em = source.em.fork()));
    });
    app.get('/', async (request) => ({ isTheirs: request.em === made[0] }));
    return app.inject('/');
  };
  t.same((await ask(orm)).json(), { isTheirs: true });
  t.equal((await ask(other)).statusCode, 500);
  t.same((await ask(other, { em: 'own' })).json(), { isTheirs: false });
});

t.test('a user that is a promise is an error', async (t) => {
  const orm = await openSqlite(t, { entities: [Invoice] });
  for (const [user, status] of [
    [async () => ({ id: 1 }), 500],
    [() => undefined, 401],
    [() => null, 401],
    [() => 'ann', 401],
    [() => ({ id: 1 }), 200],
  ] as const) {
    const app = fastify();
    t.teardown(() => app.close());
    await app.register(viewset, { orm, user: user as never });
    await app.register(new Router().register('invoices', InvoiceViewSet).plugin);
    t.equal((await app.inject('/invoices')).statusCode, status, String(user));
  }
});
