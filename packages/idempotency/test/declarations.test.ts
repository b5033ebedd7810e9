/** Where `idempotency` may be declared, and what documents say of it. */
import { defineEntity, p } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/sqlite';
import t from 'tap';
import { action, ModelViewSet, readShape, Router, ViewSet, type ViewsetOptions, writeShape } from '@viewset/core';
import { openSqlite } from '../../core/test/support/databases.ts';
import { errorAtStart, testApp } from '../../core/test/support/library.ts';
import { IdempotencyKeys, IdempotencyRecord } from '../src/index.ts';

const Order = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: { id: p.integer().primary(), item: p.string().length(50) },
});
const read = readShape(Order, ['id', 'item']);
const write = writeShape(Order, ['item']);

class OrderViewSet extends ModelViewSet(Order, { read, write, idempotency: 'required', bulk: 100 }) {
  pay = action({ methods: ['post', 'delete'], detail: true, idempotency: 'optional' }, async () => ({}));
  ship = action({ methods: ['post'], detail: true, transaction: false }, async () => ({}));
  cancel = action({ methods: ['patch'], detail: true, idempotency: 'off' }, async () => ({}));
}
class PlainViewSet extends ViewSet {
  override idempotency = 'required' as const;
  override create() {
    return {};
  }
}

t.test('the action decides, then the view, then the plugin', async (t) => {
  const orm = await openSqlite(t, { entities: [Order, IdempotencyRecord] });
  const modesOf = async (options: Partial<ViewsetOptions>, router: Router) => {
    const { operations } = (await testApp(t, orm, [router], { options })).viewset;
    return Object.fromEntries(operations.map(({ operationId, idempotency }) => [operationId, idempotency]));
  };
  const router = () => new Router().register('orders', OrderViewSet).register('plain', PlainViewSet);
  t.match(await modesOf({ idempotency: new IdempotencyKeys({ mode: 'off' }) }, router()), {
    listOrders: undefined,
    createOrder: 'required',
    createOrders: 'required',
    replaceOrder: undefined,
    updateOrder: 'required',
    updateOrders: 'required',
    destroyOrder: undefined,
    payOrder: 'optional',
    payOrderDelete: undefined,
    shipOrder: undefined,
    cancelOrder: undefined,
    createPlain: 'required',
  });
  class Orders extends ModelViewSet(Order, { read, write }) {}
  const plain = () => new Router().register('orders', Orders);
  t.match(await modesOf({ idempotency: new IdempotencyKeys() }, plain()), { createOrder: 'optional' });
  t.match(await modesOf({}, plain()), { createOrder: undefined });
});

t.test('a plan has the header and the errors of the key', async (t) => {
  const orm = await openSqlite(t, { entities: [Order, IdempotencyRecord] });
  const options = { idempotency: new IdempotencyKeys() };
  const app = await testApp(t, orm, [new Router().register('orders', OrderViewSet)], { options });
  const planOf = (id: string) => app.viewset.operations.find(({ operationId }) => operationId === id)!;
  const { headerParameters, responses } = planOf('createOrder');
  t.match(headerParameters, [{ name: 'idempotency-key', required: true, schema: { type: 'string' } }]);
  t.ok(responses[400] && responses[409] && responses[422]);
  t.match(planOf('payOrder').headerParameters, [{ name: 'idempotency-key', required: false }]);
  t.strictSame(planOf('replaceOrder').headerParameters, []);
  t.equal(planOf('replaceOrder').responses[422], undefined);
});

t.test('a mistake is refused at the start', async (t) => {
  const orm = await openSqlite(t, { entities: [Order, IdempotencyRecord] });
  t.equal(
    await errorAtStart(t, orm, OrderViewSet),
    'OrderViewSet.create: option "idempotency" needs the option "idempotency" of the plugin viewset, such as new IdempotencyKeys()',
  );
  class Wrong extends PlainViewSet {
    override idempotency = 'always' as never;
  }
  t.equal(
    await errorAtStart(t, orm, Wrong),
    'Wrong: option "idempotency" must be one of required, optional, off, got "always"',
  );
  t.match(
    await errorAtStart(t, orm, PlainViewSet, { idempotency: true as never }),
    /^viewset: option "idempotency" must be an IdempotencyKeys/,
  );
  const bare = await openSqlite(t, { entities: [Order] });
  const idempotency = new IdempotencyKeys();
  t.equal(
    await errorAtStart(t, bare, PlainViewSet, { idempotency }),
    'IdempotencyKeys: add IdempotencyRecord to the entities of the ORM',
  );
  const without = await MikroORM.init({ dbName: ':memory:', entities: [IdempotencyRecord], disableTransactions: true });
  t.teardown(() => without.close());
  t.equal(
    await errorAtStart(t, without, PlainViewSet, { idempotency }),
    'Idempotency-Key needs a transaction, but the ORM has none (disableTransactions)',
  );
  t.throws(() => action({ methods: ['put'], idempotency: 'optional' }, () => ({})), {
    message: 'action(): option "idempotency" needs "methods" with post or patch',
  });
  t.throws(() => action({ methods: ['post'], idempotency: 'required', transaction: false }, () => ({})), {
    message: 'action(): option "idempotency" stores the answer in a transaction, but "transaction" is false',
  });
  for (const [options, message] of [
    [{ ttl: 1 }, /unknown option "ttl"/],
    [{ ttlSeconds: 0 }, 'IdempotencyKeys: option "ttlSeconds" must be a whole number above 0, got 0'],
    [{ mode: 'on' }, 'IdempotencyKeys: option "mode" must be one of required, optional, off, got "on"'],
    [{ account: 'ada' }, 'IdempotencyKeys: option "account" must be a function, got "ada"'],
  ] as const) {
    t.throws(() => new IdempotencyKeys(options as object), { message });
  }
});

t.test('an account that is not text is an error', async (t) => {
  class Orders extends ModelViewSet(Order, { read, write }) {}
  const sent = async (account: () => unknown) => {
    const orm = await openSqlite(t, { entities: [Order, IdempotencyRecord] });
    const options = { idempotency: new IdempotencyKeys({ account: account as () => string }) };
    const app = await testApp(t, orm, [new Router().register('orders', Orders)], { options });
    const headers = { 'idempotency-key': '"k"' };
    const { statusCode } = await app.inject({ method: 'POST', url: '/orders', headers, payload: { item: 'tea' } });
    return [statusCode, await orm.em.fork().count(Order)];
  };
  t.strictSame(await sent(() => 'ada'), [201, 1]);
  t.strictSame(await sent(() => 7), [201, 1]);
  t.strictSame(await sent(() => 7n), [201, 1]);
  t.strictSame(await sent(() => null), [400, 0], 'null is no account');
  t.strictSame(await sent(async () => 'ada'), [500, 0], 'all promises are the same text');
  t.strictSame(await sent(() => ({ id: 7 })), [500, 0], 'all objects are the same text');
});
