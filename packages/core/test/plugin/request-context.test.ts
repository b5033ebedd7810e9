/** Applications that run their requests in a RequestContext of MikroORM, whose entity manager `orm.em` then stands for. */
import { RequestContext } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { fillLibrary, LIBRARY, Publisher, testApp } from '../support/library.ts';

class PublisherViewSet extends ModelViewSet(Publisher, {
  read: readShape(Publisher, ['name']),
  write: writeShape(Publisher, ['name']),
}) {}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  await fillLibrary(orm);
  const app = await testApp(t, orm, [new Router().register('publishers', PublisherViewSet)], {
    before: (given) => {
      given.addHook('onRequest', (request, _reply, done) => {
        RequestContext.create(orm.em, () => {
          const name = request.headers['x-only'];
          if (name !== undefined) orm.em.addFilter({ name: 'only', cond: { name }, entity: Publisher });
          done();
        });
      });
    },
  });

  t.test('records that a filter of the context hides are neither shown nor written', async (t) => {
    const headers = { 'x-only': 'South' };
    const [north, south] = await orm.em.fork().find(Publisher, {}, { orderBy: { id: 1 } });
    for (const only of ['South', undefined, 'South']) {
      const sent = only === undefined ? {} : { 'x-only': only };
      const list = (await app.inject({ url: '/publishers', headers: sent })).json();
      const expected = only === undefined ? ['North', 'South'] : ['South'];
      t.strictSame([list.count, list.results.map(({ name }: { name: string }) => name)], [expected.length, expected]);
    }
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const payload = method === 'PATCH' ? { payload: { name: 'changed' } } : {};
      const hidden = await app.inject({ method, url: `/publishers/${north!.id}`, headers, ...payload });
      t.equal(hidden.statusCode, 404, method);
    }
    t.equal((await app.inject({ url: `/publishers/${south!.id}`, headers })).statusCode, 200);
    t.strictSame((await app.inject(`/publishers/${north!.id}`)).json(), { name: 'North' });
  });
});
