import { MikroORM } from '@mikro-orm/sqlite';
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { fieldPath } from '../../src/fields/field-path.ts';
import { entities, Maker, Product } from '../query/catalog.ts';

const Address = defineEntity({
  name: 'Address',
  embeddable: true,
  properties: { city: p.string(), zip: p.integer().nullable() },
});
const Shop = defineEntity({
  name: 'Shop',
  properties: {
    id: p.integer().primary(),
    address: () => p.embedded(Address),
    extra: () => p.embedded(Address).object().nullable(),
    range: p.integer(),
    a__b: p.string(),
    shown: p.string().persist(false),
    upper: p.string().formula((columns) => `upper(${columns['a__b']})`),
    license: () => p.oneToOne(License).inversedBy('shop').nullable(),
  },
});
const License = defineEntity({
  name: 'License',
  properties: { code: p.string().primary(), shop: () => p.oneToOne(Shop).mappedBy('license') },
});
const Seat = defineEntity({
  name: 'Seat',
  properties: { row: p.integer().primary(), place: p.integer().primary() },
});
const Ticket = defineEntity({
  name: 'Ticket',
  properties: { id: p.integer().primary(), seat: () => p.manyToOne(Seat) },
});

const orm = new MikroORM({ dbName: ':memory:', entities: [...entities, Address, Shop, License, Seat, Ticket] });
const product = orm.getMetadata().get(Product);
const shop = orm.getMetadata().get(Shop);

t.test('a path of names resolves to a column', async (t) => {
  const path = fieldPath(product, 'maker.country.name', '.');
  t.match(path, { key: 'maker.country.name', nullable: true, toMany: false, type: { kind: 'string' } });
  t.strictSame(
    path.steps.map(({ name }) => name),
    ['maker', 'country'],
  );
  t.equal(path.property.name, 'name');
  t.equal(fieldPath(product, 'maker__country__name', '__'), path, 'is the same object, whatever separates the names');
  t.match(fieldPath(product, 'name', '.'), { nullable: false, steps: [] });
  t.match(fieldPath(product, 'note', '.'), { nullable: true });
});

t.test('a relation at the end of a path resolves to its key', async (t) => {
  t.match(fieldPath(product, 'maker', '.'), { key: 'maker', steps: [], type: { kind: 'integer' }, nullable: true });
  t.match(fieldPath(product, 'origin', '.'), { type: { kind: 'string', maxLength: 2 } });
  const tags = fieldPath(product, 'tags', '.');
  t.match(tags, { key: 'tags', toMany: true, property: { name: 'id' }, type: { kind: 'integer' } });
  t.match(fieldPath(orm.getMetadata().get(Maker), 'products__tags__label', '__'), {
    toMany: true,
    type: { kind: 'string' },
  });
  const inverse = fieldPath(orm.getMetadata().get(License), 'shop', '.');
  t.match(inverse, { nullable: true, toMany: false, property: { name: 'id' } }, 'the other side of one to one');
});

t.test('embeddables, formulas and names that contain the separator', async (t) => {
  t.match(fieldPath(shop, 'address.city', '.'), { steps: [], property: { fieldNames: ['address_city'] } });
  t.match(fieldPath(shop, 'address__zip', '__'), { type: { kind: 'integer' } });
  t.equal(fieldPath(shop, 'a__b', '__').property.name, 'a__b');
  t.equal(fieldPath(shop, 'range', '__').property.name, 'range');
  t.match(fieldPath(shop, 'upper', '.'), { type: { kind: 'string' } });
  t.match(fieldPath(shop, 'extra', '.'), { type: { kind: 'json' } });
});

t.test('an unknown name fails with the existing names and the nearest one', async (t) => {
  const wrong =
    (path: string, separator: '.' | '__' = '.') =>
    (): unknown =>
      fieldPath(product, path, separator);
  t.throws(wrong('nmae'), {
    name: 'ImproperlyConfigured',
    message:
      /^Product: "nmae" names no field: Product has no property "nmae"; did you mean "name"\? It has: id, name, note, price/,
  });
  t.throws(wrong('maker__contry__name', '__'), {
    message: /Maker has no property "contry"; did you mean "country"\? It has: id, name, country, products$/,
  });
  t.throws(wrong('maker__name'), {
    message: 'Product: "maker__name" is not a field: paths are written with "." here, "maker.name"',
  });
  t.throws(wrong('maker.name', '__'), { message: /paths are written with "__" here, "maker__name"$/ });
  t.throws(wrong('name.first'), { message: /Product\.name is not a relation, so it has no "first"/ });
  t.throws(wrong(''), { message: /Product has no property ""/ });
  t.throws(wrong('constructor'), { message: /Product has no property "constructor"/ });
  t.throws(wrong('__proto__', '__'), { name: 'ImproperlyConfigured' });
  t.throws(wrong('toString.length'), { name: 'ImproperlyConfigured' });
});

t.test('a path that is not a single column is rejected', async (t) => {
  t.throws(() => fieldPath(shop, 'address', '.'), { message: /embeddable of several columns/ });
  t.throws(() => fieldPath(shop, 'extra.city', '.'), {
    message: /Shop\.extra is kept in one column, so it has no "city"/,
  });
  t.throws(() => fieldPath(shop, 'shown', '.'), { message: /not stored in the database/ });
  t.throws(() => fieldPath(orm.getMetadata().get(Ticket), 'seat', '.'), { message: /composite key/ });
  t.match(
    fieldPath(orm.getMetadata().get(Ticket), 'seat.row', '.'),
    { type: { kind: 'integer' } },
    'its fields can be reached',
  );
});
