/** Batches that write the same records in different orders, which databases with locks end as deadlocks. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { BatchViewSet } from '../src/index.ts';

const Counter = defineEntity({
  name: 'Counter',
  properties: { id: p.integer().primary(), value: p.integer().default(0) },
});
class CounterViewSet extends ModelViewSet(Counter, {
  read: readShape(Counter, ['id', 'value']),
  write: writeShape(Counter, ['value']),
  batchable: true,
}) {}
class Batch extends BatchViewSet() {}

const CLIENTS = 6;
const REQUESTS = 5;

forEachDatabase(t, { entities: [Counter] }, async (t, orm) => {
  await t.test('all are stored', async (t) => {
    await orm.em.fork().insertMany(Counter, [{ id: 1 }, { id: 2 }] as never);
    const router = new Router({ prefix: 'api' }).register('counters', CounterViewSet).register('batch', Batch);
    const app = await testApp(t, orm, [router]);
    const statuses: number[] = [];
    const client = async (_: unknown, index: number) => {
      const ids = index % 2 === 0 ? [1, 2] : [2, 1];
      for (let count = 0; count < REQUESTS; count++) {
        const operations = ids.map((id) => ({ method: 'PATCH', path: `/counters/${id}`, body: { value: index } }));
        const { statusCode } = await app.inject({ method: 'POST', url: '/api/batch', payload: { operations } });
        statuses.push(statusCode);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    t.strictSame(new Set(statuses), new Set([200]));
    const [one, two] = await orm.em.fork().findAll(Counter, { orderBy: { id: 1 } });
    t.equal(one!.value, two!.value, 'each batch was stored as one');
  });
});
