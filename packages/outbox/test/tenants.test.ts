/** Handlers of events work for the tenant of the event's record. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ALL_TENANTS, ModelViewSet, readShape, Router, tenant, writeShape } from '@viewset/core';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { emit, type EventHandlers, OutboxEvent } from '../src/index.ts';
import { until } from './support/until.ts';
import { withOutbox } from './support/with-outbox.ts';

const Order = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: { id: p.integer().primary(), text: p.string(), tenant: p.bigint() },
});
class OrderViewSet extends ModelViewSet(Order, {
  read: readShape(Order, ['id', 'text']),
  write: writeShape(Order, ['text']),
  emits: ['created', 'deleted'],
}) {}
class AdminViewSet extends ModelViewSet(Order, {
  read: readShape(Order, ['id', 'text']),
  write: writeShape(Order, ['text', 'tenant']),
  emits: ['created'],
}) {}

const tenants = tenant({
  entities: { tenant: [Order] },
  of: ({ headers }) => (headers['x-tenant'] === 'all' ? ALL_TENANTS : BigInt(String(headers['x-tenant']))),
});

forEachDatabase(t, { entities: [Order, OutboxEvent], orm: { extensions: [tenants] } }, async (t, orm) => {
  const handled: unknown[][] = [];
  const handlers: EventHandlers = {
    '*': async ({ type, tenant: of }, { em }) => {
      const texts = (await em.find(Order, {})).map(({ text }) => text);
      handled.push([type, of, texts]);
    },
  };
  const router = new Router().register('orders', OrderViewSet).register('admin', AdminViewSet);
  const app = await testApp(t, orm, [router], {
    before: async (app) => {
      await app.register(tenants.plugin);
      await withOutbox({ handlers, pollMs: 50, backoffMs: 60_000 })(app);
    },
  });
  const send = async (of: string, url: string, payload: object) => {
    const answer = await app.inject({ method: 'POST', url, headers: { 'x-tenant': of }, payload });
    t.equal(answer.statusCode, 201);
  };

  t.test('handlers read the records of one tenant', async (t) => {
    await send('1', '/orders', { text: 'of one' });
    await until(() => handled.length === 1);
    await send('2', '/orders', { text: 'of two' });
    await until(() => handled.length === 2);
    await send('all', '/admin', { text: 'by the admin', tenant: '2' });
    await until(() => handled.length === 3);
    t.strictSame(handled, [
      ['order.created', '1', ['of one']],
      ['order.created', '2', ['of two']],
      ['order.created', '2', ['of two', 'by the admin']],
    ]);
  });

  t.test('an event of a job has the tenant of its entity manager', async (t) => {
    handled.length = 0;
    await emit({ em: tenants.fork(orm.em, 1n) }, 'order.counted', {});
    await until(() => handled.length === 1);
    await emit({ em: tenants.fork(orm.em, ALL_TENANTS) }, 'order.audited', {});
    await until(() => handled.length === 2);
    t.match(handled, [
      ['order.counted', '1', ['of one']],
      ['order.audited', null, [String, String, String]],
    ]);
    const id = await emit({ em: orm.em.fork() }, 'order.lost', {});
    const stored = () => orm.em.fork().findOneOrFail(OutboxEvent, { id });
    await until(async () => (await stored()).attempts === 1);
    t.match((await stored()).last_error, /the filter "tenant" of Order has no tenant/);
  });
});
