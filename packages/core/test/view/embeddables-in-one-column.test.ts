/** Embeddables that one column holds as JSON: one (`object()`), and a list of them (`array()`). */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { Type } from 'typebox';
import { ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Currency = defineEntity({
  name: 'Currency',
  properties: { id: p.bigint().primary(), code: p.string().length(3) },
});
const Spot = defineEntity({
  name: 'Spot',
  embeddable: true,
  properties: { lat: p.double().fieldName('la_t'), note: p.string().nullable() },
});
const Line = defineEntity({
  name: 'Line',
  embeddable: true,
  properties: {
    price: p.decimal('string').precision(12).scale(3).fieldName('unit_price'),
    count: p.bigint().nullable(),
    due: p.datetime(3).nullable(),
    kind: p.enum(['sale', 'gift'] as const).nullable(),
    words: p.array().nullable(),
    bytes: p.blob().nullable(),
    spot: () => p.embedded(Spot).nullable(),
    currency: () => p.manyToOne(Currency).nullable(),
    margin: p.string().hidden().nullable(),
  },
});
const Secret = defineEntity({
  name: 'Secret',
  embeddable: true,
  properties: { open: p.string(), key: p.string().hidden().default('k') },
});
const Order = defineEntity({
  name: 'Order',
  properties: {
    id: p.integer().primary(),
    first: () => p.embedded(Line).object().nullable(),
    lines: () => p.embedded(Line).array().nullable(),
    secret: () => p.embedded(Secret).object().nullable(),
  },
});

const parts = ['price', 'count', 'due', 'kind', 'words', 'bytes', 'spot', 'currency'] as const;
const LineSchema = Type.Object({
  price: Type.String(),
  count: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  due: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  kind: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  words: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
  bytes: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  spot: Type.Optional(
    Type.Union([
      Type.Object({ lat: Type.Number(), note: Type.Optional(Type.Union([Type.String(), Type.Null()])) }),
      Type.Null(),
    ]),
  ),
  currency: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});
const read = readShape(Order, ['id'], {
  first: readShape(Line, parts as never),
  lines: Type.Array(LineSchema),
} as never);
const write = writeShape(Order, [], {
  first: Type.Union([LineSchema, Type.Null()]),
  lines: Type.Array(LineSchema),
} as never);

class OrderViewSet extends ModelViewSet(Order, { read, write }) {}
class EntityViewSet extends ModelViewSet(Order, { read, write }) {
  override represent(order: object) {
    return super.represent(order as never);
  }
}

forEachDatabase(t, { entities: [Currency, Spot, Line, Secret, Order] as never }, async (t, orm) => {
  const app = await testApp(t, orm, [
    new Router().register('orders', OrderViewSet as never).register('entities', EntityViewSet as never),
  ]);
  const id = 9_007_199_254_740_993n;
  await orm.em.fork().insert(Currency, { id, code: 'EUR' });
  const full = {
    price: '1.500',
    count: '9007199254740993',
    due: '2026-03-04T05:06:07.891Z',
    kind: 'sale',
    words: ['a', 'b,c'],
    bytes: Buffer.from('hi').toString('base64'),
    spot: { lat: 1.5, note: 'n' },
    currency: String(id),
  };
  const empty = { count: null, due: null, kind: null, words: null, bytes: null, spot: null, currency: null };
  const brief = { ...empty, price: '2.250' };

  for (const path of ['orders', 'entities']) {
    t.test(`${path}: its values are converted like columns, not like JSON`, async (t) => {
      const made = await app.inject({
        method: 'POST',
        url: `/${path}`,
        payload: { first: full, lines: [full, brief] },
      });
      t.equal(made.statusCode, 201, made.body);
      const order = made.json<{ id: number }>();
      t.strictSame(order, { id: order.id, first: full, lines: [full, brief] });
      const url = `/${path}/${order.id}`;
      t.strictSame((await app.inject(url)).json(), order);
      t.strictSame((await app.inject(`/${path}`)).json<{ results: unknown[] }>().results.at(-1), order);
      const changes = { first: { ...brief, price: '3.000' }, lines: [{ ...full, count: '7' }] };
      const changed = await app.inject({ method: 'PATCH', url, payload: changes });
      t.strictSame(changed.json(), { id: order.id, ...changes }, changed.body);
      t.strictSame((await app.inject(url)).json(), { id: order.id, ...changes });
      const nothing = await app.inject({ method: 'PATCH', url, payload: { first: null, lines: [] } });
      t.strictSame(nothing.json(), { id: order.id, first: null, lines: [] }, nothing.body);
    });

    t.test(`${path}: a value that does not fit its column is named by its path`, async (t) => {
      const wrong = { price: '1.23456', count: '99999999999999999999', due: 'soon', kind: 'theft', currency: 'x' };
      const payload = { first: wrong, lines: [brief, wrong] };
      const { statusCode, body } = await app.inject({ method: 'POST', url: `/${path}`, payload });
      t.equal(statusCode, 400, body);
      const places = JSON.parse(body).details.map((detail: { path: string }) => detail.path);
      const names = ['price', 'count', 'due', 'kind', 'currency'];
      const expected = ['/first', '/lines/1'].flatMap((place) => names.map((name) => `${place}/${name}`));
      t.strictSame(places.toSorted(), expected.toSorted());
      const missing = { first: { ...brief, currency: '5' }, lines: [{ ...brief, currency: '5' }] };
      const answer = await app.inject({ method: 'POST', url: `/${path}`, payload: missing });
      t.match(answer.json(), { details: [{ path: '/first/currency' }, { path: '/lines/0/currency' }] }, answer.body);
    });
  }

  t.test('no read shape can show a hidden property', async (t) => {
    t.throws(() => readShape(Order, ['secret']).bind(orm.getMetadata().get(Order as never), orm.em.getPlatform()), {
      message: 'Order: "secret.key" is declared hidden, so no read shape may show it',
    });
    class Unknown extends ModelViewSet(Order, { read: Type.Object({ id: Type.Integer(), secret: Type.Unknown() }) }) {}
    const open = await testApp(t, orm, [new Router().register('unknown', Unknown)]);
    const em = orm.em.fork();
    const order = em.create(Order, { secret: { open: 'o', key: 'k' } } as never) as { id: number };
    await em.flush();
    t.strictSame((await open.inject(`/unknown/${order.id}`)).json(), { id: order.id, secret: { open: 'o' } });
  });
});
