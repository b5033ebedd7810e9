/** Whatever a field's own schema says, the document says what its column can hold: a request that fits the document fits the database. */
import { defineEntity, p } from '@mikro-orm/core';
import { ModelViewSet, nested, readShape, Router, writeShape } from '@viewset/core';
import t from 'tap';
import { Type } from 'typebox';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { documentOf, resolve, startApp } from './support/app.ts';

const Place = defineEntity({ name: 'Place', embeddable: true, properties: { city: p.string().length(30) } });

const Line = defineEntity({
  name: 'Line',
  properties: {
    id: p.integer().primary(),
    text: p.string().length(40),
    amount: p.smallint(),
    note: p.string().length(10).nullable(),
    order: () => p.manyToOne(Order),
  },
});

const Order = defineEntity({
  name: 'Order',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20),
    lines: () => p.oneToMany(Line).mappedBy('order'),
  },
});

const line = writeShape(Line, [], {
  text: Type.String({ pattern: '^[a-z]*$' }),
  amount: Type.Integer(),
  note: Type.Union([Type.String(), Type.Null()]),
});

class OrderViewSet extends ModelViewSet(Order, {
  read: readShape(Order, ['id']),
  write: writeShape(Order, [], {
    name: Type.String(),
    lines: nested(line, { update: true }),
  }),
  allowAnonymous: true,
}) {}

const Trip = defineEntity({
  name: 'Trip',
  properties: {
    id: p.integer().primary(),
    place: () => p.embedded(Place),
    stops: () => p.embedded(Place).array(),
  },
});

const place = Type.Object({ city: Type.String({ minLength: 2 }) });

class TripViewSet extends ModelViewSet(Trip, {
  read: readShape(Trip, ['id']),
  write: Type.Object({ place, stops: Type.Array(place) }),
  allowAnonymous: true,
}) {}

const LINE = {
  text: { type: 'string', pattern: '^[a-z]*$', maxLength: 40 },
  amount: { type: 'integer', minimum: -32_768, maximum: 32_767 },
  note: { anyOf: [{ type: 'string', maxLength: 10 }, { type: 'null' }] },
};

forEachDatabase(t, { entities: [Line, Order, Trip], only: ['sqlite'] }, async (t, orm) => {
  const router = new Router().register('orders', OrderViewSet).register('trips', TripViewSet);
  const app = await startApp(t, orm, (made) => void made.register(router.plugin));
  const document = await documentOf(app);
  const schemas = document.components['schemas'] as Record<string, { properties: Record<string, object> }>;

  t.test('columns of new and changed children of a record', (t) => {
    const items = (body: string) => (schemas[body]!.properties['lines'] as { items: unknown }).items;
    t.match(resolve(document, items('OrderInput')), { properties: LINE });
    const [changed, made] = (items('OrderPatch') as { anyOf: unknown[] }).anyOf;
    t.match(resolve(document, changed), { properties: { id: { type: 'integer' }, ...LINE }, required: ['id'] });
    t.match(resolve(document, made), { properties: LINE });
    t.end();
  });

  t.test('columns of embeddables, and of lists of them', (t) => {
    const { place: one, stops } = schemas['TripInput']!.properties;
    const city = { type: 'string', minLength: 2, maxLength: 30 };
    t.match(resolve(document, one), { properties: { city } });
    t.match(resolve(document, (stops as { items: unknown }).items), { properties: { city } });
    t.end();
  });
});
