/** What a history keeps: everything that a write of the view changes, whoever may see it, by operations and by actions. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest, InjectOptions } from 'fastify';
import t, { type Test } from 'tap';
import {
  action,
  type Feature,
  ModelViewSet,
  readShape,
  Router,
  type ViewSet,
  type WriteData,
  writeShape,
} from '@viewset/core';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { history, HistoryEntry } from '../src/index.ts';

const Customer = defineEntity({
  name: 'Customer',
  properties: { id: p.integer().primary(), name: p.string().length(20) },
});
const Address = defineEntity({
  name: 'OrderAddress',
  embeddable: true,
  properties: { city: p.string().length(20), street: p.string().length(20).nullable() },
});
const Order = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: {
    id: p.integer().primary(),
    code: p.string().length(20),
    status: p.string().length(20).default('new'),
    note: p.string().length(20).nullable(),
    pin: p.string().length(20).hidden().nullable(),
    isDefault: p.boolean().default(false),
    address: () => p.embedded(Address).nullable(),
    customer: () => p.manyToOne(Customer).nullable(),
    deleted_at: p.datetime().length(3).nullable(),
  },
});
type OrderRecord = InferEntity<typeof Order>;

const write = writeShape(Order, ['code', 'note', 'pin', 'customer']);

class Orders extends ModelViewSet(Order, {
  read: readShape(Order, ['id', 'code', 'status'], { customer: readShape(Customer, ['id', 'name']) }),
  write,
  history: { revert: true },
  bulk: 5,
}) {
  override async performUpdate(request: FastifyRequest, order: OrderRecord, data: WriteData<OrderRecord, object>) {
    if (data['code' as never] === 'default') {
      for (const other of await request.em.find(Order, { isDefault: true })) other.isDefault = false;
      order.isDefault = true;
    }
    return super.performUpdate(request, order, data as never);
  }

  approve = action({ methods: ['post'], detail: true }, async (request) => {
    const order = await this.getObject(request);
    order.status = 'approved';
    return {};
  });
  look = action({ methods: ['post'], detail: true }, async (request) => {
    await this.getObject(request);
    return {};
  });
  refuse = action({ methods: ['post'], detail: true }, async (request, reply) => {
    const order = await this.getObject(request);
    order.status = 'refused';
    await request.em.flush();
    reply.code(422);
    return {};
  });
  closeAll = action({ methods: ['post'], transaction: true }, async ({ em }) => {
    for (const order of await em.find(Order, { status: 'approved' })) order.status = 'closed';
    em.create(Order, { code: 'summary' } as never);
    em.remove(await em.findOneOrFail(Order, { code: 'obsolete' }));
    await em.flush();
    for (const order of await em.find(Order, { code: 'summary' })) order.note = 'of the day';
    return {};
  });
  rename = action({ methods: ['post'], detail: true }, async (request, reply) => {
    const order = await this.getObject(request);
    order.note = 'before the update';
    await request.em.flush();
    return this.update(request, reply);
  });
}
class ByName extends ModelViewSet(Order, {
  read: readShape(Order, ['id'], { customer: 'customer.name' }),
  write,
  history: true,
}) {}
class ByRole extends ModelViewSet(Order, {
  read: {
    default: readShape(Order, ['id', 'note', 'address']),
    brief: readShape(Order, ['id'], { address: readShape(Address, ['city']) }),
  },
  write: writeShape(Order, ['code', 'note', 'address']),
  history: { revert: true },
}) {
  override readShapeFor({ headers }: FastifyRequest) {
    return headers['x-user'] === 'brief' ? ('brief' as const) : undefined;
  }
}
class SoftlyDeleted extends ModelViewSet(Order, {
  read: readShape(Order, ['id', 'code']),
  write: writeShape(Order, ['code']),
  softDelete: 'deleted_at',
  history: true,
}) {
  expire = action({ methods: ['post'], transaction: true }, async ({ em }) => {
    for (const order of await em.find(Order, {})) order.deleted_at = new Date();
    return {};
  });
}

declare module '@viewset/core' {
  interface ModelViewSetOptions<Entity extends object> {
    readonly archives?: boolean;
  }
}

/** An action that an option of the application brings. */
const archives: Feature<boolean> = {
  option: 'archives',
  rule: ['true or false', (value) => typeof value === 'boolean'],
  resolve: (view) => ({
    actions: new Map([
      [
        'archive',
        action({ methods: ['post'], detail: true }, async (request) => {
          const order = (await view.getObject(request)) as OrderRecord;
          order.status = 'archived';
          return {};
        }),
      ],
    ]),
  }),
};
class Archived extends ModelViewSet(Order, {
  read: readShape(Order, ['id', 'code']),
  write: writeShape(Order, ['code']),
  history: true,
  archives: true,
}) {}

forEachDatabase(t, { entities: [Customer, Order, HistoryEntry] }, async (t, orm) => {
  const start = async (t: Test, View: new () => ViewSet) => {
    await orm.schema.clear();
    const em = orm.em.fork();
    em.create(Customer, { id: 1, name: 'Ada' } as never);
    em.create(Customer, { id: 2, name: 'Ben' } as never);
    await em.flush();
    const app = await testApp(t, orm, [new Router().register('orders', View)], {
      before: async (instance) => {
        await instance.register(history);
        instance.viewset.addFeature(archives);
      },
    });
    return async (method: string, url: string, payload?: object, user?: string) => {
      const headers: Record<string, string> = user === undefined ? {} : { 'x-user': user };
      const sent = { method: method as InjectOptions['method'] & 'GET', url, headers, ...(payload && { payload }) };
      const response = await app.inject(sent);
      return { status: response.statusCode, body: response.body === '' ? undefined : response.json() };
    };
  };
  const entries = async () =>
    (await orm.em.fork().find(HistoryEntry, {}, { orderBy: { id: 'asc' } })).map((entry) => [
      entry.kind,
      entry.action,
      entry.values_before,
    ]);

  t.test('an action that a feature brings', async (t) => {
    const send = await start(t, Archived);
    const { id } = (await send('POST', '/orders', { code: 'a' })).body;
    t.equal((await send('POST', `/orders/${id}/archive`)).status, 200);
    t.strictSame(await entries(), [
      ['created', 'create', null],
      ['updated', 'archive', { status: 'new' }],
    ]);
  });

  t.test('a nested relation, and a field outside of the read shape', async (t) => {
    const send = await start(t, Orders);
    const { id } = (await send('POST', '/orders', { code: 'a', customer: 1, note: 'x', pin: '1234' })).body;
    await send('PATCH', `/orders/${id}`, { customer: 2 });
    await send('PATCH', `/orders/${id}`, { note: 'y' });
    await send('PATCH', `/orders/${id}`, { pin: '9' });
    t.strictSame(await entries(), [
      ['created', 'create', null],
      ['updated', 'update', { customer: 1 }],
      ['updated', 'update', { note: 'x' }],
      ['updated', 'update', {}],
    ]);
    const { results } = (await send('GET', `/orders/${id}/history`)).body;
    t.strictSame(
      results.map(({ changes }: { changes: object }) => changes),
      [{}, {}, { customer: { from: 1, to: 2 } }, {}],
      'the note is kept and not shown',
    );
    t.strictSame(results[0].record, { id, code: 'a', status: 'new', customer: 2 });
    t.notMatch(
      JSON.stringify(await orm.em.fork().find(HistoryEntry, {})),
      /1234|pin/,
      'hidden properties are never kept',
    );
    const reverted = await send('POST', `/orders/${id}/revert`, { entry: results.at(-1).id });
    t.match(reverted, { status: 200, body: { customer: { id: 1, name: 'Ada' } } });
    t.strictSame((await entries()).at(-1), ['updated', 'revert', { customer: 2 }]);
  });

  t.test('a relation of which the read shape follows a path', async (t) => {
    const send = await start(t, ByName);
    const { id } = (await send('POST', '/orders', { code: 'a', customer: 1 })).body;
    await send('PATCH', `/orders/${id}`, { customer: null });
    const { results } = (await send('GET', `/orders/${id}/history`)).body;
    t.strictSame(results[0].changes, { customer: { from: 1, to: null } });
  });

  t.test('an embeddable, limited to the parts that a reader sees', async (t) => {
    const send = await start(t, ByRole);
    const made = await send('POST', '/orders', { note: 'x', address: { city: 'Zug', street: 'Main' }, code: 'c' });
    const { id } = made.body;
    t.equal((await send('PATCH', `/orders/${id}`, { address: { city: 'Bern', street: 'Side' } })).status, 200);
    const whole = (await send('GET', `/orders/${id}/history`)).body.results[0];
    const address = { from: { city: 'Zug', street: 'Main' }, to: { city: 'Bern', street: 'Side' } };
    t.strictSame(whole.changes, { address });
    const brief = (await send('GET', `/orders/${id}/history`, undefined, 'brief')).body.results[0];
    t.strictSame(brief.changes, { address: { from: { city: 'Zug' }, to: { city: 'Bern' } } });
    t.strictSame(brief.record, { id, address: { city: 'Bern' } });
  });

  t.test('a status that actions change', async (t) => {
    const send = await start(t, Orders);
    const [a, b] = (await send('POST', '/orders', [{ code: 'a' }, { code: 'obsolete' }])).body;
    t.equal((await send('POST', `/orders/${a.id}/approve`)).status, 200);
    t.equal((await send('POST', `/orders/${a.id}/look`)).status, 200);
    t.equal((await send('POST', `/orders/${b.id}/refuse`)).status, 422);
    t.equal((await send('POST', '/orders/close-all')).status, 200);
    const stored = await entries();
    t.strictSame(stored.slice(0, 3), [
      ['created', 'create', null],
      ['created', 'create', null],
      ['updated', 'approve', { status: 'new' }],
    ]);
    t.same(
      new Set(stored.slice(3).map((entry) => JSON.stringify(entry))),
      new Set([
        JSON.stringify(['created', 'closeAll', null]),
        JSON.stringify(['updated', 'closeAll', { status: 'approved' }]),
        JSON.stringify(['deleted', 'closeAll', null]),
      ]),
      'one entry for each record that the action has changed, and none for actions that changed or stored nothing',
    );
    const { results } = (await send('GET', `/orders/${a.id}/history`)).body;
    t.match(results[0], {
      kind: 'updated',
      action: 'closeAll',
      changes: { status: { from: 'approved', to: 'closed' } },
    });
  });

  t.test('an action that calls an operation of its view has each change once', async (t) => {
    const send = await start(t, Orders);
    const { id } = (await send('POST', '/orders', { code: 'a' })).body;
    t.equal((await send('POST', `/orders/${id}/rename`, { code: 'b' })).status, 200);
    t.strictSame((await entries()).slice(1), [
      ['updated', 'rename', { note: null }],
      ['updated', 'rename', { code: 'a' }],
    ]);
  });

  t.test('a record that a hook changes in addition to the one of the request', async (t) => {
    const send = await start(t, Orders);
    const [a, b] = (await send('POST', '/orders', [{ code: 'a' }, { code: 'b' }])).body;
    await send('PATCH', `/orders/${a.id}`, { code: 'default' });
    await send('PATCH', `/orders/${b.id}`, { code: 'default' });
    t.strictSame((await entries()).slice(2), [
      ['updated', 'update', { code: 'a', isDefault: false }],
      ['updated', 'update', { code: 'b', isDefault: false }],
      ['updated', 'update', { isDefault: true }],
    ]);
  });

  t.test('replaying the entries of random writes gives the stored records', async (t) => {
    const send = await start(t, Orders);
    let seed = 7;
    const random = (most: number): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % most;
    for (let turn = 0; turn < 60; turn++) {
      const all = await orm.em.fork().find(Order, {});
      const { id } = all[random(all.length || 1)] ?? { id: 1 };
      const data = {
        code: ['a', 'default', 'obsolete'][random(3)],
        note: [null, 'x'][random(2)],
        customer: [null, 1, 2][random(3)],
      };
      const requests = [
        () => send('POST', '/orders', data),
        () => send('POST', '/orders', [data, data]),
        () => send('PATCH', `/orders/${id}`, data),
        () => send('POST', `/orders/${id}/approve`),
        () => send('POST', `/orders/${id}/refuse`),
        () => send('POST', `/orders/${id}/rename`, data),
        () => send('POST', '/orders/close-all'),
        () => send('DELETE', `/orders/${id}`),
      ];
      await requests[random(requests.length)]!();
    }
    const replayed = new Map<string, object>();
    for (const { kind, record, values, values_before: before } of await orm.em
      .fork()
      .find(HistoryEntry, {}, { orderBy: { id: 1 } })) {
      if (kind === 'updated') {
        t.match(replayed.get(record), before ?? {}, 'the values before are those of the last entry');
      }
      if (kind === 'deleted') replayed.delete(record);
      else replayed.set(record, values);
    }
    const stored = await orm.em.fork().find(Order, {});
    const plain = stored.map(({ id, code, status, note, isDefault, customer }) => [
      String(id),
      { id, code, status, note, isDefault, customer: customer?.id ?? null, address: null, deleted_at: null },
    ]);
    t.same(Object.fromEntries(replayed), Object.fromEntries(plain));
  });

  t.test('records that an action deletes softly', async (t) => {
    const send = await start(t, SoftlyDeleted);
    await send('POST', '/orders', { code: 'a' });
    t.equal((await send('POST', '/orders/expire')).status, 200);
    t.strictSame(
      (await entries()).map(([kind, name]) => [kind, name]),
      [
        ['created', 'create'],
        ['deleted', 'expire'],
      ],
    );
  });
});
