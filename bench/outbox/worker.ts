/** A process that stores the events of the bench, or delivers them. */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { MikroORM } from '@mikro-orm/postgresql';
import type * as outbox from '../../packages/outbox/src/index.ts';

/** The task of the process. */
export interface Job {
  readonly task?: 'store' | 'deliver';
  readonly url: string;
  /** The path of an outbox's source, or `pg-boss`. */
  readonly source: string;
  readonly events: number;
  readonly subjects: number;
}

/** A subject, the number of the event, and the time in milliseconds since 1970. */
export type Delivered = readonly [subject: string, number: number, time: number];

const job = JSON.parse(process.argv[2]!) as Job;
const numbers = Array.from({ length: job.events }, (_, number) => number);
const subjectOf = (number: number): string => `S/${number % job.subjects}`;

let delivered: Delivered[] = [];
setInterval(() => {
  if (delivered.length > 0) process.send!(delivered);
  delivered = [];
}, 50).unref();
const note = (subject: string, number: number): void => {
  delivered.push([subject, number, performance.timeOrigin + performance.now()]);
};

await (job.source === 'pg-boss' ? usePgBoss() : useOutbox());

async function useOutbox(): Promise<void> {
  const { OutboxEvent, startOutbox } = (await import(job.source)) as typeof outbox;
  const orm = await MikroORM.init({ clientUrl: job.url, entities: [OutboxEvent], pool: { max: 10 } });
  if (job.task === 'deliver') {
    startOutbox(orm, {
      handlers: { x: ({ subject, payload }) => note(subject!, (payload as { number: number }).number) },
    });
    return;
  }
  await orm.schema.create();
  const now = new Date();
  const rows = numbers.map((number) => ({
    id: `0198c0de-0000-7000-8000-${String(number).padStart(12, '0')}`,
    type: 'x',
    subject: subjectOf(number),
    payload: { number, text: 'x'.repeat(200) },
    created_at: now,
    due_at: now,
    status: 'waiting' as const,
    attempts: 0,
  }));
  for (let first = 0; first < rows.length; first += 500) {
    await orm.em.fork().insertMany(OutboxEvent, rows.slice(first, first + 500));
  }
  await orm.close(true);
}

async function usePgBoss(): Promise<void> {
  const require = createRequire(new URL('../../packages/outbox/package.json', import.meta.url));
  const { PgBoss } = (await import(pathToFileURL(require.resolve('pg-boss')).href)) as {
    PgBoss: new (url: string) => Boss;
  };
  const boss = new PgBoss(job.url);
  boss.on('error', console.error);
  await boss.start();
  if (job.task === 'deliver') {
    const options = { batchSize: 100, pollingIntervalSeconds: 0.5, localConcurrency: 10 };
    await boss.work('events', options, async (jobs) => {
      for (const { data } of jobs) note(data.subject, data.number);
    });
    return;
  }
  await boss.createQueue('events', { policy: 'key_strict_fifo' });
  const rows = numbers.map((number) => ({
    data: { number, subject: subjectOf(number), text: 'x'.repeat(200) },
    singletonKey: subjectOf(number),
  }));
  for (let first = 0; first < rows.length; first += 500) await boss.insert('events', rows.slice(first, first + 500));
  await boss.stop({ graceful: false });
}

/** The part of pg-boss that the bench uses. */
interface Boss {
  on(event: 'error', listener: (error: unknown) => void): void;
  start(): Promise<unknown>;
  stop(options: object): Promise<void>;
  createQueue(name: string, options: object): Promise<void>;
  insert(name: string, rows: readonly object[]): Promise<unknown>;
  work(
    name: string,
    options: object,
    handler: (
      jobs: readonly { readonly data: { readonly number: number; readonly subject: string } }[],
    ) => Promise<void>,
  ): Promise<unknown>;
}
