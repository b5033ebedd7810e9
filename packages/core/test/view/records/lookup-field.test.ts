/** Records that are named in their paths by another unique field than the primary key. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest, InjectOptions } from 'fastify';
import t from 'tap';
import { action, ModelViewSet, readShape, Router, type ViewSet, writeShape } from '../../../src/index.ts';
import { type DatabaseName, forEachDatabase, openSqlite } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Country = defineEntity({
  name: 'Country',
  properties: {
    id: p.integer().primary(),
    slug: p.string().length(50).unique(),
    number: p.integer().unique(),
    key: p.uuid().unique().nullable(),
    name: p.string().length(50),
    capital: () => p.manyToOne(Country).nullable(),
  },
});

/** Its table has a trigger that makes slugs lower-case, where there are triggers. */
const City = defineEntity({
  name: 'City',
  properties: { id: p.integer().primary(), slug: p.string().length(50).unique() },
});
/** Only those that are there have slugs of their own. */
const Ruin = defineEntity({
  name: 'Ruin',
  properties: { id: p.integer().primary(), slug: p.string().length(50), gone: p.boolean().default(false) },
  uniques: [{ properties: ['slug'], where: 'gone = false' }],
});

const read = readShape(Country, ['id', 'name']);
const write = writeShape(Country, ['name', 'slug', 'number']);

class SlugViewSet extends ModelViewSet(Country, { read, write, lookupField: 'slug', etags: true }) {
  all = action({}, async () => ({ all: true }));
  shout = action({ detail: true, methods: ['post'] }, async (request) => ({
    shouted: (await this.getObject(request)).name.toUpperCase(),
  }));
}
class NumberViewSet extends ModelViewSet(Country, { read, write, lookupField: 'number' }) {}
/** Its records are read and written as entities. */
class EntityViewSet extends ModelViewSet(Country, { read, write, lookupField: 'slug' }) {
  override performCreate(...[request, data]: Parameters<SlugViewSet['performCreate']>) {
    return super.performCreate(request, { ...data, name: `${data.name}!` });
  }
  override getObject(request: FastifyRequest) {
    return super.getObject(request);
  }
}
const cityShapes = { read: readShape(City, ['id']), write: writeShape(City, ['slug']) };
class CityViewSet extends ModelViewSet(City, { ...cityShapes, lookupField: 'slug' }) {}
/** Its records are made of entities. */
class RepresentedCityViewSet extends ModelViewSet(City, { ...cityShapes, lookupField: 'slug' }) {
  override represent(...[city]: Parameters<CityViewSet['represent']>) {
    return super.represent(city);
  }
}

const LOWER: Record<DatabaseName, string[]> = {
  sqlite: ['create trigger lower_slug after insert on city begin update city set slug = lower(slug); end'],
  postgresql: [
    'create function lower_slug() returns trigger language plpgsql as $$ begin new.slug := lower(new.slug); return new; end $$',
    'create trigger lower_slug before insert on city for each row execute function lower_slug()',
  ],
  // It has no triggers.
  mongodb: [],
};

forEachDatabase(t, { entities: [Country, City] }, async (t, orm, database) => {
  for (const statement of LOWER[database]) await orm.em.getConnection().execute(statement);
  const router = new Router({ prefix: 'api' })
    .register('slugs', SlugViewSet)
    .register('numbers', NumberViewSet)
    .register('entities', EntityViewSet)
    .register('cities', CityViewSet)
    .register('represented', RepresentedCityViewSet);
  const app = await testApp(t, orm, [router]);
  const send = (method: InjectOptions['method'], url: string, payload?: object) =>
    app.inject({ method: method!, url, ...(payload === undefined ? {} : { payload }) });
  let number = 0;
  const body = (slug: string) => ({ slug, name: slug, number: ++number });

  for (const path of ['slugs', 'entities']) {
    t.test(`${path}: a record is found, changed and deleted by its slug`, async (t) => {
      const made = await send('POST', `/api/${path}`, body(`${path} a/b?é`));
      t.equal(made.statusCode, 201, made.body);
      const url = made.headers['location'] as string;
      t.equal(url, `/api/${path}/${encodeURIComponent(`${path} a/b?é`)}`);
      const { id } = made.json();
      t.equal((await send('GET', url)).json().id, id);
      t.equal((await send('HEAD', url)).statusCode, 200);
      t.equal((await send('GET', `/api/${path}/${id}`)).statusCode, 404, 'not by its primary key');
      t.equal((await send('PATCH', url, { name: 'changed' })).json().name, 'changed');
      const moved = await send('PATCH', url, { slug: `${path}-new` });
      t.equal(moved.statusCode, 200, moved.body);
      t.equal(moved.json().id, id);
      t.equal((await send('GET', url)).statusCode, 404);
      t.equal((await send('PUT', `/api/${path}/${path}-new`, body(`${path}-new`))).statusCode, 200);
      t.equal((await send('DELETE', `/api/${path}/${path}-new`)).statusCode, 204);
      t.equal((await send('DELETE', `/api/${path}/${path}-new`)).statusCode, 404);
    });
  }

  t.test('actions act on the record of the slug, and beat a slug of their name', async (t) => {
    await send('POST', '/api/slugs', body('all'));
    await send('POST', '/api/slugs', body('oak'));
    t.strictSame((await send('GET', '/api/slugs/all')).json(), { all: true });
    t.strictSame((await send('POST', '/api/slugs/oak/shout')).json(), { shouted: 'OAK' });
    t.equal((await send('POST', '/api/slugs/elm/shout')).statusCode, 404);
  });

  t.test('a duplicate slug returns 409, a malformed key 404', async (t) => {
    await send('POST', '/api/slugs', body('ash'));
    const again = await send('POST', '/api/slugs', body('ash'));
    t.equal(again.statusCode, 409);
    t.match(again.json().details, [{ path: '/slug' }]);
    const made = await send('POST', '/api/numbers', body('elm'));
    t.equal(made.headers['location'], `/api/numbers/${number}`);
    t.equal((await send('GET', `/api/numbers/${number}`)).json().name, 'elm');
    for (const bad of ['elm', '01', '1.0', '99999999999', `${number} `]) {
      t.equal((await send('GET', `/api/numbers/${encodeURIComponent(bad)}`)).statusCode, 404, bad);
      t.equal((await send('PUT', `/api/numbers/${encodeURIComponent(bad)}`, {})).statusCode, 404, bad);
    }
  });

  t.test('Location uses the slug as the database stored it', async (t) => {
    for (const path of ['cities', 'represented']) {
      const made = await send('POST', `/api/${path}`, { slug: `ROME ${path}` });
      t.equal(made.statusCode, 201, made.body);
      const name = database === 'mongodb' ? 'ROME' : 'rome';
      t.equal(made.headers['location'], `/api/${path}/${name}%20${path}`);
      t.strictSame((await send('GET', made.headers['location'] as string)).json(), made.json());
    }
  });

  t.test('a write by the slug takes the lock and the condition that others take', async (t) => {
    const made = await send('POST', '/api/slugs', body('pine'));
    const tag = made.headers['etag'] as string;
    const writes = await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        app.inject({ method: 'PATCH', url: '/api/slugs/pine', headers: { 'if-match': tag }, payload: { name } }),
      ),
    );
    t.strictSame(writes.map(({ statusCode }) => String(statusCode)).toSorted(), ['200', '412', '412']);
  });
});

t.test('a lookupField that cannot identify a record fails at start and does not compile', async (t) => {
  const orm = await openSqlite(t, { entities: [Country, Ruin] });
  const refused = async (View: new () => ViewSet, message: RegExp): Promise<void> =>
    void (await t.rejects(testApp(t, orm, [new Router().register('countries', View)]), { message }));
  const expected = /lookupField" must be a unique text or whole number of the entity that is never NULL/;
  // @ts-expect-error may be NULL
  await refused(ModelViewSet(Country, { read, lookupField: 'key' }), expected);
  // @ts-expect-error a relation
  await refused(ModelViewSet(Country, { read, lookupField: 'capital' }), expected);
  // @ts-expect-error misspelt
  await refused(ModelViewSet(Country, { read, lookupField: 'slgu' }), /did you mean "slug"/);
  await refused(ModelViewSet(Country, { read, lookupField: 'name' }), expected);
  await refused(ModelViewSet(Ruin, { read: readShape(Ruin, ['id']), lookupField: 'slug' }), expected);
});

t.test('the operation plan contains the lookup field', async (t) => {
  const orm = await openSqlite(t, { entities: [Country] });
  const app = await testApp(t, orm, [new Router().register('countries', SlugViewSet)]);
  const plan = app.viewset.operations.find(({ operationId }) => operationId === 'retrieveCountry');
  t.match(plan?.pathParameters, [{ name: 'pk', schema: { type: 'string', description: 'The slug of the record' } }]);
});
