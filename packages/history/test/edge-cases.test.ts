/** The edges of a history: every kind of column, keys that come again, clocks that differ, and writes at the same time. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { createHash } from 'node:crypto';
import t, { type Test } from 'tap';
import { ModelViewSet, readShape, Router, type ViewSet, writeShape } from '@viewset/core';
import { Country, Maker, Product, Tag } from '../../core/test/query/catalog.ts';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { newEntryId, timeOf } from '../src/entry-id.ts';
import { history, HistoryEntry } from '../src/index.ts';

const Label = defineEntity({
  name: 'Label',
  properties: {
    slug: p.string().length(300).primary(),
    text: p.string().length(20).unique(),
    place: p.integer().unique(),
    group: () => p.manyToOne(Group).nullable(),
  },
});
const Person = defineEntity({ name: 'Person', properties: { id: p.integer().primary(), name: p.string().length(20) } });
const Profile = defineEntity({
  name: 'Profile',
  properties: { person: () => p.manyToOne(Person).primary(), text: p.string().length(20) },
});
const Group = defineEntity({ name: 'Group', properties: { id: p.integer().primary(), name: p.string().length(20) } });

const columns = [
  'id',
  'name',
  'note',
  'price',
  'cost',
  'stock',
  'shelf',
  'sold',
  'weight',
  'height',
  'active',
  'color',
  'added',
  'day',
  'opens',
  'serial',
  'data',
  'image',
  'maker',
  'origin',
] as const;
class Products extends ModelViewSet(Product, {
  read: readShape(Product, [...columns], { parent: 'parent.id' }),
  write: writeShape(Product, [...columns.filter((name) => name !== 'id'), 'parent']),
  history: { at: true, revert: true },
  etags: true,
}) {}
class Labels extends ModelViewSet(Label, {
  read: readShape(Label, ['slug', 'text', 'place']),
  write: writeShape(Label, ['slug', 'text', 'place']),
  bulk: 2000,
  history: { at: true, revert: true },
}) {}
class Groups extends ModelViewSet(Group, { read: readShape(Group, ['id']), write: writeShape(Group, ['name']) }) {}
class People extends ModelViewSet(Person, { read: readShape(Person, ['id']), write: writeShape(Person, ['name']) }) {}
class Profiles extends ModelViewSet(Profile, {
  read: readShape(Profile, ['person', 'text']),
  write: writeShape(Profile, ['person', 'text']),
  history: { at: true, revert: true },
}) {}
class Own extends ModelViewSet(Label, {
  read: readShape(Label, ['text']),
  write: writeShape(Label, ['text']),
  singleton: () => ({ slug: 'own' }),
  history: { at: true, revert: true },
}) {}

const entities = [Country, Maker, Tag, Product, Label, Group, Person, Profile, HistoryEntry];
forEachDatabase(t, { entities }, async (t, orm) => {
  const start = async (t: Test) => {
    await orm.schema.clear();
    const views: Record<string, new () => ViewSet> = {
      products: Products,
      labels: Labels,
      groups: Groups,
      own: Own,
      people: People,
      profiles: Profiles,
    };
    const router = new Router();
    for (const [path, View] of Object.entries(views)) router.register(path, View);
    router.register('groups/:group/labels', Labels);
    const before = async (app: FastifyInstance): Promise<void> => {
      await app.register(history);
    };
    const app = await testApp(t, orm, [router], { before });
    return async (method: string, url: string, payload?: object, headers = {}) => {
      const request = { method: method as InjectOptions['method'] & 'GET', url, headers, ...(payload && { payload }) };
      const answer = await app.inject(request);
      const body = answer.body === '' ? undefined : answer.json();
      return { status: answer.statusCode, body, headers: answer.headers };
    };
  };
  const insert = (entry: Partial<HistoryEntry>) => {
    const all = { entity: 'Label', kind: 'updated', user: null, request: null, values_before: null, ...entry };
    return orm.em.fork().insert(HistoryEntry, { written_at: timeOf(entry.id!), ...all } as HistoryEntry);
  };

  t.test('every kind of column has the same value as in retrieve, and can be reverted', async (t) => {
    const send = await start(t);
    const em = orm.em.fork();
    const maker = em.create(Maker, { name: 'North', country: em.create(Country, { code: 'FR', name: 'France' }) });
    await em.flush();
    const first = {
      name: 'É 😀 "x"',
      note: 'a\n\u2028',
      price: 10.01,
      cost: '1234567890123456.5000',
      stock: 3,
      shelf: -32_768,
      sold: '9007199254740993',
      weight: -1e-7,
      height: 0.5,
      active: false,
      color: 'red',
      added: '2024-01-29T01:30:00.000Z',
      day: '2024-02-19',
      opens: '09:30:00',
      serial: '018f2f6e-0000-7000-8000-000000000001',
      data: { a: 1, deep: { list: [1, null, 'é'] } },
      image: Buffer.from('pixels').toString('base64'),
      maker: maker.id,
      origin: 'FR',
    };
    const made = await send('POST', '/products', first);
    t.match(made, { status: 201, body: { name: first.name } });
    const { id } = made.body;
    const empty = { note: null, price: null, cost: null, sold: null, data: null, image: null, maker: null, day: null };
    t.match(await send('PATCH', `/products/${id}`, { ...empty, active: true, parent: id }), { status: 200 });
    const later = (await send('GET', `/products/${id}`)).body;
    const [entry, oldest] = (await send('GET', `/products/${id}/history`)).body.results;
    t.strictSame(entry.record, later);
    t.strictSame(oldest.record, made.body);
    t.strictSame(entry.changes.parent, { from: null, to: id });
    t.strictSame((await send('GET', `/products/${id}?at=2999-01-01`)).body, later);
    const reverted = await send('POST', `/products/${id}/revert`, { entry: oldest.id });
    t.strictSame([reverted.status, reverted.body], [200, made.body]);
  });

  t.test('the ETag of an earlier state is that of its content', async (t) => {
    const send = await start(t);
    const { id } = (await send('POST', '/products', { name: 'A', stock: 1, active: true })).body;
    const now = await send('GET', `/products/${id}`);
    const past = await send('GET', `/products/${id}?at=2999-01-01`);
    t.equal(past.headers['etag'], now.headers['etag']);
    const again = await send('GET', `/products/${id}?at=2999-01-01`, undefined, {
      'if-none-match': now.headers['etag'],
    });
    t.equal(again.status, 304);
    t.match(await send('HEAD', `/products/${id}?at=2999-01-01`), { status: 200 });
  });

  t.test('a reused key starts a new history', async (t) => {
    const send = await start(t);
    await send('POST', '/labels', { slug: 'tea', text: 'secret', place: 1 });
    const [old] = await orm.em.fork().findAll(HistoryEntry);
    const yesterday = new Date(Date.now() - 86_400_000);
    await orm.em.fork().nativeUpdate(HistoryEntry, { id: old!.id }, { written_at: yesterday });
    t.match(await send('GET', `/labels/tea?at=${yesterday.toISOString()}`), { body: { text: 'secret' } });
    t.match(await send('DELETE', '/labels/tea'), { status: 204 });
    await orm.em.fork().insert(Label, { slug: 'tea', text: 'by a job', place: 1 });
    t.match(await send('GET', '/labels/tea/history'), { body: { count: 0, results: [] } });
    t.match(await send('GET', '/labels/tea?at=2999-01-01'), { status: 404 });
    t.match(await send('POST', '/labels/tea/revert', { entry: old!.id }), { status: 404 });
    await send('DELETE', '/labels/tea');
    await send('POST', '/labels', { slug: 'tea', text: 'new', place: 1 });
    const { body } = await send('GET', '/labels/tea/history');
    t.match(body, { count: 1, results: [{ kind: 'created', record: { text: 'new' } }] });
    t.match(await send('GET', `/labels/tea?at=${yesterday.toISOString()}`), { status: 404 });
    t.match(await send('POST', '/labels/tea/revert', { entry: old!.id }), { status: 404 });
    t.equal((await orm.em.fork().findAll(HistoryEntry)).length, 4);
  });

  t.test('records whose key is a relation have separate histories', async (t) => {
    const send = await start(t);
    for (const person of [1, 2]) {
      await send('POST', '/people', { name: String(person) });
      t.match(await send('POST', '/profiles', { person, text: `of ${person}` }), { status: 201 });
    }
    t.match(await send('PATCH', '/profiles/1', { text: 'new' }), { status: 200 });
    const { body } = await send('GET', '/profiles/1/history');
    t.strictSame(
      body.results.map(({ record }: { record: object }) => record),
      [
        { person: 1, text: 'new' },
        { person: 1, text: 'of 1' },
      ],
    );
    t.match(await send('POST', '/profiles/2/revert', { entry: body.results[0].id }), { status: 404 });
    t.match(await send('GET', '/profiles/2/history'), { body: { count: 1 } });
  });

  t.test('entries are in the order of writes, also behind a clock that is ahead', async (t) => {
    const send = await start(t);
    await send('POST', '/labels', { slug: 'tea', text: 'A', place: 1 });
    const hour = (Date.now() + 3_600_000).toString(16).padStart(12, '0');
    const ahead = `${hour.slice(0, 8)}-${hour.slice(8)}-7fff-8000-000000000000`;
    await insert({ id: ahead, record: 'tea', values: { slug: 'tea', text: 'B', place: 1 } });
    await send('PATCH', '/labels/tea', { text: 'C' });
    await send('PATCH', '/labels', [{ slug: 'tea', text: 'D' }]);
    const { body } = await send('GET', '/labels/tea/history');
    t.strictSame(
      body.results.map(({ record }: { record: { text: string } }) => record.text),
      ['D', 'C', 'B', 'A'],
    );
    const times = body.results.map(({ written_at }: { written_at: string }) => Date.parse(written_at));
    t.strictSame(
      times,
      times.toSorted((one: number, other: number) => other - one),
    );
  });

  t.test('writes of one record at the same time make a chain', async (t) => {
    const send = await start(t);
    await send('POST', '/labels', { slug: 'tea', text: 'A', place: 0 });
    const places = [1, 2, 3, 4, 5, 6, 7, 8];
    const answers = await Promise.all(places.map((place) => send('PATCH', '/labels/tea', { place })));
    t.ok(answers.every(({ status }) => status === 200));
    const { results } = (await send('GET', '/labels/tea/history')).body;
    t.equal(results.length, 9);
    const steps = results.slice(0, -1).toReversed();
    let place = 0;
    for (const { changes } of steps) {
      t.equal(changes.place.from, place);
      place = changes.place.to;
    }
    t.match((await send('GET', '/labels/tea')).body, { place });
  });

  t.test('a revert that conflicts with another record names only the conflicting field', async (t) => {
    const send = await start(t);
    await send('POST', '/labels', { slug: 'tea', text: 'A', place: 1 });
    const [first] = await orm.em.fork().findAll(HistoryEntry);
    await send('PATCH', '/labels/tea', { text: 'B' });
    await send('POST', '/labels', { slug: 'rum', text: 'A', place: 2 });
    const { status, body } = await send('POST', '/labels/tea/revert', { entry: first!.id });
    t.strictSame([status, body.details], [409, [{ in: 'body', path: '/text', message: 'is taken' }]]);
  });

  t.test('long keys, far pages and many records at once', async (t) => {
    const send = await start(t);
    const slug = 'x'.repeat(300);
    await send('POST', '/labels', { slug, text: 'A', place: 1 });
    t.match(await send('GET', `/labels/${slug}/history`), { body: { count: 1 } });
    const far = await send('GET', `/labels/${slug}/history?page=2147483647&page_size=100`);
    t.match(far, { status: 200, body: { count: 1, next: false, previous: true, results: [] } });
    const many = Array.from({ length: 1200 }, (_, n) => ({ slug: `n${n}`, text: `t${n}`, place: n + 2 }));
    t.equal((await send('POST', '/labels', many)).status, 201);
    t.equal(await orm.em.fork().count(HistoryEntry), 1201);
    t.match(await send('GET', '/labels/n1199/history'), { body: { count: 1 } });
  });

  t.test('the history of a record with a long key is not found by another key', async (t) => {
    const send = await start(t);
    for (const length of [255, 256, 300]) {
      await orm.schema.clear();
      const slug = 'x'.repeat(length);
      await send('POST', '/labels', { slug: 'short', text: 'A', place: 1 });
      await send('POST', '/labels', { slug, text: 'B', place: 2 });
      const [entry] = await orm.em.fork().find(HistoryEntry, { record: { $ne: 'short' } });
      const hash = createHash('sha256').update(slug).digest('hex');
      for (const [place, taken] of [entry!.record, hash].entries()) {
        t.equal((await send('POST', '/labels', { slug: taken, text: `C${place}`, place: 3 + place })).status, 201);
        await send('PATCH', `/labels/${slug}`, { text: `D${place}` });
        t.match(await send('GET', `/labels/${taken}/history`), { status: 200, body: { count: 1 } });
      }
      t.match(await send('GET', `/labels/${slug}/history`), { status: 200, body: { count: 3 } });
    }
  });

  t.test('a time before a field was shown returns 404 and names the field', async (t) => {
    const send = await start(t);
    await send('POST', '/labels', { slug: 'tea', text: 'A', place: 1 });
    const [entry] = await orm.em.fork().find(HistoryEntry, {});
    const { place: _place, ...values } = entry!.values as Record<string, unknown>;
    await orm.em.fork().nativeUpdate(HistoryEntry, { id: entry!.id }, { values });
    const { status, body } = await send('GET', '/labels/tea?at=2999-01-01');
    t.strictSame([status, body.error], [404, 'The history has no "place" of that time']);
  });

  t.test('a singleton and a nested view have their histories', async (t) => {
    const send = await start(t);
    await orm.em.fork().insert(Label, { slug: 'own', text: 'A', place: 1 });
    await send('PATCH', '/own', { text: 'B' });
    await send('PATCH', '/own', { text: 'C' });
    const { results } = (await send('GET', '/own/history')).body;
    t.match(results, [{ changes: { text: { from: 'B', to: 'C' } } }, { changes: { text: { from: 'A', to: 'B' } } }]);
    t.match(await send('POST', '/own/revert', { entry: results[1].id }), { status: 200, body: { text: 'B' } });
    t.match(await send('GET', '/own?at=2999-01-01'), { body: { text: 'B' } });
    const group = (await send('POST', '/groups', { name: 'North' })).body.id;
    const other = (await send('POST', '/groups', { name: 'South' })).body.id;
    await send('POST', `/groups/${group}/labels`, { slug: 'tea', text: 'T', place: 2 });
    t.match(await send('GET', `/groups/${group}/labels/tea/history`), { body: { count: 1 } });
    t.match(await send('GET', `/groups/${other}/labels/tea/history`), { status: 404 });
    t.match(await send('GET', `/groups/99/labels/tea/history`), { status: 404 });
    t.match(await send('GET', `/groups/${other}/labels/tea?at=2999-01-01`), { status: 404 });
  });
});

t.test('ids ascend, and are behind a given one', async (t) => {
  const ids = Array.from({ length: 10_000 }, () => newEntryId());
  t.strictSame(ids, ids.toSorted());
  const full = `${ids.at(-1)!.slice(0, 14)}7fff${ids.at(-1)!.slice(18)}`;
  t.ok(newEntryId(full) > full);
});
