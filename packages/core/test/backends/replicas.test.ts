/** Which of the servers answers: the primary, or a replica that lags behind it. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { action, ModelViewSet, QuerySet, readShape, Router, writeShape } from '../../src/index.ts';
import type { Projection } from '../../src/query/language/projection.ts';
import { testApp } from '../support/library.ts';
import { withReplica } from '../support/replicated-postgres.ts';

const Shelf = defineEntity({
  name: 'Shelf',
  properties: { id: p.integer().primary(), name: p.string().length(20) },
});
const Volume = defineEntity({
  name: 'Volume',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(20),
    shelf: () => p.manyToOne(Shelf).nullable(),
  },
});

const read = readShape(Volume, ['id', 'title', 'shelf']);
const write = writeShape(Volume, ['title', 'shelf']);
class ShelfViewSet extends ModelViewSet(Shelf, {
  read: readShape(Shelf, ['id', 'name']),
  write: writeShape(Shelf, ['name']),
}) {}
class VolumeViewSet extends ModelViewSet(Volume, { read, write, etags: true, bulk: 10 }) {
  titles = action({ methods: ['get', 'post'] }, async (request: FastifyRequest) => {
    const [own, managed] = [request, request.em].map((source) => QuerySet.of(source, Volume).orderBy('id'));
    const records = await this.rows(own!);
    const entities = await managed!.entities();
    return { rows: records.map(({ title }) => title), entities: entities.map(({ title }) => title) };
  });
}
/** Compares records that it makes of entities. */
class SpokenViewSet extends ModelViewSet(Volume, { read, write, etags: true }) {
  override async retrieve(request: FastifyRequest, reply: never) {
    const record = await super.retrieve(request, reply);
    return { ...record, title: record.title.toUpperCase() };
  }
  override async checkObjectPermissions() {}
}

const router = (): Router =>
  new Router().register('shelves', ShelfViewSet).register('volumes', VolumeViewSet).register('spoken', SpokenViewSet);

withReplica(t, 'with a replica that lags', async (t, servers) => {
  const orm = await servers.open({ entities: [Shelf, Volume] });
  const app = await testApp(t, orm, [router()]);
  const send = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object, headers = {}) => {
    const response = await app.inject({ method, url, headers, ...(payload && { payload }) });
    return { status: response.statusCode, tag: response.headers.etag!, json: response.body && response.json() };
  };
  const made = async (): Promise<number> => (await send('POST', '/volumes', { title: 'old' })).json.id;

  await t.test('reads use the replica', async (t) => {
    const id = await made();
    await servers.freeze();
    t.equal((await send('PATCH', `/volumes/${id}`, { title: 'new' })).json.title, 'new');
    t.equal((await send('GET', `/volumes/${id}`)).json.title, 'old');
    t.match((await send('GET', '/volumes')).json, { results: [{ title: 'old' }] });
  });

  for (const view of ['volumes', 'spoken']) {
    await t.test(`If-Match is compared on the primary, ${view}`, async (t) => {
      const url = `/${view}/${await made()}`;
      await servers.freeze();
      const { tag: old } = await send('GET', url);
      await send('PATCH', url, { title: 'new' });
      t.equal((await send('PATCH', url, { title: 'newer' }, { 'if-match': old })).status, 412, 'which the replica has');
      await servers.freeze();
      await send('PATCH', url, { title: 'old' });
      t.equal((await send('GET', url)).json.title.toLowerCase(), 'new');
      t.equal((await send('PATCH', url, { title: 'old' }, { 'if-match': old })).status, 200, 'which it has not');
      t.equal((await send('DELETE', url, undefined, { 'if-match': old })).status, 204);
    });
  }

  await t.test('references of a write are looked up on the primary', async (t) => {
    await servers.freeze();
    const { json: shelf } = await send('POST', '/shelves', { name: 'upper' });
    t.equal((await send('GET', `/shelves/${shelf.id}`)).status, 404);
    const created = await send('POST', '/volumes', { title: 'on it', shelf: shelf.id });
    t.match(created, { status: 201, json: { shelf: shelf.id } });
    t.equal((await send('PATCH', '/volumes', [{ id: created.json.id, title: 'bulk' }] as never)).status, 200);
  });

  await t.test('an action that may write reads on the primary, another one on the replica', async (t) => {
    await servers.freeze();
    const before = (await send('GET', '/volumes/titles')).json;
    await send('POST', '/volumes', { title: 'latest' });
    t.strictSame((await send('GET', '/volumes/titles')).json, before);
    const { json } = await send('POST', '/volumes/titles');
    t.strictSame(json.rows, [...before.rows, 'latest']);
    t.strictSame(json.entities, json.rows);
  });

  await t.test('a query set on a source that reads the primary does so for rows and entities', async (t) => {
    await made();
    await servers.freeze();
    const id = await made();
    const ofVolumes: Projection<object> = {
      paths: [],
      populate: [],
      ofEntities: true,
      readRow: (row) => row,
      readEntity: (volume) => volume,
    };
    const found = async (readsPrimary: boolean) => {
      const volumes = QuerySet.of({ em: orm.em.fork(), readsPrimary }, Volume).filter({ id });
      const made = await volumes.rows(ofVolumes);
      return [await volumes.exists(), (await volumes.entities()).length, (await volumes.entity())?.id, made.length];
    };
    t.strictSame(await found(false), [false, 0, undefined, 0]);
    t.strictSame(await found(true), [true, 1, id, 1]);
  });
});

withReplica(t, 'preferReadReplicas: false', async (t, servers) => {
  const orm = await servers.open({ entities: [Shelf, Volume], orm: { preferReadReplicas: false } });
  const app = await testApp(t, orm, [router()]);
  await servers.freeze();
  await app.inject({ method: 'POST', url: '/volumes', payload: { title: 'new' } });
  const list = await app.inject('/volumes');
  t.match(list.json(), { results: [{ title: 'new' }] }, 'every read is of the primary');
});
