/** NaN and the infinities, which databases store and JSON cannot say. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { type CursorEnvelope, CursorPagination, ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Probe = defineEntity({
  name: 'Probe',
  properties: { id: p.integer().primary(), heat: p.double(), mass: p.double().nullable(), size: p.float().nullable() },
});

class ProbeViewSet extends ModelViewSet(Probe, {
  read: readShape(Probe, ['id', 'heat', 'mass', 'size']),
  write: writeShape(Probe, ['heat', 'mass', 'size']),
  orderingFields: { heat: 'heat' },
}) {}

class CursorViewSet extends ModelViewSet(Probe, {
  read: readShape(Probe, ['id']),
  orderingFields: { heat: 'heat', mass: 'mass' },
  pagination: CursorPagination,
}) {}

class RepresentedViewSet extends ProbeViewSet {
  override represent(entity: Parameters<ProbeViewSet['represent']>[0]) {
    return super.represent(entity);
  }
}

forEachDatabase(t, { entities: [Probe] }, async (t, orm, database) => {
  // SQLite stores NaN as NULL, and MikroORM writes none of them into SQL.
  const values = database === 'sqlite' ? ['9e999', '-9e999'] : ['NaN', 'Infinity', '-Infinity'];
  for (const value of values) {
    const [mass, size] = [Number(value), Number(value)];
    if (database === 'mongodb') {
      await orm.em.fork().insert(Probe, { heat: Number(value), mass, size });
    } else {
      const sql = database === 'sqlite' ? value : `'${value}'`;
      await orm.em.getConnection().execute(`insert into probe (heat, mass, size) values (${sql}, ${sql}, ${sql})`);
    }
  }
  const router = new Router()
    .register('probes', ProbeViewSet)
    .register('represented', RepresentedViewSet)
    .register('cursors', CursorViewSet);
  const app = await testApp(t, orm, [router], { options: { secret: 'thirty-two bytes, for the cursors' } });

  t.test('a response with one fails, in lists and records, however those are read', async (t) => {
    for (const path of ['/probes', '/represented']) {
      t.equal((await app.inject(`${path}?sort=heat`)).statusCode, 500);
      t.equal((await app.inject(`${path}/1`)).statusCode, 500);
    }
  });

  t.test('a cursor passes them by, in every order and once each', async (t) => {
    const others = [1, 2, 2].map((heat, at) => ({ heat, mass: at === 0 ? null : heat }));
    await orm.em.fork().insertMany(Probe, others);
    const pageAt = async (sort: string, cursor: string) =>
      (await app.inject(`/cursors?sort=${sort}&page_size=1&cursor=${cursor}`)).json<CursorEnvelope<{ id: number }>>();
    for (const sort of ['heat', '-heat', 'mass', '-mass']) {
      const seen: number[] = [];
      let cursor: string | null = '';
      while (cursor !== null && seen.length < 20) {
        const { results, next_cursor } = await pageAt(sort, cursor);
        seen.push(...results.map(({ id }) => id));
        cursor = next_cursor;
      }
      t.equal(seen.length, values.length + others.length, sort);
      t.equal(new Set(seen).size, seen.length, sort);
    }
    await orm.em.fork().nativeDelete(Probe, { heat: { $in: [1, 2] } });
  });

  t.test('they can be overwritten', async (t) => {
    const payload = { heat: 1.5, mass: null, size: null };
    const changed = await app.inject({ method: 'PATCH', url: '/probes/1', payload });
    t.match(changed.json(), { id: 1, ...payload });
  });
});
