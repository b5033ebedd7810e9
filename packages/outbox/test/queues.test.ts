/** A handler hands events over to a queue, as docs/how-to-queues.md shows. An event that comes twice makes one job. */
import { Queue, Worker } from 'bullmq';
import { PgBoss } from 'pg-boss';
import t from 'tap';
import { createPostgreSqlDatabase, openSqlite, skipPostgreSql } from '../../core/test/support/databases.ts';
import { withRedis } from '../../core/test/support/redis.ts';
import { emit, type HandledEvent, OutboxEvent, startOutbox } from '../src/index.ts';
import { until } from './support/until.ts';

const log = { warn: () => {}, error: () => {} };

withRedis(t, 'BullMQ', async (t, url) => {
  const name = `outbox-${crypto.randomUUID()}`;
  const connection = { url };
  const queue = new Queue(name, { connection });
  const got: unknown[] = [];
  const orm = await openSqlite(t, { entities: [OutboxEvent] });
  const add = ({ id, type, payload }: HandledEvent) => queue.add(type, payload, { jobId: id });
  const id = await emit({ em: orm.em.fork() }, 'order.paid', { number: 7 });
  const handlers = {
    'order.*': async (event: HandledEvent) => {
      await add(event);
      if (event.attempt === 1) throw new Error('died after the queue had it');
    },
  };
  const worker = startOutbox(orm, { log, handlers, pollMs: 50, backoffMs: 20 });
  await until(async () => (await orm.em.fork().count(OutboxEvent, { status: 'delivered' })) === 1);
  const jobs = new Worker(name, async ({ id: job, name: type, data }) => got.push([job, type, data]), { connection });
  await until(() => got.length > 0);
  t.strictSame(got, [[id, 'order.paid', { number: 7 }]]);
  await until(async () => (await queue.getCompletedCount()) === 1);
  await worker.stop();
  await jobs.close();
  await queue.obliterate({ force: true });
  await queue.close();
});

t.test('pg-boss', { skip: skipPostgreSql() }, async (t) => {
  const boss = new PgBoss(await createPostgreSqlDatabase(t));
  boss.on('error', () => {});
  await boss.start();
  await boss.createQueue('events');
  const orm = await openSqlite(t, { entities: [OutboxEvent] });
  const id = await emit({ em: orm.em.fork() }, 'order.paid', { number: 7 });
  const handlers = {
    'order.*': async ({ id, type, payload, attempt }: HandledEvent) => {
      await boss.send('events', { type, payload }, { id });
      if (attempt === 1) throw new Error('died after the queue had it');
    },
  };
  const worker = startOutbox(orm, { log, handlers, pollMs: 50, backoffMs: 20 });
  await until(async () => (await orm.em.fork().count(OutboxEvent, { status: 'delivered' })) === 1);
  const jobs = await boss.fetch('events', { batchSize: 5 });
  t.strictSame(
    jobs.map((job) => [job.id, job.data]),
    [[id, { type: 'order.paid', payload: { number: 7 } }]],
  );
  await worker.stop();
  await boss.stop({ graceful: false });
});
