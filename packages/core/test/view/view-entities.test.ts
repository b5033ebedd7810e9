/** View entities of MikroORM: views of the database that are read like tables, and never written. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase, openSqlite, SQL_DATABASES } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Writer = defineEntity({ name: 'Writer', properties: { id: p.integer().primary(), name: p.string() } });
const Poem = defineEntity({
  name: 'Poem',
  properties: { id: p.integer().primary(), title: p.string(), writer_id: p.integer() },
});
const Output = defineEntity({
  name: 'Output',
  tableName: 'output',
  view: true,
  expression:
    'select writer_id as id, writer_id as writer_id, count(*) as poems, max(title) as last from poem group by writer_id',
  properties: {
    id: p.integer().primary(),
    writer: () => p.manyToOne(Writer).nullable(),
    poems: p.integer(),
    last: p.string(),
  },
});
const Frozen = defineEntity({
  name: 'Frozen',
  readonly: true,
  properties: { id: p.integer().primary(), title: p.string() },
});
const ENTITIES = [Writer, Poem, Output];

class OutputViewSet extends ModelViewSet(Output, {
  read: readShape(Output, ['id', 'poems', 'last'], { writer: 'writer.name', writer_id: 'writer.id' }),
  filterFields: { min_poems: 'poems__gte', writer: 'writer__name' },
  searchFields: ['last'],
  orderingFields: { poems: 'poems' },
}) {}

forEachDatabase(t, { entities: ENTITIES, only: SQL_DATABASES }, async (t, orm) => {
  const em = orm.em.fork();
  em.create(Writer, { name: 'Ada' });
  await em.flush();
  for (const [title, writer_id] of [
    ['Ash', 1],
    ['Elm', 1],
    ['Oak', 2],
  ] as const) {
    em.create(Poem, { title, writer_id });
  }
  await em.flush();
  const app = await testApp(t, orm, [new Router().register('outputs', OutputViewSet)]);
  const get = async (url: string): Promise<unknown> => {
    const answer = await app.inject(url);
    return answer.statusCode === 200 ? answer.json<unknown>() : answer.statusCode;
  };
  const ada = { id: 1, poems: 2, last: 'Elm', writer: 'Ada', writer_id: 1 };
  const nobody = { id: 2, poems: 1, last: 'Oak', writer: null, writer_id: null };

  t.test('are listed, filtered, searched, ordered and retrieved', async (t) => {
    t.match(await get('/outputs?sort=poems'), { count: 2, results: [nobody, ada] });
    t.match(await get('/outputs?min_poems=2'), { count: 1, results: [ada] });
    t.match(await get('/outputs?writer=Ada'), { count: 1, results: [ada] });
    t.match(await get('/outputs?search=oak'), { count: 1, results: [nobody] });
    t.strictSame(await get('/outputs/1'), ada);
    t.strictSame(await get('/outputs/2'), nobody, 'no foreign key promises that the writer is there');
    t.equal(await get('/outputs/3'), 404);
  });

  t.test('have no operation that writes', async (t) => {
    for (const [method, url] of [
      ['POST', '/outputs'],
      ['PATCH', '/outputs/1'],
      ['DELETE', '/outputs/1'],
    ] as const) {
      t.equal((await app.inject({ method, url, payload: {} })).statusCode, 405);
    }
  });
});

t.test('a view that would write a view entity or a readonly entity fails at start', async (t) => {
  const orm = await openSqlite(t, { entities: [...ENTITIES, Frozen] });
  const refusal = async (entity: typeof Output | typeof Frozen, options: object): Promise<void> => {
    class ReadViewSet extends ModelViewSet(entity as typeof Output, {
      read: readShape(entity as typeof Output, ['id']),
      ...options,
    }) {}
    const [option = ''] = Object.keys(options);
    await t.rejects(testApp(t, orm, [new Router().register('reads', ReadViewSet as never)]), {
      name: 'ImproperlyConfigured',
      message: new RegExp(`option "${option}" would write ${entity.meta.className}, which is read-only`),
    });
  };
  await refusal(Output, { write: writeShape(Output, ['last']) });
  await refusal(Output, { operations: ['list', 'destroy'] });
  await refusal(Frozen, { write: writeShape(Frozen, ['title']) });
});
