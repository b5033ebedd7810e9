import { defineEntity, p } from '@mikro-orm/core';
import fastify from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import { ModelViewSet, readShape, Router, scoped, serverOptions, viewset, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Geo = defineEntity({
  name: 'Geo',
  embeddable: true,
  properties: { latitude: p.double(), longitude: p.double() },
});
const Address = defineEntity({
  name: 'Address',
  embeddable: true,
  properties: { street: p.string().length(10), city: p.string().nullable(), since: p.datetime(3).nullable() },
});
const Place = defineEntity({
  name: 'Place',
  embeddable: true,
  properties: { name: p.string().length(10), geo: () => p.embedded(Geo).nullable() },
});
const Shop = defineEntity({
  name: 'Shop',
  properties: {
    id: p.integer().primary(),
    address: () => p.embedded(Address),
    storage: () => p.embedded(Address).nullable(),
    billing: () => p.embedded(Address).object().nullable(),
    branches: () => p.embedded(Address).array().nullable(),
    main: () => p.manyToOne(Shop).nullable(),
    site: () => p.embedded(Place).nullable(),
  },
});

class ShopViewSet extends ModelViewSet(Shop, {
  read: readShape(Shop, ['id', 'address', 'storage', 'billing'], { street: 'address.street', depot: 'storage.city' }),
  write: writeShape(Shop, ['address', 'storage', 'billing', 'main']),
  filterFields: { city: 'address__city' },
}) {}

class PartViewSet extends ModelViewSet(Shop, {
  read: readShape(Shop, ['id'], { storage: readShape(Address, ['city']), main: readShape(Shop, ['address']) }),
}) {}

class WrittenByHandViewSet extends ModelViewSet(Shop, {
  read: Type.Object({
    address: Type.Object({ street: Type.String() }),
    storage: Type.Union([Type.Object({ street: Type.String() }), Type.Null()]),
  }),
}) {}

class SiteViewSet extends ModelViewSet(Shop, {
  read: readShape(Shop, ['id', 'site'], { latitude: 'site.geo.latitude' as never, main: readShape(Shop, ['site']) }),
  write: writeShape(Shop, ['address', 'site', 'main']),
}) {}

const Branches = Type.Array(Type.Object({ street: Type.String() }));

class BranchViewSet extends ModelViewSet(Shop, {
  read: { default: readShape(Shop, [], { branches: Branches }), create: Type.Object({ branches: Type.Unknown() }) },
  write: Type.Object({
    address: Type.Object({ street: Type.String() }),
    branches: Branches,
  }),
}) {}

forEachDatabase(t, { entities: [Shop, Address, Place, Geo] }, async (t, orm) => {
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm, health: false });
  const router = new Router().register('shops', ShopViewSet).register('parts', PartViewSet);
  await app.register(
    router.register('by-hand', WrittenByHandViewSet).register('branches', BranchViewSet).register('sites', SiteViewSet)
      .plugin,
  );
  const post = (payload: object) => app.inject({ method: 'POST', url: '/shops', payload });
  const oak = { street: 'Oak St', city: 'Rome', since: '2026-01-31T12:00:00.000Z' };
  const elm = { street: 'Elm St', city: null, since: null };

  t.test('an embeddable is written and read as an object, its fields by their paths', async (t) => {
    const first = await post({ address: oak, storage: elm, billing: elm });
    t.equal(first.statusCode, 201, first.body);
    const shop = { id: 1, address: oak, storage: elm, billing: elm, street: 'Oak St', depot: null };
    t.strictSame(first.json(), shop);
    const second = await post({ address: { street: 'Ash St' }, main: 1 });
    const other = { id: 2, address: { ...elm, street: 'Ash St' }, storage: null, billing: null };
    t.strictSame(second.json(), { ...other, street: 'Ash St', depot: null }, second.body);
    t.strictSame((await app.inject('/shops?city=Rome')).json<{ results: unknown }>().results, [shop]);
    const patch = { storage: null, address: { street: 'Fir St', city: 'Oslo' } };
    const patched = await app.inject({ method: 'PATCH', url: '/shops/1', payload: patch });
    t.match(patched.json(), { storage: null, address: { street: 'Fir St', city: 'Oslo' } }, patched.body);
  });

  t.test('a shape of an embeddable can be nested in a shape, also in that of a related record', async (t) => {
    t.strictSame((await app.inject('/parts')).json<{ results: unknown }>().results, [
      { id: 1, storage: null, main: null },
      { id: 2, storage: null, main: { address: { street: 'Fir St', city: 'Oslo', since: oak.since } } },
    ]);
    await post({ address: oak, storage: { street: 'Bay St', city: 'Bari' } });
    t.strictSame((await app.inject('/parts/3')).json(), { id: 3, storage: { city: 'Bari' }, main: null });
    t.strictSame((await app.inject('/by-hand/3')).json(), {
      address: { street: 'Oak St' },
      storage: { street: 'Bay St' },
    });
  });

  t.test('an embeddable in an embeddable is an object in an object', async (t) => {
    const send = (payload: object) => app.inject({ method: 'POST', url: '/sites', payload });
    const address = { street: 'Oak St' };
    const rome = { name: 'Rome', geo: { latitude: 41.9, longitude: 12.5 } };
    const first = (await send({ address, site: rome })).json<{ id: number }>();
    t.strictSame(first, { id: first.id, site: rome, latitude: 41.9, main: null });
    const nowhere = { name: 'Nowhere', geo: null };
    const second = (await send({ address, site: nowhere, main: first.id })).json<{ id: number }>();
    t.strictSame(second, { id: second.id, site: nowhere, latitude: null, main: { site: rome } });
    const third = (await send({ address, main: second.id })).json<{ id: number }>();
    t.strictSame(third, { id: third.id, site: null, latitude: null, main: { site: nowhere } });
    t.strictSame((await app.inject(`/sites/${third.id}`)).json(), third, 'from a row too');
    const wrong = await send({ address, site: { name: 'x'.repeat(11), geo: { latitude: '1', longitude: 2 } } });
    t.strictSame(
      wrong.json<{ details: { path: string }[] }>().details.map(({ path }) => path),
      ['/site/name', '/site/geo/latitude'],
    );
  });

  t.test('a list of embeddables has the same schema as one written by hand', async (t) => {
    const payload = { address: { street: 'Oak St' }, branches: [{ street: 'Elm St' }, { street: 'Ash St' }] };
    const { statusCode, body } = await app.inject({ method: 'POST', url: '/branches', payload });
    t.equal(statusCode, 201, body);
    t.match(JSON.parse(body), { branches: payload.branches });
    const listed = await app.inject('/branches?page_size=100');
    t.strictSame(listed.json<{ results: unknown[] }>().results.at(-1), { branches: payload.branches }, listed.body);
    const wrong = await app.inject({ method: 'POST', url: '/branches', payload: { ...payload, branches: ['Elm St'] } });
    t.match(wrong.json(), { details: [{ path: '/branches/0' }] }, wrong.body);
  });

  t.test('a value that does not fit a column of an embeddable is named by its path', async (t) => {
    const wrong = await post({ address: { street: 'x'.repeat(11), since: '2026-02-30' }, storage: { city: 5 } });
    t.strictSame(
      wrong.json<{ details: { path: string }[] }>().details.map(({ path }) => path),
      ['/address/street', '/address/since', '/storage/street', '/storage/city'],
      wrong.body,
    );
    t.equal((await post({})).statusCode, 400);
  });
});

t.test('an unknown name in an embeddable fails with the nearest name', async (t) => {
  t.throws(() => readShape(Shop, [], { a: 'address.stret' as never }), {
    message: /Address has no property "stret"; did you mean "street"\?/,
  });
  t.throws(() => readShape(Shop, ['branches']), { message: /Shop\.branches is a list of embeddables/ });
  t.throws(() => readShape(Shop, [], { a: 'billing.street' }), { message: /Shop\.billing is kept in one column/ });
});

const Country = defineEntity({
  name: 'Country',
  properties: { id: p.integer().primary(), name: p.string(), gone: p.boolean().default(false) },
  filters: { alive: { name: 'alive', cond: { gone: false }, default: true } },
});
const Seat = defineEntity({
  name: 'Seat',
  embeddable: true,
  properties: { city: p.string(), country: () => p.manyToOne(Country).nullable() },
});
const Firm = defineEntity({
  name: 'Firm',
  properties: { id: p.integer().primary(), seat: () => p.embedded(Seat) },
});

const NotAtlantis = scoped(Country, () => ({ name__ne: 'Atlantis' }));

class FirmViewSet extends ModelViewSet(Firm, {
  read: readShape(Firm, ['id', 'seat']),
  write: writeShape(Firm, ['seat']),
}) {}

class RestrictedViewSet extends ModelViewSet(Firm, {
  read: readShape(Firm, ['id', 'seat']),
  write: writeShape(Firm, ['seat']),
  referencePermissions: { 'seat.country': [NotAtlantis] },
}) {}

forEachDatabase(t, { entities: [Country, Seat, Firm] as never }, async (t, orm) => {
  const em = orm.em.fork();
  const names = [{ name: 'France' }, { name: 'Prussia', gone: true }, { name: 'Atlantis' }];
  const [france, gone, atlantis] = names.map((values) => em.create(Country, values));
  await em.flush();
  em.create(Firm, { seat: { city: 'Paris', country: france } } as never);
  await em.flush();

  t.test('a reference in an embeddable is one like any other', async (t) => {
    const router = new Router().register('firms', FirmViewSet).register('restricted', RestrictedViewSet);
    const app = await testApp(t, orm, [router]);
    const send = async (method: 'POST' | 'PATCH', url: string, country: number | null) => {
      const answer = await app.inject({ method, url, payload: { seat: { city: 'Bonn', country } } });
      return [answer.statusCode, answer.json().details ?? answer.json().seat];
    };
    const missing = [{ in: 'body', path: '/seat/country', message: 'must be the id of an existing Country' }];
    for (const [method, url, status] of [
      ['POST', '/firms', 201],
      ['PATCH', '/firms/1', 200],
    ] as const) {
      t.strictSame(await send(method, url, gone!.id), [400, missing], `${method}: a hidden record is not there`);
      t.strictSame(await send(method, url, 99), [400, missing], 'as one that never was');
      t.strictSame(await send(method, url, france!.id), [status, { city: 'Bonn', country: france!.id }]);
      t.strictSame(await send(method, url, atlantis!.id), [status, { city: 'Bonn', country: atlantis!.id }]);
      t.strictSame(await send(method, url, null), [status, { city: 'Bonn', country: null }]);
    }
    t.strictSame(await send('POST', '/restricted', atlantis!.id), [400, missing], 'permissions of references hold');
    t.strictSame(await send('POST', '/restricted', france!.id), [201, { city: 'Bonn', country: france!.id }]);
  });
});
