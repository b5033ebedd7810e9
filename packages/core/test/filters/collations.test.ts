/** Columns whose collation takes several texts for one: the lookups of texts mean the same as on every other column. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import t, { type Test } from 'tap';
import { ModelViewSet, readShape, Router } from '../../src/index.ts';
import { administrate, createPostgreSqlDatabase, openSqlite, skipPostgreSql } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

/** One column declares its collation by the option for it, the other in its type. */
function teaOf(collation: string) {
  return defineEntity({
    name: 'Tea',
    properties: {
      id: p.integer().primary(),
      name: p.string().collation(collation),
      origin: p.string().columnType(`text collate "${collation}"`),
    },
  });
}

async function checkLookups(t: Test, orm: MikroORM, Tea: ReturnType<typeof teaOf>): Promise<void> {
  await orm.em.fork().insertMany(Tea, [
    { name: 'Green', origin: 'Green' },
    { name: 'green', origin: 'green' },
  ]);
  class TeaViewSet extends ModelViewSet(Tea, {
    read: readShape(Tea, ['id']),
    filterFields: Object.fromEntries(
      (['name', 'origin'] as const).flatMap((field) =>
        ['contains', 'icontains', 'startswith', 'istartswith', 'endswith', 'iendswith', 'iexact'].map(
          (lookup) => [`${field}_${lookup}`, `${field}__${lookup}`] as const,
        ),
      ),
    ) as Record<string, 'name__contains'>,
    jsonLogicFields: ['name', 'origin'],
    searchFields: ['name', '^origin'],
  }) {}
  const app = await testApp(t, orm, [new Router().register('teas', TeaViewSet)]);
  const found = async (query: Record<string, string>) => {
    const response = await app.inject({ url: '/teas', query });
    return response.statusCode === 200 ? response.json<{ count: number }>().count : response.body;
  };
  for (const field of ['name', 'origin']) {
    const by = (lookup: string, value: string) => found({ [`${field}_${lookup}`]: value });
    t.equal(await by('contains', 'Gr'), 1, 'case is told apart');
    t.equal(await by('startswith', 'gr'), 1);
    t.equal(await by('endswith', 'een'), 2);
    t.equal(await by('icontains', 'GR'), 2);
    t.equal(await by('istartswith', 'GR'), 2);
    t.equal(await by('iendswith', 'EEN'), 2);
    t.equal(await by('iexact', 'GREEN'), 2);
    t.equal(await found({ filter: JSON.stringify({ in: ['Gr', { var: field }] }) }), 1);
  }
  t.equal(await found({ search: 'GREEN' }), 2);
}

t.test('on SQLite', async (t) => {
  const Tea = teaOf('nocase');
  await checkLookups(t, await openSqlite(t, { entities: [Tea] }), Tea);
});

t.test('on PostgreSQL', { skip: skipPostgreSql() }, async (t) => {
  const clientUrl = await createPostgreSqlDatabase(t);
  await administrate(
    clientUrl,
    `create collation "any_case" (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
  );
  const Tea = teaOf('any_case');
  const orm = (await PostgreSqlORM.init({ clientUrl, entities: [Tea] })) as unknown as MikroORM;
  t.teardown(() => orm.close(true));
  await orm.schema.create();
  await checkLookups(t, orm, Tea);
});
