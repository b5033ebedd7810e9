import { BaseEntity, defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

/** What every entity of an application has. */
const RowSchema = defineEntity({
  name: 'Row',
  abstract: true,
  properties: { id: p.integer().primary(), made_by: p.string().length(20).default('nobody') },
});
class Row extends RowSchema.class {}
RowSchema.setClass(Row);

const CodedSchema = defineEntity({
  name: 'Coded',
  abstract: true,
  extends: Row,
  properties: { code: p.string().length(20).unique(), note: p.string().length(5).nullable() },
});
class Coded extends CodedSchema.class {}
CodedSchema.setClass(Coded);

const CitySchema = defineEntity({
  name: 'City',
  extends: Coded,
  // One of its own in the place of the inherited one.
  properties: { note: p.string().length(50).nullable(), people: p.integer().default(0) },
});
class City extends CitySchema.class {}
CitySchema.setClass(City);

const StreetSchema = defineEntity({
  name: 'Street',
  extends: RowSchema,
  properties: { name: p.string().length(20), city: () => p.manyToOne(City) },
});
class Street extends StreetSchema.class {}
StreetSchema.setClass(Street);

const Point = defineEntity({ name: 'Point', embeddable: true, properties: { x: p.integer() } });
const PlaceSchema = defineEntity({
  name: 'Place',
  extends: BaseEntity as never,
  properties: { id: p.integer().primary(), at: () => p.embedded(Point) },
});

class CityViewSet extends ModelViewSet(City, {
  read: readShape(City, ['id', 'made_by', 'code', 'note', 'people']),
  write: writeShape(City, ['code', 'note', 'made_by']),
  filterFields: { code: 'code', made_by: 'made_by__istartswith' },
  orderingFields: { code: 'code' },
  lookupField: 'code',
}) {}

class StreetViewSet extends ModelViewSet(Street, {
  read: readShape(Street, ['id', 'name'], { city: readShape(City, ['id', 'code']), made_by: 'city.made_by' }),
  write: writeShape(Street, ['name'], { city: 'city.code' }),
}) {}

const readPlace = readShape(PlaceSchema, ['id', 'at']);

forEachDatabase(t, { entities: [Row, Coded, City, Street, PlaceSchema, Point] as never }, async (t, orm) => {
  class PlaceViewSet extends ModelViewSet(PlaceSchema, { read: readPlace }) {}
  const router = new Router()
    .register('cities', CityViewSet)
    .register('streets', StreetViewSet)
    .register('places', PlaceViewSet);
  const app = await testApp(t, orm, [router]);

  t.test('shapes, filters, orders, keys and references accept inherited properties', async (t) => {
    const payload = { code: 'ulm', note: 'longer than the inherited one' };
    const made = await app.inject({ method: 'POST', url: '/cities', payload });
    t.equal(made.statusCode, 201, made.body);
    t.match(made.json(), { ...payload, made_by: 'nobody', people: 0 });
    const twice = await app.inject({ method: 'POST', url: '/cities', payload });
    t.equal(twice.statusCode, 409, twice.body);
    t.equal((await app.inject('/cities/ulm')).json().code, 'ulm');
    t.match((await app.inject('/cities?made_by=NOB&sort=-code')).json(), { results: [{ code: 'ulm' }] });

    const street = await app.inject({ method: 'POST', url: '/streets', payload: { name: 'Hafengasse', city: 'ulm' } });
    t.equal(street.statusCode, 201, street.body);
    t.match(street.json(), { name: 'Hafengasse', made_by: 'nobody', city: { code: 'ulm' } });
    t.equal(
      (await app.inject({ method: 'POST', url: '/streets', payload: { name: 'x', city: 'nil' } })).statusCode,
      400,
    );
  });

  t.test('a base class without properties adds no properties', async (t) => {
    t.equal((await app.inject('/places')).statusCode, 200);
  });
});

t.test('a name that nothing declares is refused with those that are inherited', async (t) => {
  t.throws(() => readShape(City, ['cod' as 'code']), {
    name: 'ImproperlyConfigured',
    message:
      /"cod" names no field: City has no property "cod"; did you mean "code"\? It has: id, made_by, code, note, people/,
  });
});
