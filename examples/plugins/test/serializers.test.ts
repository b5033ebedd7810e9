/** Compilers and serializers that an application sets at the root for its own routes do not change the library's. */
import { defineEntity, p } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/sqlite';
import { auth } from '@viewset/auth';
import { action, ModelViewSet, readShape, Router, viewset } from '@viewset/core';
import { openapi } from '@viewset/openapi';
import { fastify, type FastifyInstance } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import t, { type Test } from 'tap';
import { Type } from 'typebox';

const RoleSchema = defineEntity({
  name: 'Role',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique() },
});
class Role extends RoleSchema.class {}
RoleSchema.setClass(Role);
const AccountSchema = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100),
    email: p.string().length(255).unique(),
    password: p.string().length(255).hidden(),
    role: () => p.manyToOne(Role).nullable(),
    is_active: p.boolean().default(true),
    last_login: p.datetime(3).nullable(),
    created_at: p.datetime(3).onCreate(() => new Date()),
  },
});
class Account extends AccountSchema.class {}
AccountSchema.setClass(Account);

class AccountViewSet extends ModelViewSet(Account, { read: readShape(Account, ['id', 'name']), allowAnonymous: true }) {
  readonly first = action({ response: Type.Object({ name: Type.String() }) }, () => ({
    name: 'Ada',
    password: 'secret',
  }));
}

async function newApp(t: Test, set: (app: FastifyInstance) => void): Promise<FastifyInstance> {
  const orm = await MikroORM.init({ dbName: ':memory:', entities: [Account, Role] });
  t.teardown(() => orm.close(true));
  await orm.schema.create();
  await orm.em.fork().insert(Account, { name: 'Ada', email: 'ada@example.com', password: 'x', created_at: new Date() });
  const app = fastify();
  t.teardown(() => app.close());
  set(app);
  await app.register(viewset, { orm });
  const mailer = { send: async () => {}, close: () => {} };
  await app.register(auth, { account: Account, secret: 'x'.repeat(32), bcryptRounds: 4, mailer });
  await app.register(openapi, { info: { title: 'Library', version: '1.0.0' } });
  await app.register(new Router({ prefix: 'api' }).register('accounts', AccountViewSet).plugin);
  await app.ready();
  return app;
}

async function testLibrary(t: Test, app: FastifyInstance): Promise<void> {
  const list = await app.inject('/api/accounts');
  t.match([list.statusCode, list.json()], [200, { count: 1, results: [{ id: 1, name: 'Ada' }] }]);
  const first = await app.inject('/api/accounts/first');
  t.strictSame([first.statusCode, first.json()], [200, { name: 'Ada' }], 'no more than is declared');
  const login = await app.inject({
    method: 'POST',
    url: '/auth/login',
    payload: { email: 'a@b.ch', password: 'wrong' },
  });
  t.match([login.statusCode, login.json()], [401, { code: 'unauthorized' }]);
  const bad = await app.inject({ method: 'POST', url: '/auth/login', payload: { email: 1, password: 'wrong' } });
  t.match([bad.statusCode, bad.json()], [400, { code: 'invalid_usage' }]);
  const document = await app.inject('/openapi.json');
  t.match([document.statusCode, document.json()], [200, { openapi: '3.1.1', info: { title: 'Library' } }]);
  t.strictSame((await app.inject('/health/live')).json(), { status: 'ok' });
  const nowhere = await app.inject('/nowhere');
  t.match([nowhere.statusCode, nowhere.json()], [404, { code: 'not_found' }]);
}

t.test('compilers of fastify-type-provider-zod', async (t) => {
  const app = await newApp(t, (root) => {
    root.setValidatorCompiler(validatorCompiler);
    root.setSerializerCompiler(serializerCompiler);
  });
  await testLibrary(t, app);
});

t.test('compilers that refuse every schema', async (t) => {
  const refuse = (): never => {
    throw new Error('not a schema of mine');
  };
  await testLibrary(
    t,
    await newApp(t, (root) => {
      root.setValidatorCompiler(refuse);
      root.setSerializerCompiler(refuse);
    }),
  );
});

t.test('a serializer of replies, which the routes of the application keep', async (t) => {
  const app = await newApp(t, (root) => {
    root.setReplySerializer((payload) => JSON.stringify({ wrapped: payload }));
    root.get('/own', { config: { public: true } }, async () => ({ a: 1 }));
  });
  await testLibrary(t, app);
  t.strictSame((await app.inject('/own')).json(), { wrapped: { a: 1 } });
});
