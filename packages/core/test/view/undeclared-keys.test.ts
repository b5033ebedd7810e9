/** Keys of a JSON column that its embeddable does not declare: PATCH keeps them, PUT removes them. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { Type } from 'typebox';
import { ModelViewSet, nested, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Spot = defineEntity({
  name: 'Spot',
  embeddable: true,
  properties: { lat: p.double().fieldName('la_t'), note: p.string().nullable() },
});
const Home = defineEntity({
  name: 'Home',
  embeddable: true,
  properties: {
    city: p.string().nullable(),
    since: p.datetime(3).nullable(),
    spot: () => p.embedded(Spot).object().nullable(),
  },
});
const Place = defineEntity({
  name: 'Place',
  embeddable: true,
  properties: { label: p.string().nullable(), spot: () => p.embedded(Spot).object().nullable() },
});
const Person = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    home: () => p.embedded(Home).object().nullable(),
    homes: () => p.embedded(Home).array().nullable(),
    place: () => p.embedded(Place).nullable(),
    club: () => p.manyToOne(Club).nullable(),
  },
});
const Club = defineEntity({
  name: 'Club',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    people: () => p.oneToMany(Person).mappedBy('club'),
  },
});

const SpotSchema = Type.Object({
  lat: Type.Number(),
  note: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});
const HomeSchema = Type.Object({
  city: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  since: Type.Optional(Type.Union([Type.String({ format: 'date-time' }), Type.Null()])),
  spot: Type.Optional(Type.Union([SpotSchema, Type.Null()])),
});
const PlaceSchema = Type.Object({
  label: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  spot: Type.Optional(Type.Union([SpotSchema, Type.Null()])),
});
const read = readShape(Person, ['id', 'name'], {
  home: Type.Union([HomeSchema, Type.Null()]),
  homes: Type.Union([Type.Array(HomeSchema), Type.Null()]),
  place: readShape(Place, ['label']),
} as never);
const write = writeShape(Person, ['name'], {
  home: Type.Optional(Type.Union([HomeSchema, Type.Null()])),
  homes: Type.Optional(Type.Array(HomeSchema)),
  place: Type.Optional(Type.Union([PlaceSchema, Type.Null()])),
} as never);

class PersonViewSet extends ModelViewSet(Person, { read, write, bulk: 10 }) {}
class EntityViewSet extends ModelViewSet(Person, { read, write }) {
  override represent(person: object) {
    return super.represent(person as never);
  }
}
class ClubViewSet extends ModelViewSet(Club, {
  read: readShape(Club, ['id', 'name']),
  write: writeShape(Club, ['name'], {
    people: nested(writeShape(Person, ['name'], { home: Type.Optional(HomeSchema) } as never), { update: true }),
  }),
}) {}

interface Collection {
  insertOne(record: object): Promise<unknown>;
  findOne(condition: object): Promise<Record<string, unknown>>;
}

forEachDatabase(t, { entities: [Spot, Home, Place, Person, Club] as never }, async (t, orm, database) => {
  const app = await testApp(t, orm, [
    new Router()
      .register('people', PersonViewSet as never)
      .register('entities', EntityViewSet as never)
      .register('clubs', ClubViewSet as never),
  ]);
  const stored = {
    city: 'Bern',
    since: '2026-03-04T05:06:07.891Z',
    spot: { la_t: 46.9, note: 'n', height: { metres: 540 } },
    canton: 'BE',
    tags: ['a', { b: null, constructor: 'c' }],
    nothing: null,
  };
  let next = 0;
  /** Stores a record like another program, which knows more keys. */
  const insert = async (values: object = {}): Promise<number> => {
    const id = (next += 1);
    const row = { name: 'Ann', home: stored, homes: [stored, stored], club: null, ...values };
    if (database === 'mongodb') {
      const driver = orm.em.getConnection() as never as { getCollection(name: string): Collection };
      const dated = (home: typeof stored) => ({ ...home, since: new Date(home.since) });
      await driver.getCollection('person').insertOne({
        _id: id,
        ...row,
        home: dated(row.home),
        homes: row.homes.map(dated),
        place_label: 'l',
        place_spot: stored.spot,
      });
    } else {
      await orm.em
        .getConnection()
        .execute(
          'insert into person (id, name, place_label, place_spot, home, homes, club_id) values (?, ?, ?, ?, ?, ?, ?)',
          [
            id,
            row.name,
            'l',
            JSON.stringify(stored.spot),
            JSON.stringify(row.home),
            JSON.stringify(row.homes),
            row.club,
          ],
        );
    }
    return id;
  };
  const inDatabase = async (id: number, column: 'home' | 'homes' | 'place_spot' = 'home'): Promise<unknown> => {
    let value: unknown;
    if (database === 'mongodb') {
      const driver = orm.em.getConnection() as never as { getCollection(name: string): Collection };
      value = (await driver.getCollection('person').findOne({ _id: id }))[column];
      return JSON.parse(JSON.stringify(value));
    }
    const sql = `select ${column} from person where id = ?`;
    const [row] = await orm.em.getConnection().execute<Record<string, unknown>[]>(sql, [id]);
    value = row![column];
    return typeof value === 'string' ? JSON.parse(value) : value;
  };

  for (const path of ['people', 'entities']) {
    const send = async (method: 'PATCH' | 'PUT', id: number, payload: object) => {
      const response = await app.inject({ method, url: `/${path}/${id}`, payload });
      t.equal(response.statusCode, 200, response.body);
      return response.json();
    };

    t.test(`${path}: PATCH keeps them`, async (t) => {
      const id = await insert();
      const body = await send('PATCH', id, { home: { city: 'Chur' } });
      t.equal(body.home.city, 'Chur');
      t.notOk('canton' in body.home);
      t.strictSame(await inDatabase(id), { ...stored, city: 'Chur' });
      await send('PATCH', id, { name: 'Bea' });
      t.strictSame(await inDatabase(id), { ...stored, city: 'Chur' });
      await send('PATCH', id, { home: { spot: { note: 'm' } } });
      t.strictSame(await inDatabase(id), { ...stored, city: 'Chur', spot: { ...stored.spot, note: 'm' } });
      t.strictSame(await inDatabase(id, 'homes'), [stored, stored]);
    });

    t.test(`${path}: PATCH with null, and then an object, starts anew`, async (t) => {
      const id = await insert();
      await send('PATCH', id, { home: { spot: null } });
      t.strictSame(await inDatabase(id), { ...stored, spot: null });
      await send('PATCH', id, { home: null });
      t.equal(await inDatabase(id), null);
      await send('PATCH', id, { home: { city: 'Chur' } });
      t.strictSame(await inDatabase(id), { city: 'Chur', since: null, spot: null });
    });

    t.test(`${path}: PUT removes them`, async (t) => {
      const id = await insert();
      await send('PUT', id, { name: 'Ann', home: { city: 'Chur', spot: { lat: 1 } } });
      t.strictSame(await inDatabase(id), { city: 'Chur', since: null, spot: { la_t: 1, note: null } });
    });

    t.test(`${path}: PATCH keeps those of a column within another embeddable`, async (t) => {
      const id = await insert();
      await send('PATCH', id, { place: { label: 'm' } });
      t.strictSame(await inDatabase(id, 'place_spot'), stored.spot);
      await send('PATCH', id, { place: { spot: { note: 'm' } } });
      t.strictSame(await inDatabase(id, 'place_spot'), { ...stored.spot, note: 'm' });
      await send('PUT', id, { name: 'Ann', place: { spot: { lat: 1 } } });
      t.strictSame(await inDatabase(id, 'place_spot'), { la_t: 1, note: null });
    });

    t.test(`${path}: a list is replaced`, async (t) => {
      const id = await insert();
      await send('PATCH', id, { homes: [{ city: 'Chur' }] });
      t.strictSame(await inDatabase(id, 'homes'), [{ city: 'Chur', since: null, spot: null }]);
      t.strictSame(await inDatabase(id), stored);
    });
  }

  t.test('PATCH of several records keeps them', async (t) => {
    const ids = [await insert(), await insert()];
    const payload = ids.map((id, index) => ({ id, home: { city: `C${index}` } }));
    const response = await app.inject({ method: 'PATCH', url: '/people', payload });
    t.equal(response.statusCode, 200, response.body);
    for (const [index, id] of ids.entries()) t.strictSame(await inDatabase(id), { ...stored, city: `C${index}` });
  });

  t.test('the code of an application keeps them', async (t) => {
    const id = await insert();
    const em = orm.em.fork();
    const person = (await em.findOneOrFail(Person, id)) as { homes: { city: string }[]; home: { city: string } };
    person.homes[1]!.city = 'Chur';
    await em.flush();
    t.strictSame(await inDatabase(id, 'homes'), [stored, { ...stored, city: 'Chur' }]);
    person.home.city = 'Genf';
    await em.flush();
    t.strictSame(await inDatabase(id), { ...stored, city: 'Genf' });
    person.home = { city: 'Chur' };
    await em.flush();
    t.notOk('canton' in ((await inDatabase(id)) as object));
  });

  t.test('PATCH of a parent keeps those of its children', async (t) => {
    const club = await app.inject({ method: 'POST', url: '/clubs', payload: { name: 'C', people: [] } });
    t.equal(club.statusCode, 201, club.body);
    const { id: clubId } = club.json();
    const id = await insert({ club: clubId });
    const response = await app.inject({
      method: 'PATCH',
      url: `/clubs/${clubId}`,
      payload: { people: [{ id, name: 'Ann', home: { city: 'Chur' } }] },
    });
    t.equal(response.statusCode, 200, response.body);
    t.strictSame(await inDatabase(id), { ...stored, city: 'Chur' });
  });
});
