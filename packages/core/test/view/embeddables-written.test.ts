/** Embeddables in bodies: POST and PUT take one whole, with its defaults, and PATCH merges (RFC 7396). */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { Type } from 'typebox';
import { many, ModelViewSet, nested, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase, openSqlite, SQL_DATABASES } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Country = defineEntity({
  name: 'Country',
  properties: { id: p.integer().primary(), code: p.string().length(2).unique() },
});
const Point = defineEntity({
  name: 'Point',
  embeddable: true,
  properties: {
    latitude: p.double(),
    note: p.string().default('none').nullable(),
    zoom: p.integer().default(7),
  },
});
const Address = defineEntity({
  name: 'Address',
  embeddable: true,
  properties: {
    street: p.string(),
    city: p.string().default('Bern'),
    zip: p.string().nullable(),
    country: () => p.manyToOne(Country).nullable(),
    point: () => p.embedded(Point).nullable(),
  },
});
const Firm = defineEntity({
  name: 'Firm',
  properties: {
    id: p.integer().primary(),
    name: p.string().nullable(),
    seat: () => p.embedded(Address),
    address: () => p.embedded(Address).nullable(),
    billing: () => p.embedded(Address).object().nullable(),
    branches: () => p.embedded(Address).array().nullable(),
    owner: () => p.manyToOne(Firm).nullable(),
    owned: () => p.oneToMany(Firm).mappedBy('owner'),
  },
});

/** A record whose other columns one statement could write. */
const Spot = defineEntity({
  name: 'Spot',
  properties: { id: p.integer().primary(), name: p.string(), point: () => p.embedded(Point).nullable() },
});

const Branch = Type.Object({ street: Type.String(), city: Type.Optional(Type.String()) });
const read = readShape(Firm, ['id', 'name', 'seat', 'address', 'billing']);
const write = writeShape(Firm, ['name', 'seat', 'address', 'billing']);

class FirmViewSet extends ModelViewSet(Firm, { read, write, bulk: 10 }) {}
class BranchViewSet extends ModelViewSet(Firm, {
  read: readShape(Firm, ['id'], { branches: Type.Array(Type.Any()) }),
  write: writeShape(Firm, ['seat'], { branches: Type.Optional(Type.Array(Branch)) } as never),
}) {}
/** Writes no embeddable that may be absent. */
class SeatViewSet extends ModelViewSet(Firm, { read, write: writeShape(Firm, ['seat']) }) {}
class SpotViewSet extends ModelViewSet(Spot, {
  read: readShape(Spot, ['name', 'point']),
  write: writeShape(Spot, ['name']),
}) {}
class OwnerViewSet extends ModelViewSet(Firm, {
  read: readShape(Firm, ['id'], { owned: many(read) }),
  write: writeShape(Firm, ['seat'], { owned: nested(write, { update: true, max: 10 }) }),
}) {}

const POINT = { latitude: 1.5, note: 'none', zoom: 7 };
const seat = { street: 'Main St' };
const whole = (given: object) => ({ city: 'Bern', zip: null, country: null, point: null, ...given });

forEachDatabase(t, { entities: [Country, Point, Address, Firm] }, async (t, orm, database) => {
  const router = new Router().register('firms', FirmViewSet).register('branches', BranchViewSet);
  const app = await testApp(t, orm, [router.register('seats', SeatViewSet).register('owners', OwnerViewSet)]);
  await orm.em.fork().insert(Country, { id: 1, code: 'CH' });
  const send = async (method: 'POST' | 'PUT' | 'PATCH', url: string, payload: object) => {
    const { statusCode, body } = await app.inject({ method, url, payload });
    return { status: statusCode, body: JSON.parse(body) };
  };
  const made = async (payload: object): Promise<string> => {
    const { body } = await send('POST', '/firms', { seat, ...payload });
    return `/firms/${body.id}`;
  };
  const kinds = ['address', 'billing'] as const;

  t.test('an absent one is NULL in all its columns', async (t) => {
    const sent = await send('POST', '/firms', { seat });
    t.strictSame(sent.body, { id: sent.body.id, name: null, seat: whole(seat), address: null, billing: null });
    const nulls = await send('POST', '/firms', { seat, address: null, billing: null });
    t.match(nulls.body, { address: null, billing: null, seat: { point: null } });
    const unknown = await send('POST', '/seats', { seat });
    t.match(unknown.body, { address: null, billing: null, seat: { point: null } });
    const url = await made({ address: { ...seat, point: POINT }, billing: seat });
    t.match((await send('PATCH', url, { address: null, billing: null })).body, { address: null, billing: null });
    if (!SQL_DATABASES.includes(database)) return;
    const rows = await orm.em.getConnection().execute<object[]>('select * from firm');
    for (const row of rows) {
      const columns = Object.entries(row).filter(([name]) => /^(?:address|billing|seat_point)/.test(name));
      t.ok(columns.length > 8);
      t.strictSame(
        columns.filter(([, value]) => value !== null),
        [],
      );
    }
  });

  for (const kind of kinds) {
    t.test(`${kind}: POST and PUT accept a complete object and fill its defaults`, async (t) => {
      const first = { street: 'Oak St', city: 'Zug', zip: '6300', country: 1, point: { latitude: 1.5, zoom: 3 } };
      const url = await made({ [kind]: first });
      const created = (await app.inject(url)).json();
      t.strictSame(created[kind], whole({ ...first, point: { ...POINT, zoom: 3 } }));
      const replaced = await send('PUT', url, { seat, [kind]: { street: 'Elm St', point: { latitude: 2 } } });
      t.strictSame(replaced.body[kind], whole({ street: 'Elm St', point: { ...POINT, latitude: 2 } }));
      const again = await send('PUT', url, { seat, [kind]: { street: 'Elm St' } });
      t.strictSame(again.body[kind], whole({ street: 'Elm St' }));
      const part = await send('PUT', url, { seat, [kind]: { city: 'Zug' } });
      t.match(part, { status: 400, body: { details: [{ path: `/${kind}/street`, message: 'is required' }] } });
    });

    t.test(`${kind}: PATCH merges, at every depth`, async (t) => {
      const first = { street: 'Oak St', city: 'Zug', zip: '6300', country: 1, point: { latitude: 1.5, zoom: 3 } };
      const url = await made({ [kind]: first });
      const known = whole({ ...first, point: { ...POINT, zoom: 3 } });
      const patch = async (part: object) => (await send('PATCH', url, { [kind]: part })).body[kind];
      t.strictSame(await patch({}), known);
      t.strictSame(await patch({ city: 'Bern' }), { ...known, city: 'Bern' });
      t.strictSame(await patch({ zip: null }), { ...known, city: 'Bern', zip: null });
      const point = { ...POINT, zoom: 3, note: null };
      t.strictSame(await patch({ point: { note: null } }), { ...known, city: 'Bern', zip: null, point });
      t.strictSame(await patch({ country: null, point: null }), whole({ street: 'Oak St' }));
      t.strictSame((await app.inject(url)).json()[kind], whole({ street: 'Oak St' }));
      const wrong = await send('PATCH', url, { [kind]: { street: null, city: 5 } });
      const places = wrong.body.details.map(({ path }: { path: string }) => path);
      t.strictSame([wrong.status, places.toSorted()], [400, [`/${kind}/city`, `/${kind}/street`]]);
    });

    t.test(`${kind}: PATCH makes a new one, which has its defaults and must be complete`, async (t) => {
      const url = await made({});
      const part = await send('PATCH', url, { [kind]: { city: 'Zug', point: {}, country: 9 } });
      const places = part.body.details.map(({ path }: { path: string }) => path);
      const missing = [`/${kind}/country`, `/${kind}/point/latitude`, `/${kind}/street`];
      t.strictSame([part.status, places.toSorted()], [400, missing]);
      t.equal((await app.inject(url)).json()[kind], null);
      const complete = await send('PATCH', url, { [kind]: { street: 'Elm St', country: 1, point: { latitude: 1.5 } } });
      t.strictSame(complete.body[kind], whole({ street: 'Elm St', country: 1, point: POINT }));
    });

    t.test(`${kind}: in many records, and in children`, async (t) => {
      const first = { street: 'Oak St', city: 'Zug', point: { latitude: 1.5 } };
      const { body: list } = await send('POST', '/firms', [{ seat, [kind]: first }, { seat }] as never);
      t.strictSame(list[0][kind], whole({ ...first, point: POINT }));
      t.equal(list[1][kind], null);
      const patched = await send('PATCH', '/firms', [
        { id: list[0].id, [kind]: { city: 'Bern' } },
        { id: list[1].id, [kind]: { street: 'Elm St' } },
      ] as never);
      t.strictSame(patched.body[0][kind], whole({ street: 'Oak St', point: POINT }));
      t.strictSame(patched.body[1][kind], whole({ street: 'Elm St' }));
      const part = [
        { id: list[1].id, [kind]: null },
        { id: list[0].id, [kind]: { point: { zoom: 1 } } },
      ];
      t.strictSame((await send('PATCH', '/firms', part as never)).body[1][kind].point, { ...POINT, zoom: 1 });
      const wrong = await send('PATCH', '/firms', [{ id: list[0].id }, { id: list[1].id, [kind]: {} }] as never);
      t.match(wrong, { status: 400, body: { details: [{ path: `/1/${kind}/street` }] } });

      const { body: owner } = await send('POST', '/owners', { seat, owned: [{ seat, [kind]: first }, { seat }] });
      const [one, two] = owner.owned;
      t.strictSame([one[kind], two[kind]], [whole({ ...first, point: POINT }), null]);
      const url = `/owners/${owner.id}`;
      const owned = [
        { id: one.id, [kind]: { zip: '1' } },
        { id: two.id, [kind]: { street: 'Elm St' } },
      ];
      const changed = await send('PATCH', url, { owned });
      t.strictSame(changed.body.owned[0][kind], whole({ ...first, zip: '1', point: POINT }));
      t.strictSame(changed.body.owned[1][kind], whole({ street: 'Elm St' }));
      await send('PATCH', url, { owned: [{ id: one.id }, { id: two.id, [kind]: null }] });
      const missing = await send('PATCH', url, { owned: [{ id: one.id }, { id: two.id, [kind]: { zip: '1' } }] });
      t.match(missing, { status: 400, body: { details: [{ path: `/owned/1/${kind}/street` }] } });
    });
  }

  t.test('an embeddable that is not nullable is merged too', async (t) => {
    const url = await made({ seat: { street: 'Oak St', city: 'Zug' } });
    const patched = await send('PATCH', url, { seat: { zip: '1' } });
    t.strictSame(patched.body.seat, whole({ street: 'Oak St', city: 'Zug', zip: '1' }));
  });

  t.test('a list of them is replaced, and each has its defaults', async (t) => {
    const { body } = await send('POST', '/branches', { seat, branches: [{ street: 'Oak St', city: 'Zug' }] });
    t.match(body.branches, [{ street: 'Oak St', city: 'Zug' }]);
    const patched = await send('PATCH', `/branches/${body.id}`, { branches: [{ street: 'Elm St' }] });
    t.match(patched.body.branches, [{ street: 'Elm St', city: 'Bern' }]);
    t.equal(patched.body.branches.length, 1);
    const wrong = await send('PATCH', `/branches/${body.id}`, { branches: [{ city: 'Zug' }] });
    t.match(wrong, { status: 400, body: { details: [{ path: '/branches/0/street' }] } });
  });
});

t.test('a record without it is not one statement, since the database would store defaults', async (t) => {
  const orm = await openSqlite(t, { entities: [Point, Spot] });
  const app = await testApp(t, orm, [new Router().register('spots', SpotViewSet)]);
  const created = await app.inject({ method: 'POST', url: '/spots', payload: { name: 'a' } });
  t.strictSame(created.json(), { name: 'a', point: null });
});

t.test('the schema of PATCH requires no part', async (t) => {
  const { address, branches }: Record<string, unknown> = writeShape(Firm, ['address'], {
    branches: Type.Array(Branch),
  } as never).partial.properties;
  t.equal((address as { required?: unknown }).required, undefined);
  t.strictSame((branches as { items: { required: unknown } }).items.required, ['street']);
});
