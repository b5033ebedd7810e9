/** NaN and the infinities, which databases store and JSON cannot say. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Probe = defineEntity({
  name: 'Probe',
  properties: { id: p.integer().primary(), heat: p.double(), mass: p.double().nullable(), size: p.float().nullable() },
});

class ProbeViewSet extends ModelViewSet(Probe, {
  read: readShape(Probe, ['id', 'heat', 'mass', 'size']),
  write: writeShape(Probe, ['heat']),
  orderingFields: { heat: 'heat' },
}) {}

class RepresentedViewSet extends ProbeViewSet {
  override represent(entity: Parameters<ProbeViewSet['represent']>[0]) {
    return super.represent(entity);
  }
}

forEachDatabase(t, { entities: [Probe] }, async (t, orm, database) => {
  const values = database === 'sqlite' ? ['9e999', '-9e999'] : ["'NaN'", "'Infinity'", "'-Infinity'"];
  for (const value of values) {
    await orm.em.getConnection().execute(`insert into probe (heat, mass, size) values (${value}, ${value}, ${value})`);
  }
  const router = new Router().register('probes', ProbeViewSet).register('represented', RepresentedViewSet);
  const app = await testApp(t, orm, [router]);

  t.test('they read as null, in lists and records, however those are read', async (t) => {
    for (const path of ['/probes', '/represented']) {
      const list = await app.inject(`${path}?sort=heat`);
      t.equal(list.statusCode, 200, list.body);
      const { results } = list.json<{ results: object[] }>();
      t.equal(results.length, values.length);
      for (const record of results) t.match(record, { heat: null, mass: null, size: null });
      const one = await app.inject(`${path}/1`);
      t.match(one.json(), { id: 1, heat: null, mass: null, size: null });
    }
  });

  t.test('they can be written over', async (t) => {
    const changed = await app.inject({ method: 'PATCH', url: '/probes/1', payload: { heat: 1.5 } });
    t.match(changed.json(), { heat: 1.5, mass: null });
  });
});
