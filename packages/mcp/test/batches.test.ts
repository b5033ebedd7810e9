/** Batches that a tool sends: their operations are limited like its own. */
import { BatchViewSet } from '@viewset/batch';
import { ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import type { McpOptions } from '../src/index.ts';
import { Author, connect, ENTITIES, fillLibrary, startLibrary } from './support/app.ts';

class PageViewSet extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name']),
  write: writeShape(Author, ['name']),
}) {}
class Batch extends BatchViewSet() {}

forEachDatabase(t, { entities: ENTITIES }, async (t, orm) => {
  await fillLibrary(orm);
  const start = async (options: Partial<McpOptions>) => {
    const router = new Router({ prefix: 'own' }).register('pages', PageViewSet).register('batch', Batch);
    const { url } = await startLibrary(t, orm, { mcp: options, routers: [router] });
    const { call } = await connect(t, url);
    return (...operations: object[]) => call('act', { resource: 'batch', action: 'run', body: { operations } });
  };
  const unreachable = { isError: true, value: { status: 422, error: /The tools do not reach this operation/ } };

  t.test('a batch has the operations that the tools have, and no others', async (t) => {
    const run = await start({ resources: ['pages', 'batch'], exclude: ['destroyPage'] });
    const before = await orm.em.fork().count(Author);
    const create = { method: 'POST', path: '/pages', body: { name: 'Edith' } };
    t.match(await run(create, { method: 'GET', path: '/pages' }), {
      isError: false,
      value: { answer: { answers: [{ status: 201 }, { status: 200 }] } },
    });
    t.match(await run(create, { method: 'DELETE', path: '/pages/1' }), unreachable);
    t.match(await run({ method: 'PUT', path: '/pages/1', body: { name: 'x' } }), unreachable, 'no tool sends PUT');
    t.equal(await orm.em.fork().count(Author), before + 1, 'a refused operation rolls the batch back');
  });

  t.test('resources that are not named are out of reach of a batch', async (t) => {
    const run = await start({ resources: ['batch'] });
    t.match(await run({ method: 'GET', path: '/pages' }), unreachable);
  });
});
