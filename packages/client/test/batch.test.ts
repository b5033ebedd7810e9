/** Batches by the typed client: calls become operations, and answers stand in their places. */
import { defineEntity, p } from '@mikro-orm/core';
import fastify from 'fastify';
import t from 'tap';
import { BatchViewSet } from '@viewset/batch';
import { action, ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { openSqlite } from '../../core/test/support/databases.ts';
import { ApiError, createClient } from '../src/index.ts';
import { batch } from '../src/batch.ts';

const Order = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: { id: p.integer().primary(), code: p.string().length(50).unique(), data: p.json().nullable() },
});
const Line = defineEntity({
  name: 'Line',
  properties: { id: p.integer().primary(), text: p.string().length(50), order: () => p.manyToOne(Order) },
});
class OrderViewSet extends ModelViewSet(Order, {
  read: readShape(Order, ['id', 'code', 'data']),
  write: writeShape(Order, ['code', 'data']),
  filterFields: { code: 'code' },
  bulk: 10,
  exports: ['csv'],
  etags: true,
}) {
  shout = action({ methods: ['post'], detail: true, batchable: true }, async (request) => {
    const order = await this.getObject(request);
    return { loud: order.code.toUpperCase() };
  });
}
class LineViewSet extends ModelViewSet(Line, {
  read: readShape(Line, ['id', 'text'], { order: 'order.id' }),
  write: writeShape(Line, ['text', 'order']),
}) {}
class Batch extends BatchViewSet() {}

const makeRouter = () =>
  new Router({ prefix: 'api' })
    .register('orders', OrderViewSet)
    .register('orders/:order/lines', LineViewSet)
    .register('lines', LineViewSet)
    .register('batch', Batch);
type Api = ReturnType<typeof makeRouter>;

t.test('batch()', async (t) => {
  const orm = await openSqlite(t, { entities: [Order, Line] });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  await app.register(makeRouter().plugin);
  const bodies: unknown[] = [];
  app.addHook('onResponse', async ({ body, url }) => void (url === '/api/batch' && bodies.push(body)));
  const url = `${await app.listen({ port: 0 })}/api`;
  const api = createClient<Api>({ url });

  await t.test('returns the responses in the order of the operations, typed', async (t) => {
    const [order, { line, again }, loud] = await batch(api, (tx) => {
      const made = tx.orders.create({ code: 'one', data: {} });
      const below = tx.orders(made.ref('id')).lines.create({ text: 'below' });
      return [
        made,
        { line: tx.lines.create({ order: made.ref('id'), text: 'first' }), again: tx.lines.retrieve(below.ref('id')) },
        tx.orders.shout.post(made.ref('id')),
      ];
    });
    const id: number = order.id;
    const texts: string[] = [line.text, again.text];
    t.strictSame(
      [order.code, texts, line.order, again.order, loud],
      ['one', ['first', 'below'], id, id, { loud: 'ONE' }],
    );
    const only = await batch(api, (tx) => tx.orders.retrieve(id));
    t.equal(only.code, 'one');
  });

  await t.test('writes data that looks like references, and texts that look like them too', async (t) => {
    const data = { $ref: 'o0.id', $$ref: { $ref: 1 }, list: ['{o0.id}', { plain: 1n }] };
    const { a, b } = await batch(api, (tx) => {
      const a = tx.orders.create({ code: '{o0.id}', data });
      const b = tx.orders.create({ code: 'copy', data: a.ref('data') });
      return { a, b };
    });
    const stored = { ...data, list: ['{o0.id}', { plain: '1' }] };
    t.strictSame([a.data, b.data], [stored, stored]);
    const [page, same] = await batch(api, (tx) => {
      const page = tx.orders.list({ code: '{o0.id}' });
      return [page, tx.orders.retrieve(page.ref('results').ref(0).ref('id'))];
    });
    t.equal(page.results[0]?.id, a.id);
    t.strictSame(same, a);
  });

  await t.test('takes keys, queries, conditions and several records', async (t) => {
    const answer = await api.orders.create.safe({ code: 'etag', data: {} });
    if (!answer.ok) throw answer.error;
    const { headers, data: known } = answer;
    const changed = await batch(api, (tx) =>
      tx.orders.update(known.id, { code: 'new' }, { ifMatch: headers.get('etag')! }),
    );
    t.equal(changed.code, 'new');
    const stale = batch(api, (tx) => tx.orders.update(known.id, { code: 'x' }, { ifMatch: '"stale"' }));
    await t.rejects(stale, { status: 422, body: { operations: [{ status: 412 }] } } as never);
    const { made } = await batch(api, (tx) => {
      const made = tx.orders.createMany([
        { code: 'm1', data: {} },
        { code: 'm2', data: {} },
      ]);
      tx.orders.destroyMany([made.ref(0).ref('id'), made.ref(1).ref('id')]);
      return { made };
    });
    t.equal(made.length, 2);
    t.equal((await api.orders.list({ code: 'm1' })).results.length, 0);
  });

  await t.test('rejects with the error of the batch, and stores nothing', async (t) => {
    const failed = await batch(api, (tx) => {
      const made = tx.orders.create({ code: 'lost', data: {} });
      return [made, tx.lines.create({ order: made.ref('id'), text: 7 as never })];
    }).catch((error: unknown) => error);
    t.ok(failed instanceof ApiError);
    t.match(failed, { status: 422, code: 'batch_failed', details: [{ path: '/operations/1/body/text' }] });
    t.equal((await api.orders.list({ code: 'lost' })).results.length, 0);
  });

  await t.test('sends nothing if a call cannot be part of a batch', async (t) => {
    bodies.length = 0;
    const wrong = [
      () => batch(api, (tx) => tx.orders.retrieve('')),
      () => batch(api, (tx) => tx.orders.update(1, { code: 'x' }, { ifMatch: true })),
      () => batch(api, (tx) => tx.orders.create({ code: 'x', data: new Blob([]) as never })),
      () => batch(api, (tx) => (tx.orders as unknown as { exportAs(format: string): object }).exportAs('csv')),
      () => batch(api, (tx) => tx.orders.retrieve(tx.orders.create({ code: 'x', data: {} }).ref('a.b' as 'id'))),
      () => batch(api, (tx) => tx.orders.create({ code: 'x', data: new URLSearchParams() })),
      () => batch(api, (tx) => tx.orders.create({ code: 'x', data: {} }, { token: 'of somebody else' })),
      () => batch(api, (tx) => tx.orders.create({ code: 'x', data: {} }, { signal: AbortSignal.timeout(1000) })),
      () => batch(api, async (tx) => tx.orders.retrieve(1)),
      () => batch(api, (tx) => tx.orders.update(1, { code: 'x' }, { ifMatch: tx.orders.retrieve(1).ref('code') })),
      () =>
        batch(api, (tx) => tx.orders.list({}, { query: { filter: { '==': [tx.orders.retrieve(1).ref('code'), 1] } } })),
    ];
    for (const each of wrong) await t.rejects(each(), TypeError);
    t.strictSame(bodies, []);
  });

  await t.test('wrong names and types do not compile', async () => {
    const never = false as boolean;
    if (!never) return;
    void batch(api, (tx) => {
      const made = tx.orders.create({ code: 'x', data: {} });
      // @ts-expect-error -- no such field
      made.ref('nothing');
      // @ts-expect-error -- a text is no key of an order
      tx.lines.create({ text: 'x', order: made.ref('code') });
      // @ts-expect-error -- no such property
      tx.lines.create({ text: 'x', order: made.ref('id'), other: 1 });
      // @ts-expect-error -- an answer is not there yet
      return [made.id, made];
    });
    // @ts-expect-error -- no such view
    void batch(api, (tx) => tx.orders.retrieve(1), { view: 'bulk' });
  });
});
