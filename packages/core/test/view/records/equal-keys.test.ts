/** Keys that a database holds equal and JavaScript does not: children belong to the record that the database says. */
import { defineEntity, type InferEntity, type MikroORM, p } from '@mikro-orm/core';
import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import type { FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import { many, ModelViewSet, readShape, Router, writeShape } from '../../../src/index.ts';
import { administrate, createPostgreSqlDatabase, openSqlite, skipPostgreSql } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

function entitiesOf(column: string) {
  const Kind = defineEntity({
    name: 'Kind',
    properties: {
      code: p.string().columnType(column).primary(),
      note: p.string().default(''),
      teas: () => p.oneToMany(Tea).mappedBy('kind'),
      tags: () => p.manyToMany(Tag),
    },
  });
  const Tea = defineEntity({
    name: 'Tea',
    properties: { id: p.integer().primary(), name: p.string(), kind: () => p.manyToOne(Kind) },
  });
  const Tag = defineEntity({ name: 'Tag', properties: { name: p.string().columnType(column).primary() } });
  return { Kind, Tea, Tag };
}

async function checkChildren(t: Test, orm: MikroORM, { Kind, Tea, Tag }: ReturnType<typeof entitiesOf>): Promise<void> {
  for (const rows of [
    `kind (code) values ('Black'), ('Green')`,
    `tag (name) values ('Hot')`,
    `tea (name, kind_code) values ('Assam', 'black'), ('Ceylon', 'BLACK'), ('Sencha', 'Green')`,
    `kind_tags (kind_code, tag_name) values ('BLACK', 'hot')`,
  ]) {
    await orm.em.getConnection().execute(`insert into ${rows}`);
  }
  const read = readShape(Kind, ['code'], {
    teas: many('teas.name', { orderBy: '-name', limit: 5 }),
    tags: many(readShape(Tag, ['name'])),
  });
  class KindViewSet extends ModelViewSet(Kind, { read }) {}
  class EntitiesViewSet extends ModelViewSet(Kind, { read }) {
    override represent(kind: InferEntity<typeof Kind>, request?: FastifyRequest) {
      return super.represent(kind, request);
    }
  }
  class TeaViewSet extends ModelViewSet(Tea, {
    read: readShape(Tea, ['name'], { kind: readShape(Kind, [], { first: many('teas.name', { limit: 1 }) }) }),
  }) {}
  const router = new Router()
    .register('kinds', KindViewSet)
    .register('entities', EntitiesViewSet)
    .register('teas', TeaViewSet);
  const app = await testApp(t, orm, [router]);
  for (const path of ['kinds', 'entities']) {
    t.strictSame((await app.inject(`/${path}`)).json().results, [
      { code: 'Black', teas: ['Ceylon', 'Assam'], tags: [{ name: 'Hot' }] },
      { code: 'Green', teas: ['Sencha'], tags: [] },
    ]);
    t.strictSame((await app.inject(`/${path}/bLACK`)).json().teas, ['Ceylon', 'Assam']);
  }
  const first = (await app.inject('/teas')).json<{ results: { kind: { first: string[] } }[] }>().results;
  t.same(
    first.map(({ kind }) => kind.first),
    [['Assam'], ['Assam'], ['Sencha']],
    'of two spellings of one key',
  );
}

/** Every way by which a request names several records by such keys, each spelt in another way than it is stored. */
async function checkNames(t: Test, orm: MikroORM, { Kind, Tea, Tag }: ReturnType<typeof entitiesOf>): Promise<void> {
  const read = readShape(Kind, ['code', 'note'], { tags: many('tags.name') });
  const write = writeShape(Kind, ['code', 'note', 'tags']);
  class KindViewSet extends ModelViewSet(Kind, { read, write, bulk: 5 }) {}
  class TeaViewSet extends ModelViewSet(Tea, {
    read: readShape(Tea, ['name'], { kind: 'kind.code' }),
    write: writeShape(Tea, ['name', 'kind']),
    bulk: 5,
  }) {}
  const app = await testApp(t, orm, [new Router().register('kinds', KindViewSet).register('teas', TeaViewSet)]);
  await orm.em.fork().insert(Tag, { name: 'Cold' });

  const created = await app.inject({
    method: 'POST',
    url: '/kinds',
    payload: { code: 'Red', note: '', tags: ['hOT', 'COLD', 'hot', 'Hot'] },
  });
  t.equal(created.statusCode, 201, created.body);
  t.same(created.json().tags, ['Cold', 'Hot'], 'each once');
  const unknown = await app.inject({
    method: 'PATCH',
    url: '/kinds/red',
    payload: { tags: ['hOT', 'COLD', 'luke'] },
  });
  t.equal(unknown.statusCode, 400);
  t.same(
    unknown.json().details.map(({ path }: { path: string }) => path),
    ['/tags/2'],
  );
  const teas = ['BLACK', 'green', 'black'].map((kind) => ({ name: kind, kind }));
  const bulk = await app.inject({ method: 'POST', url: '/teas', payload: teas });
  t.equal(bulk.statusCode, 201, bulk.body);
  t.same(
    bulk.json().map(({ kind }: { kind: string }) => kind.toLowerCase()),
    ['black', 'green', 'black'],
  );

  const changes = ['BLACK', 'rED'].map((code) => ({ code, note: code }));
  const changed = await app.inject({ method: 'PATCH', url: '/kinds', payload: changes });
  t.equal(changed.statusCode, 200, changed.body);
  t.match(changed.json(), [
    { code: 'Black', note: 'BLACK' },
    { code: 'Red', note: 'rED' },
  ]);
  const twice = await app.inject({
    method: 'PATCH',
    url: '/kinds',
    payload: ['BLACK', 'black', 'red'].map((code) => ({ code, note: '' })),
  });
  t.equal(twice.statusCode, 400);
  t.strictSame(twice.json().details, [{ in: 'body', path: '/1/code', message: 'is named twice' }]);
  for (const [pk, status] of [
    ['red,RED', 400],
    ['red,none', 404],
    ['rED', 204],
  ] as const) {
    const removed = await app.inject({ method: 'DELETE', url: `/kinds?pk=${pk}` });
    t.equal(removed.statusCode, status, removed.body);
  }
}

t.test('on SQLite', async (t) => {
  const entities = entitiesOf('text collate nocase');
  const orm = await openSqlite(t, { entities: Object.values(entities) });
  await checkChildren(t, orm, entities);
  await checkNames(t, orm, entities);
});

t.test('on PostgreSQL', { skip: skipPostgreSql() }, async (t) => {
  const clientUrl = await createPostgreSqlDatabase(t);
  await administrate(clientUrl, 'create extension citext');
  const entities = entitiesOf('citext');
  const orm = (await PostgreSqlORM.init({ clientUrl, entities: Object.values(entities) })) as unknown as MikroORM;
  t.teardown(() => orm.close(true));
  await orm.schema.create();
  await checkChildren(t, orm, entities);
  await checkNames(t, orm, entities);
});
