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

const Ship = defineEntity({
  name: 'Ship',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20),
    hull: () => p.oneToOne(Hull).mappedBy('ship').nullable(),
    engine: () => p.oneToOne(Engine).owner(),
    radio: () => p.oneToOne(Engine).owner().nullable(),
  },
});
const Hull = defineEntity({
  name: 'Hull',
  properties: { id: p.integer().primary(), color: p.string().length(10), ship: () => p.oneToOne(Ship).owner() },
});
const Engine = defineEntity({
  name: 'Engine',
  properties: { id: p.integer().primary(), power: p.smallint() },
});

class ShipViewSet extends ModelViewSet(Ship, {
  read: readShape(Ship, ['id']),
  write: writeShape(Ship, ['name'], {
    hull: nested(writeShape(Hull, ['color']), { update: true }),
    engine: nested(writeShape(Engine, [], { power: Type.Integer() }), { update: true }),
    radio: nested(writeShape(Engine, ['power'])),
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

forEachDatabase(t, { entities: [Line, Order, Trip, Ship, Hull, Engine], only: ['sqlite'] }, async (t, orm) => {
  const router = new Router()
    .register('orders', OrderViewSet)
    .register('trips', TripViewSet)
    .register('ships', ShipViewSet);
  const app = await startApp(t, orm, (made) => void made.register(router.plugin));
  const document = await documentOf(app);
  const schemas = document.components['schemas'] as Record<string, { properties: Record<string, object> }>;

  t.test('the object of one nested record, by method', (t) => {
    const objectsOf = (body: string) => {
      const { required, properties } = schemas[body] as { required?: string[]; properties: Record<string, object> };
      const objects = Object.entries(properties).map(([name, schema]) => {
        const [object = schema, none] = (schema as { anyOf?: object[] }).anyOf ?? [];
        t.strictSame(none, ['hull', 'radio'].includes(name) ? { type: 'null' } : undefined, `${body}.${name}`);
        const found = resolve(document, object) as { required?: string[]; properties?: object };
        return [name, { properties: found.properties, required: found.required }] as const;
      });
      return { required, ...Object.fromEntries(objects) };
    };
    const id = { type: 'integer' };
    const color = { type: 'string', maxLength: 10 };
    const power = { type: 'integer', minimum: -32_768, maximum: 32_767 };
    const post = objectsOf('ShipInput');
    t.match(post, {
      required: ['name', 'engine'],
      hull: { properties: { color }, required: ['color'] },
      engine: { properties: { power }, required: ['power'] },
      radio: { properties: { power }, required: ['power'] },
    });
    t.notOk(
      'id' in Object((post as Record<string, { properties?: object }>)['hull']!.properties),
      'a POST always creates',
    );
    const put = objectsOf('ShipReplacement');
    t.notOk('radio' in put, 'nothing writes it later');
    t.match(put, {
      required: ['name', 'engine'],
      hull: { properties: { id, color }, required: ['color'] },
      engine: { properties: { id, power }, required: ['power'] },
    });
    const none = undefined;
    t.match(objectsOf('ShipPatch'), {
      required: none,
      hull: { properties: { id, color }, required: none },
      engine: { properties: { id, power }, required: none },
    });
    t.end();
  });

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
