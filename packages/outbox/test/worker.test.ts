/** Workers: each event is delivered at least once, by one worker at a time, and in the order of its subject. */
import { type EntityManager, LockMode, type MikroORM } from '@mikro-orm/core';
import type { EntityManager as SqlEntityManager } from '@mikro-orm/postgresql';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import {
  forEachDatabase,
  openMongo,
  openPostgreSql,
  openSqlite,
  skipMongo,
  skipPostgreSql,
} from '../../core/test/support/databases.ts';
import { Book, LIBRARY, testApp } from '../../core/test/support/library.ts';
import {
  emit,
  type EventHandler,
  type HandledEvent,
  OutboxEvent,
  startOutbox,
  type WorkerOptions,
} from '../src/index.ts';
import { withLane } from '../src/lanes.ts';
import { resolveWorkerOptions } from '../src/worker/options.ts';
import { RELEASE_MS } from '../src/worker/worker.ts';
import { until } from './support/until.ts';
import { withOutbox } from './support/with-outbox.ts';

const silent = { warn: () => {}, error: () => {} };
const entities = [...LIBRARY, OutboxEvent];

/** A database of SQLite that two processes can open. */
async function openFile(t: Test): Promise<SqliteORM> {
  const dbName = join(t.testdir(), 'killed.sqlite');
  const orm = await SqliteORM.init({ dbName, entities: [...entities] });
  t.teardown(() => orm.close(true));
  await orm.schema.create();
  return orm;
}

/** Has each look at the database fail for which `isBroken` says so. */
function breakForks(t: Test, { em }: MikroORM, isBroken: () => boolean): void {
  const fork = em.fork.bind(em);
  em.fork = (options) => {
    if (isBroken()) throw new Error('the database is down');
    return fork(options);
  };
  t.teardown(() => Reflect.deleteProperty(em, 'fork'));
}

/** Calls a function with each fork of an entity manager, and with their forks. It may replace their methods. */
function changeForks(t: Test, { em }: MikroORM, change: (fork: EntityManager) => void): void {
  const wrap = (each: EntityManager): void => {
    const fork = each.fork.bind(each);
    each.fork = (options) => {
      const made = fork(options);
      change(made);
      wrap(made);
      return made;
    };
  };
  wrap(em);
  t.teardown(() => Reflect.deleteProperty(em, 'fork'));
}

/** Makes each query of further forks wait for ever, as on a connection that nobody answers. */
function hangForks(t: Test, orm: MikroORM): void {
  const hang = (): Promise<never> => new Promise(() => {});
  changeForks(t, orm, (fork) => {
    Object.assign(fork, { find: hang, nativeUpdate: hang, nativeDelete: hang, transactional: hang });
  });
}

forEachDatabase(t, { entities, orm: { pool: { max: 8 } } }, async (t, orm, database) => {
  const em = () => orm.em.fork();
  const work = (t: Test, options: Partial<WorkerOptions>) => {
    const worker = startOutbox(orm, { handlers: {}, log: silent, pollMs: 50, ...options });
    t.teardown(() => worker.stop());
    return worker;
  };
  const statuses = async () => (await em().findAll(OutboxEvent, { orderBy: { id: 1 } })).map(({ status }) => status);

  t.test('events go to all handlers of their type, and wake the worker of the process', async (t) => {
    await orm.schema.clear();
    const got: string[] = [];
    class BookViewSet extends ModelViewSet(Book, {
      read: readShape(Book, ['id', 'title']),
      write: writeShape(Book, ['title']),
      emits: ['created'],
    }) {}
    const app = await testApp(t, orm, [new Router().register('books', BookViewSet)], {
      before: withOutbox({
        pollMs: 600_000,
        handlers: {
          'book.created': ({ payload }) => got.push(`one ${(payload as { title: string }).title}`),
          'book.*': ({ type, attempt }) => got.push(`all of books ${type} ${attempt}`),
          '*': ({ subject }) => got.push(`all ${subject === null}`),
          book: () => got.push('never'),
        },
      }),
    });
    await until(async () => (await em().count(OutboxEvent)) === 0);
    await sleep(50);
    t.equal((await app.inject({ method: 'POST', url: '/books', payload: { title: 'Ash' } })).statusCode, 201);
    await until(() => got.length === 3);
    t.strictSame(got, ['one Ash', 'all of books book.created 1', 'all false']);
    await until(async () => (await statuses())[0] === 'delivered');
    const [event] = await em().findAll(OutboxEvent);
    t.match(event, { lease: null, attempts: 1, delivered_at: Date });
  });

  t.test('a failing event is tried again after a growing time, then it is a dead letter', async (t) => {
    await orm.schema.clear();
    const attempts: [number, number][] = [];
    await emit({ em: em() }, 'bad', { a: 1 });
    work(t, {
      maxAttempts: 4,
      backoffMs: 100,
      pollMs: 600_000,
      handlers: {
        bad: ({ attempt }) => {
          attempts.push([attempt, Date.now()]);
          throw new Error('does not work\0');
        },
      },
    });
    await until(async () => (await statuses())[0] === 'dead');
    t.strictSame(
      attempts.map(([attempt]) => attempt),
      [1, 2, 3, 4],
    );
    for (const [index, least] of [50, 100, 200].entries()) {
      const waited = attempts[index + 1]![1] - attempts[index]![1];
      t.ok(waited >= least - 2, `waited ${waited} ms, at least ${least}`);
    }
    const [event] = await em().findAll(OutboxEvent);
    t.match(event, { lease: null, attempts: 4, last_error: 'does not work', delivered_at: null });
  });

  t.test('a handler that leaves a change unflushed has not handled its event', async (t) => {
    await orm.schema.clear();
    await emit({ em: em() }, 'lost', {});
    await emit({ em: em() }, 'stored', {});
    work(t, {
      maxAttempts: 2,
      backoffMs: 5,
      handlers: {
        lost: (_event, context) => void context.em.create(Book, { title: 'lost' }),
        stored: async (_event, context) => {
          context.em.create(Book, { title: 'stored' });
          await context.em.flush();
        },
      },
    });
    await until(async () => (await statuses()).every((status) => status !== 'waiting'));
    const events = await em().findAll(OutboxEvent, { orderBy: { id: 1 } });
    t.match(
      events.map(({ type, status, last_error }) => [type, status, last_error]),
      [
        ['lost', 'dead', /^The handler of "lost" has changed Book, but the change is not stored/],
        ['stored', 'delivered', null],
      ],
    );
    t.strictSame(
      (await em().find(Book, {})).map(({ title }) => title),
      ['stored'],
    );
  });

  t.test('every retry is scheduled before the next poll', async (t) => {
    await orm.schema.clear();
    for (let each = 0; each < 20; each++) await emit({ em: em() }, 'bad', {}, { subject: `S/${each}` });
    const bad = () => {
      throw new Error('again');
    };
    work(t, { maxAttempts: 5, backoffMs: 10, pollMs: 600_000, handlers: { bad } });
    await until(async () => (await statuses()).every((status) => status === 'dead'));
    t.pass('all were tried in time');
  });

  t.test('several workers deliver each event once, never concurrently, and each subject in order', async (t) => {
    await orm.schema.clear();
    const running = new Set<string>();
    const perSubject = new Map<string, number[]>();
    const deliveries = new Map<string, number>();
    const faults: string[] = [];
    const handle = async ({ id, subject, payload }: HandledEvent) => {
      const name = subject ?? id;
      if (running.has(name)) faults.push(`${name} twice at a time`);
      running.add(name);
      await sleep(Math.random() * 5);
      deliveries.set(id, (deliveries.get(id) ?? 0) + 1);
      const { number } = payload as { number: number };
      // Some fail the first time, and hold up those behind them.
      if (number % 17 === 0 && deliveries.get(id) === 1) {
        running.delete(name);
        throw new Error('once');
      }
      perSubject.set(name, [...(perSubject.get(name) ?? []), number]);
      running.delete(name);
    };
    for (let number = 0; number < 120; number++) {
      await emit({ em: em() }, 'many', { number }, number % 4 === 0 ? {} : { subject: `S/${number % 7}` });
    }
    for (let each = 0; each < 4; each++) work(t, { concurrency: 3, backoffMs: 40, handlers: { '*': handle } });
    await until(async () => (await statuses()).every((status) => status === 'delivered'));
    t.strictSame(faults, []);
    t.equal(deliveries.size, 120);
    for (const [subject, numbers] of perSubject) {
      t.strictSame(
        numbers,
        numbers.toSorted((a, b) => a - b),
        subject,
      );
    }
    t.ok([...deliveries.values()].every((count) => count <= 2));
  });

  t.test('an event waits for the one before it, however many others wait', async (t) => {
    await orm.schema.clear();
    const now = new Date();
    const later = new Date(now.getTime() + 600_000);
    const row = { type: 'x', payload: {}, created_at: now, attempts: 0, status: 'waiting' } as const;
    const held = Array.from({ length: 2100 }, (_, place) => ({ id: `a${1000 + place}`, ...row, subject: 'A' }));
    await em().insertMany(OutboxEvent, [
      ...held.map((event) => ({ ...event, due_at: later })),
      { id: 'b1', ...row, subject: 'B', due_at: later },
      { id: 'c1', ...row, subject: 'A', due_at: now },
      { id: 'c2', ...row, subject: 'B', due_at: now },
      { id: 'c3', ...row, subject: 'C', due_at: now },
    ]);
    const got: string[] = [];
    work(t, { handlers: { x: ({ id }) => got.push(id) } });
    await until(() => got.length > 0);
    await em().insertMany(OutboxEvent, [{ id: 'd1', ...row, subject: 'D', due_at: now }]);
    await until(() => got.length > 1);
    t.strictSame(got, ['c3', 'd1']);
    t.equal(await em().count(OutboxEvent, { status: 'waiting', attempts: 0, lease: null }), 2103);
  });

  const rowsOf = (subject: string, count: number, type: string) => {
    const now = new Date(Date.now() - 60_000);
    const row = { type, subject, payload: {}, created_at: now, due_at: now, attempts: 0, status: 'waiting' } as const;
    return Array.from({ length: count }, (_, place) => ({ id: `${subject}${10_000 + place}`, ...row }));
  };

  t.test(
    'a backlog of one subject leaves the places to others, while it is delivered and while it fails',
    async (t) => {
      for (const isFailing of [false, true]) {
        await orm.schema.clear();
        await em().insertMany(OutboxEvent, rowsOf('hot', 2000, 'hot'));
        const others: string[] = [];
        const hot: string[] = [];
        const allOthers = Promise.withResolvers<void>();
        const worker = work(t, {
          concurrency: 2,
          pollMs: 600_000,
          backoffMs: isFailing ? 600_000 : 1000,
          handlers: {
            hot: async ({ id }) => {
              hot.push(id);
              if (isFailing) throw new Error('the consumer is down');
              await allOthers.promise;
            },
            other: ({ subject }) => {
              if (others.push(subject!) === 20) allOthers.resolve();
            },
          },
        });
        await until(() => hot.length === 1);
        for (let each = 0; each < 20; each++) await emit({ em: em() }, 'other', {}, { subject: `S/${each}` });
        await allOthers.promise;
        t.strictSame(hot, ['hot10000'], 'the backlog still has its first event');
        if (!isFailing) await until(async () => (await em().count(OutboxEvent, { status: 'waiting' })) === 0);
        if (!isFailing) {
          t.strictSame(
            hot,
            rowsOf('hot', 2000, '').map(({ id }) => id),
          );
        }
        await worker.stop();
      }
    },
  );

  t.test('more subjects with backlogs than places take turns, and others have theirs', async (t) => {
    await orm.schema.clear();
    const names = Array.from({ length: 6 }, (_, place) => `hot${place}`);
    for (const name of names) await em().insertMany(OutboxEvent, rowsOf(name, 150, 'hot'));
    const served = new Set<string>();
    let count = 0;
    let others = 0;
    work(t, {
      concurrency: 3,
      pollMs: 600_000,
      handlers: {
        hot: async ({ subject }) => {
          served.add(subject!);
          await sleep(10);
          count++;
        },
        other: () => others++,
      },
    });
    await until(() => served.size > 0);
    for (let each = 0; each < 20; each++) await emit({ em: em() }, 'other', {}, { subject: `S/${each}` });
    await until(() => others === 20 && served.size === 6);
    t.ok(count < 6 * 150, `all had a turn after ${count} events of the backlogs`);
    await until(async () => (await em().count(OutboxEvent, { status: 'waiting' })) === 0);
    t.equal(count, 6 * 150);
  });

  t.test('a worker polls again soon if another worker has locked the events', async (t) => {
    // Only PostgreSQL lets a worker pass by what another one has locked.
    if (database !== 'postgresql') return;
    await orm.schema.clear();
    const [id] = [await emit({ em: em() }, 'x', {})];
    const other = em();
    await other.begin();
    await other.find(OutboxEvent, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    const looked = Promise.withResolvers<void>();
    orm.em.getEventManager().registerSubscriber({
      getSubscribedEntities: () => [OutboxEvent],
      afterTransactionCommit: () => looked.resolve(),
    });
    const got: string[] = [];
    work(t, { pollMs: 600_000, handlers: { x: (event) => got.push(event.id) } });
    await looked.promise;
    await other.rollback();
    await until(() => got.length === 1);
    t.strictSame(got, [id]);
  });

  t.test('a handler that takes longer than the lease keeps it', async (t) => {
    await orm.schema.clear();
    let count = 0;
    const handlers = {
      slow: async () => {
        count++;
        await sleep(3500);
      },
    };
    await emit({ em: em() }, 'slow', {});
    for (let each = 0; each < 2; each++) work(t, { leaseMs: 1500, handlers });
    await until(async () => (await statuses())[0] === 'delivered');
    t.equal(count, 1);
  });

  t.test('a handler that outlives its limit gives its place back, and has failed', async (t) => {
    await orm.schema.clear();
    const got: unknown[] = [];
    for (let each = 0; each < 10; each++) await emit({ em: em() }, 'stuck', {}, { subject: `S/${each}` });
    work(t, {
      handlerTimeoutMs: 100,
      maxAttempts: 2,
      backoffMs: 10,
      handlers: {
        stuck: (_event, { signal }) => {
          signal.addEventListener('abort', () => got.push((signal.reason as Error).message));
          return new Promise(() => {});
        },
        other: ({ type }) => got.push(type),
      },
    });
    await until(async () => (await em().count(OutboxEvent, { lease: { $ne: null } })) === 10);
    await emit({ em: em() }, 'other', {}, { subject: 'S/other' });
    await until(async () => (await em().count(OutboxEvent, { status: 'waiting' })) === 0);
    t.equal(got.filter((each) => each === 'the handler did not end within 100 ms').length, 20);
    t.equal(got.filter((each) => each === 'other').length, 1);
    t.equal(await em().count(OutboxEvent, { status: 'dead', attempts: 2 }), 10);
  });

  t.test('a handler that outlives its limit at its last attempt leaves a new signal to the next event', async (t) => {
    await orm.schema.clear();
    const aborted: [string, boolean][] = [];
    for (const type of ['stuck', 'next']) await emit({ em: em() }, type, {}, { subject: 'one' });
    const isEndless = { stuck: new Promise(() => {}) };
    work(t, {
      handlerTimeoutMs: 100,
      maxAttempts: 1,
      handlers: {
        '*': ({ type }, { signal }) => {
          aborted.push([type, signal.aborted]);
          return (isEndless as Record<string, unknown>)[type];
        },
      },
    });
    await until(async () => (await em().count(OutboxEvent, { status: 'waiting' })) === 0);
    t.strictSame(aborted, [
      ['stuck', false],
      ['next', false],
    ]);
    t.strictSame(await statuses(), ['dead', 'delivered']);
  });

  t.test('a worker that stops waits for its handlers, and gives the other events back', async (t) => {
    await orm.schema.clear();
    let isDone = false;
    let count = 0;
    for (let each = 0; each < 3; each++) await emit({ em: em() }, 'slow', {}, { subject: 'one' });
    const handlers = {
      slow: async () => {
        count++;
        await sleep(200);
        isDone = true;
      },
    };
    const worker = work(t, { handlers });
    await until(() => count > 0);
    await worker.stop();
    t.ok(isDone);
    t.equal(count, 1);
    t.strictSame(await statuses(), ['delivered', 'waiting', 'waiting']);
    t.equal(await em().count(OutboxEvent, { lease: null }), 3);
    const next = work(t, { handlers });
    await until(async () => (await statuses()).every((status) => status === 'delivered'));
    await next.stop();

    await emit({ em: em() }, 'stuck', {});
    let isAborted = false;
    const stuck = work(t, {
      stopTimeoutMs: 50,
      handlers: {
        stuck: (_event, { signal }) =>
          new Promise<void>((resolve) => {
            count = 100;
            signal.addEventListener('abort', () => {
              isAborted = true;
              resolve();
            });
          }),
      },
    });
    await until(() => count === 100);
    await stuck.stop();
    t.ok(isAborted);
  });

  t.test(
    'a handler that ends after the stop of its worker stores nothing, and no other handler is called',
    async (t) => {
      await orm.schema.clear();
      const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      for (const type of ['0', '1']) {
        for (let each = 0; each < 2; each++) await emit({ em: em() }, type, {}, { subject: type });
      }
      const called: string[] = [];
      const warned: string[] = [];
      const handlers = [{ '*': ({ type }: HandledEvent) => (called.push(type), ends[Number(type)]!.promise) }];
      const log = {
        warn: (_: object, message: string) => warned.push(message),
        error: (_: object, message: string) => warned.push(message),
      };
      const worker = work(t, { stopTimeoutMs: 1, log, handlers: [...handlers, { '0': () => called.push('again') }] });
      await until(() => called.length === 2);
      await worker.stop();
      t.strictSame(warned, ['handlers did not end before the stop; their events come again after their lease']);

      let forks = 0;
      breakForks(t, orm, () => ++forks < 0);
      ends[0]!.resolve();
      ends[1]!.reject(new Error('late'));
      for (let turn = 0; turn < 10; turn++) await nextTurn();
      t.equal(forks, 0);
      t.equal(called.length, 2);
      t.equal(warned.length, 1);
    },
  );

  t.test('a stop is not a failed attempt, and releases the event', async (t) => {
    await orm.schema.clear();
    await emit({ em: em() }, 'stuck', {});
    let isCalled = false;
    const worker = work(t, {
      stopTimeoutMs: 1,
      handlers: {
        stuck: (_event, { signal }) => {
          isCalled = true;
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
        },
      },
    });
    await until(() => isCalled);
    await worker.stop();
    t.match(await em().find(OutboxEvent, {}), [{ status: 'waiting', attempts: 0, lease: null, last_error: null }]);
  });

  t.test('a stop ends although the database does not respond, and aborts the signals', async (t) => {
    await orm.schema.clear();
    const warned: string[] = [];
    const log = { error: () => {}, warn: (_: object, message: string) => warned.push(message) };
    let isAborted = false;
    const called = Promise.withResolvers<void>();
    const worker = work(t, {
      pollMs: 20,
      stopTimeoutMs: 50,
      log,
      handlers: {
        stuck: (_event, { signal }) => {
          signal.addEventListener('abort', () => (isAborted = true));
          called.resolve();
          return new Promise(() => {});
        },
      },
    });
    await emit({ em: em() }, 'stuck', {});
    await called.promise;
    hangForks(t, orm);
    await sleep(100);
    await worker.stop();
    t.ok(isAborted);
    t.match(warned, [/handlers did not end/, /the database did not respond before the stop/]);
  });

  t.test('an application closes although another transaction locks the events', async (t) => {
    // Only PostgreSQL waits for the lock of a table, for as long as it takes.
    if (database !== 'postgresql') return;
    await orm.schema.clear();
    const handlers = { x: () => {} };
    const app = await testApp(t, orm, [], { before: withOutbox({ pollMs: 20, stopTimeoutMs: 50, handlers }) });
    const sql = () => em() as unknown as SqlEntityManager;
    const other = sql();
    await other.begin();
    await other.execute('lock table outbox_event in access exclusive mode');
    await until(async () => (await sql().execute('select 1 from pg_locks where not granted')).length > 0);
    await app.close();
    await other.rollback();
  });

  t.test('the time limit of a stop leaves a second of the five that a process has', async (t) => {
    const { stopTimeoutMs } = resolveWorkerOptions('test', { handlers: {} });
    t.ok(stopTimeoutMs + RELEASE_MS <= 4000);
  });

  t.test('events of an internal lane wait until a worker has its handler', async (t) => {
    await orm.schema.clear();
    const row = { payload: {}, created_at: new Date(), due_at: new Date(), attempts: 0, status: 'waiting' } as const;
    await em().insertMany(OutboxEvent, [
      { id: 'a', ...row, type: '~webhook.fan-out', lane: 'fan-out' },
      { id: 'b', ...row, type: '~webhook.delivery', lane: 'deliveries' },
      { id: 'c', ...row, type: 'c', lane: 'handlers' },
    ]);
    // An old process, from before the release with webhooks.
    const old = work(t, { pollMs: 10 });
    await until(async () => (await statuses())[2] === 'delivered');
    await emit({ em: em() }, 'd', {});
    await until(async () => (await em().count(OutboxEvent, { status: 'delivered' })) === 2);
    await old.stop();
    const waiting = await em().find(OutboxEvent, { status: 'waiting' }, { orderBy: { id: 1 } });
    t.match(waiting, [
      { id: 'a', attempts: 0, lease: null },
      { id: 'b', attempts: 0, lease: null },
    ]);
    const got: string[] = [];
    const note: EventHandler = ({ type }) => got.push(type);
    work(t, {
      handlers: {
        '~webhook.fan-out': withLane(note, 'fan-out', { concurrency: 1 }),
        '~webhook.delivery': withLane(({ type }) => got.push(type), 'deliveries', { concurrency: 1 }),
      },
    });
    await until(() => got.length === 2);
    t.strictSame(got.toSorted(), ['~webhook.delivery', '~webhook.fan-out']);
  });

  t.test('more subjects than one query may have are delivered', async (t) => {
    await orm.schema.clear();
    // SQLite refuses more than 500 parts of a query. MongoDB has a query for each subject, which takes its time.
    const total = database === 'mongodb' ? 600 : 3000;
    const rows = Array.from({ length: total }, (_, place) => ({
      ...rowsOf('S', 1, 'x')[0]!,
      id: `s${10_000 + place}`,
    }));
    await em().insertMany(
      OutboxEvent,
      rows.map((row) => ({ ...row, subject: row.id })),
    );
    let count = 0;
    const errors: unknown[] = [];
    const log = { warn: () => {}, error: (details: object) => errors.push(details) };
    work(t, { concurrency: 100, log, handlers: { x: () => count++ } });
    await until(async () => (await em().count(OutboxEvent, { status: 'waiting' })) === 0);
    t.equal(count, total);
    t.strictSame(errors, []);
  });

  t.test('a claim that fails releases what it took', async (t) => {
    await orm.schema.clear();
    for (let each = 0; each < 3; each++) await emit({ em: em() }, 'x', {}, { subject: 'one' });
    let failures = 0;
    // The query after the head was taken is the first that reads types.
    changeForks(t, orm, (fork) => {
      const find = fork.find.bind(fork) as (...given: unknown[]) => Promise<never[]>;
      fork.find = ((entity: unknown, where: unknown, options: { fields?: readonly string[] }) => {
        if (options.fields?.includes('type') !== true || failures > 0) return find(entity, where, options);
        failures++;
        return Promise.reject(new Error('the database is down'));
      }) as never;
    });
    let count = 0;
    work(t, { leaseMs: 600_000, handlers: { x: () => count++ } });
    await until(() => count === 3);
    t.equal(failures, 1);
  });

  t.test('a worker has few payloads in memory, however many events it takes', async (t) => {
    await orm.schema.clear();
    const payload = { text: 'x'.repeat(20_000) };
    for (let each = 0; each < 5; each++) {
      await em().insertMany(
        OutboxEvent,
        rowsOf(`S${each}`, 50, 'x').map((row) => ({ ...row, payload })),
      );
    }
    const read = new Set<string>();
    changeForks(t, orm, (fork) => {
      const find = fork.find.bind(fork) as (
        ...given: unknown[]
      ) => Promise<{ readonly id: string; readonly payload?: unknown }[]>;
      fork.find = (async (...given: unknown[]) => {
        const found = await find(...given);
        for (const { id, payload: known } of found) if (known !== undefined) read.add(id);
        return found;
      }) as never;
    });
    const open = Promise.withResolvers<void>();
    let running = 0;
    const worker = work(t, { concurrency: 5, handlers: { x: () => (running++, open.promise) } });
    await until(() => running === 5);
    t.ok((await em().count(OutboxEvent, { lease: { $ne: null } })) >= 100, 'many events are taken');
    t.equal(read.size, 5, 'one payload for each place');
    open.resolve();
    await until(async () => (await em().count(OutboxEvent, { status: 'delivered' })) === 250);
    await worker.stop();
  });

  t.test('a worker takes a bounded number of events', async (t) => {
    await orm.schema.clear();
    for (let each = 0; each < 60; each++) await em().insertMany(OutboxEvent, rowsOf(`S${100 + each}`, 50, 'x'));
    const open = Promise.withResolvers<void>();
    let running = 0;
    const worker = work(t, { concurrency: 60, handlers: { x: () => (running++, open.promise) } });
    await until(() => running === 60);
    const leased = await em().count(OutboxEvent, { lease: { $ne: null } });
    t.ok(leased <= 1000, `${leased} events at a time`);
    open.resolve();
    await worker.stop();
  });

  t.test('subjects that wait for a retry make no query longer without end', async (t) => {
    // The list is the same on MongoDB, where so many subjects take their time.
    if (database === 'mongodb') return;
    await orm.schema.clear();
    const rows = rowsOf('x', 1500, 'x').map((row) => ({ ...row, subject: row.id }));
    await em().insertMany(OutboxEvent, rows);
    let longest = 0;
    changeForks(t, orm, (fork) => {
      const find = fork.find.bind(fork) as (...given: unknown[]) => Promise<never[]>;
      fork.find = ((entity: unknown, where: object, options: object) => {
        const [, list = ''] = /"subject":\{"\$nin":\[([^\]]*)/.exec(JSON.stringify(where)) ?? [];
        longest = Math.max(longest, list.split(',').length);
        return find(entity, where, options);
      }) as never;
    });
    const x = () => {
      throw new Error('again');
    };
    work(t, { concurrency: 50, pollMs: 600_000, backoffMs: 600_000, handlers: { x } });
    await until(async () => (await em().count(OutboxEvent, { attempts: 1 })) === 1500);
    t.ok(longest > 100 && longest <= 1500 - 50, `${longest} subjects in a list`);
  });

  t.test('delivered events are deleted in batches', async (t) => {
    await orm.schema.clear();
    const delivered_at = new Date(Date.now() - 60_000);
    const rows = rowsOf('x', 1200, 'x').map((row) => ({ ...row, status: 'delivered' as const, delivered_at }));
    await em().insertMany(OutboxEvent, rows);
    const deleted: number[] = [];
    changeForks(t, orm, (fork) => {
      const nativeDelete = fork.nativeDelete.bind(fork) as (...given: unknown[]) => Promise<number>;
      fork.nativeDelete = (async (...given: unknown[]) => {
        const count = await nativeDelete(...given);
        deleted.push(count);
        return count;
      }) as never;
    });
    work(t, { keepDeliveredMs: 30_000 });
    await until(() => deleted.length === 3);
    t.strictSame(deleted, [500, 500, 200]);
    t.equal(await em().count(OutboxEvent), 0);
  });

  t.test('delivered events are deleted after a time; others stay', async (t) => {
    await orm.schema.clear();
    const now = new Date();
    const row = { type: 'x', payload: {}, created_at: now, due_at: new Date(now.getTime() + 600_000), attempts: 0 };
    const old = new Date(now.getTime() - 60_000);
    await em().insertMany(OutboxEvent, [
      { id: 'a', ...row, status: 'delivered', delivered_at: old },
      { id: 'b', ...row, status: 'delivered', delivered_at: now },
      { id: 'c', ...row, status: 'dead' },
      { id: 'd', ...row, status: 'waiting' },
    ]);
    work(t, { keepDeliveredMs: 30_000 });
    await until(async () => (await em().count(OutboxEvent)) === 3);
    t.strictSame(
      (await em().findAll(OutboxEvent, { orderBy: { id: 1 } })).map(({ id }) => id),
      ['b', 'c', 'd'],
    );
  });
});

for (const [database, open, skip] of [
  ['sqlite', openFile, false],
  ['postgresql', openPostgreSql, skipPostgreSql()],
  ['mongodb', openMongo, skipMongo()],
] as const) {
  t.test(
    `an event of a worker that is killed is delivered again, after its lease, on ${database}`,
    { skip },
    async (t) => {
      const orm = await open(t, { entities });
      await emit({ em: orm.em.fork() }, 'kill', {});
      const { dbName, clientUrl } = orm.config.getAll();
      const child = fork(new URL('support/killed-worker.ts', import.meta.url), [
        database,
        database === 'sqlite' ? dbName! : clientUrl!,
      ]);
      await once(child, 'message');
      child.kill('SIGKILL');
      await once(child, 'exit');
      const { due_at: leaseEnd } = await orm.em.fork().findOneOrFail(OutboxEvent, { type: 'kill' });
      const attempts: [attempt: number, at: number][] = [];
      const handlers = { kill: ({ attempt }: HandledEvent) => attempts.push([attempt, Date.now()]) };
      const worker = startOutbox(orm, { log: silent, pollMs: 50, handlers });
      await until(() => attempts.length > 0);
      await worker.stop();
      t.equal(attempts.length, 1);
      const [attempt, at] = attempts[0]!;
      t.ok(at >= leaseEnd.getTime(), 'not before the lease has ended');
      t.equal(attempt, 1, 'an attempt that nobody could note does not count');
    },
  );
}

t.test('a worker looks again soon after a look that has failed', async (t) => {
  const orm = await openSqlite(t, { entities: [OutboxEvent] });
  await emit({ em: orm.em.fork() }, 'x', {});
  let failures = 0;
  breakForks(t, orm, () => ++failures === 1);
  const got: string[] = [];
  const worker = startOutbox(orm, { log: silent, pollMs: 600_000, handlers: { x: ({ type }) => got.push(type) } });
  t.teardown(() => worker.stop());
  await until(() => got.length === 1);
  t.strictSame(got, ['x']);
});

t.test('a worker that stops does not wait for ever for a handler that has lost its lease', async (t) => {
  const orm = await openSqlite(t, { entities: [OutboxEvent] });
  await emit({ em: orm.em.fork() }, 'stuck', {});
  let isBroken = false;
  breakForks(t, orm, () => isBroken);
  const lost = Promise.withResolvers<void>();
  const worker = startOutbox(orm, {
    log: silent,
    leaseMs: 300,
    stopTimeoutMs: 50,
    handlers: {
      stuck: (_event, { signal }) => {
        isBroken = true;
        signal.addEventListener('abort', () => lost.resolve());
        return new Promise(() => {});
      },
    },
  });
  await lost.promise;
  isBroken = false;
  let isStopped = false;
  void worker.stop().then(() => (isStopped = true));
  await until(() => isStopped);
});

t.test('invalid options fail at start', async (t) => {
  const orm = await openSqlite(t, { entities: [OutboxEvent] });
  const other = await openSqlite(t, { entities: LIBRARY });
  t.throws(() => startOutbox(other, { handlers: {} }), /startOutbox\(\): the ORM needs the entity OutboxEvent/);
  const without = await openSqlite(t, { entities: [OutboxEvent], orm: { disableTransactions: true } });
  t.throws(
    () => startOutbox(without, { handlers: {} }),
    /startOutbox\(\) needs a transaction, but the ORM has none \(disableTransactions\)/,
  );
  for (const [options, message] of [
    [{ handlers: {}, poll: 3 }, /unknown option "poll"/],
    [{ handlers: {}, pollMs: '3' }, /"pollMs" must be a whole number above 0, got "3"/],
    [{ handlers: { 'a b': () => {} } }, /"handlers" must be functions by types.*got "a b"/],
    [{ handlers: [{}, { 'a.**': () => {} }] }, /"handlers" must be functions by types.*got "a.\*\*"/],
    [{ handlers: { a: 7 } }, /"handlers.a" must be a function/],
    [{}, /"handlers" must be functions by types/],
  ] as const) {
    t.throws(() => startOutbox(orm, options as never), message);
  }
  await t.rejects(testApp(t, orm, [], { before: withOutbox({ pollMs: 3 }) }), /"pollMs" needs the option "handlers"/);
  await t.rejects(
    testApp(t, orm, [], { before: withOutbox({ handler: {} } as object) }),
    /"handler"; did you mean "handlers"/,
  );
  await t.rejects(emit({ em: other.em.fork() }, 'a.b', {}), /emit\(\): the ORM needs the entity OutboxEvent/);
  await t.rejects(testApp(t, other, [], { before: withOutbox() }), /outbox: the ORM needs/);
});
