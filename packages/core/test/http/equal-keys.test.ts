/** Keys that a database holds equal and JavaScript does not: children belong to the record that the database says. */
import { defineEntity, type InferEntity, type MikroORM, p } from '@mikro-orm/core';
import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import type { FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import { many, ModelViewSet, readShape, Router } from '../../src/index.ts';
import { administrate, createPostgreSqlDatabase, openSqlite, skipPostgreSql } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

function entitiesOf(column: string) {
  const Kind = defineEntity({
    name: 'Kind',
    properties: {
      code: p.string().columnType(column).primary(),
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

t.test('on SQLite', async (t) => {
  const entities = entitiesOf('text collate nocase');
  await checkChildren(t, await openSqlite(t, { entities: Object.values(entities) }), entities);
});

t.test('on PostgreSQL', { skip: skipPostgreSql() }, async (t) => {
  const clientUrl = await createPostgreSqlDatabase(t);
  await administrate(clientUrl, 'create extension citext');
  const entities = entitiesOf('citext');
  const orm = (await PostgreSqlORM.init({ clientUrl, entities: Object.values(entities) })) as unknown as MikroORM;
  t.teardown(() => orm.close(true));
  await orm.schema.create();
  await checkChildren(t, orm, entities);
});
