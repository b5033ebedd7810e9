/** Waiting for a lock, of which MongoDB has none: whoever wants a record that another transaction has written tries again. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import { MikroORM as MongoORM } from '@mikro-orm/mongodb';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { action, ModelViewSet, QuerySet, readShape, Router, writeShape } from '@viewset/core';
import { MongoExtension } from '../src/index.ts';
import type { MongoDriver } from '../src/mikro/mongo-driver.ts';
import { inLine } from '../src/mikro/line.ts';
import { inWriteSlot } from '../src/mikro/write-slots.ts';
import { openMongo, skipMongo } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';

const Counter = defineEntity({
  name: 'Counter',
  properties: { id: p.integer().primary(), value: p.integer().default(0) },
});

class Counters extends ModelViewSet(Counter, { read: readShape(Counter, ['id', 'value']) }) {
  add = action({ detail: true, methods: ['post'] }, async (request) => {
    const counter = await this.getObject(request);
    await sleep(5);
    counter.value += 1;
    return { value: counter.value };
  });
}

interface CommandEvent {
  readonly requestId: number;
  readonly commandName: string;
  readonly command?: { readonly updates?: readonly { readonly u: object; readonly q: object }[] };
}

/** The part of the connection that is used, whose driver is a dependency of @mikro-orm/mongodb alone. */
interface Connection {
  getClient(): { on(event: string, listener: (event: CommandEvent) => void): void };
}

t.test(
  'of many writers of one record, one tries at a time, and writers of others are not blocked',
  { skip: skipMongo() },
  async (t) => {
    const orm = await openMongo(t, { entities: [Counter], orm: { driverOptions: { monitorCommands: true } } });
    const em = orm.em.fork();
    await em.insertMany(Counter, [{ id: 1 }, { id: 2 }]);
    const app = await testApp(t, orm, [new Router().register('counters', Counters)]);
    const trying = new Map<number, string>();
    const most = new Map<string, number>();
    const client = (orm.em.getConnection() as unknown as Connection).getClient();
    client.on('commandStarted', ({ requestId, command }) => {
      const [update] = command?.updates ?? [];
      if (JSON.stringify(update?.u) !== '{"$inc":{"_lock":1}}') return;
      const record = JSON.stringify(update!.q);
      trying.set(requestId, record);
      const now = [...trying.values()].filter((each) => each === record).length;
      most.set(record, Math.max(most.get(record) ?? 0, now));
    });
    for (const end of ['commandSucceeded', 'commandFailed']) {
      client.on(end, ({ requestId }) => trying.delete(requestId));
    }

    const adding = Array.from({ length: 30 }, (_, index) =>
      app.inject({ method: 'POST', url: `/counters/${1 + (index % 2)}/add` }),
    );
    const answers = await Promise.all(adding);
    t.strictSame(new Set(answers.map(({ statusCode }) => statusCode)), new Set([200]));
    const counters = await orm.em.fork().find(Counter, {}, { orderBy: { id: 1 } });
    t.strictSame(
      counters.map(({ value }) => value),
      [15, 15],
    );
    t.equal(most.size, 2);
    t.strictSame([...most.values()], [1, 1]);
  },
);

t.test(
  'requests that wait for a record that is never released return 409 together',
  { skip: skipMongo() },
  async (t) => {
    const orm = await openMongo(t, { entities: [Counter] });
    await orm.em.fork().insert(Counter, { id: 1 });
    const app = await testApp(t, orm, [new Router().register('counters', Counters)]);
    const holder = orm.em.fork();
    await holder.begin();
    await QuerySet.of(holder, Counter).filter({ id: 1 }).entity({ lock: true });
    const add = () => app.inject({ method: 'POST', url: '/counters/1/add' });
    const answers = await Promise.all(Array.from({ length: 8 }, add));
    t.strictSame(new Set(answers.map(({ statusCode }) => statusCode)), new Set([409]));
    t.strictSame(new Set(answers.map(({ headers }) => headers['retry-after'])), new Set(['1']));
    await holder.commit();
    const added = await add();
    t.strictSame([added.statusCode, added.json()], [200, { value: 1 }]);
  },
);

t.test(
  'waiting requests time out together if nobody gets the lock, and the time starts again when somebody does',
  async (t) => {
    const driver = {} as MongoDriver;
    const deadlines: number[] = [];
    const held = Promise.withResolvers<void>();
    const failing = async (deadline: number) => {
      deadlines.push(deadline);
      await held.promise;
      throw new Error('not got');
    };
    const waiting = [1, 2, 3].map(() => inLine(driver, 'stuck', failing));
    const all = performance.now();
    await sleep(5);
    held.resolve();
    for (const each of waiting) await t.rejects(each, { message: 'not got' });
    t.strictSame(
      deadlines.map((deadline) => deadline <= all + 5000),
      [true, true, true],
    );

    const later: number[] = [];
    const got = Promise.withResolvers<void>();
    const locking = async (deadline: number) => {
      later.push(deadline);
      await got.promise;
    };
    const moving = [1, 2, 3].map(() => inLine(driver, 'moving', locking));
    await sleep(5);
    const begun = performance.now();
    got.resolve();
    await Promise.all(moving);
    t.strictSame(
      later.map((deadline) => deadline >= begun + 5000),
      [false, true, true],
    );
  },
);

class WritableCounters extends ModelViewSet(Counter, {
  read: readShape(Counter, ['id', 'value']),
  write: writeShape(Counter, ['value']),
}) {}

t.test(
  'one-command writes that wait for a record leave the current writer enough connections',
  { skip: skipMongo() },
  async (t) => {
    const orm = await openMongo(t, { entities: [Counter], orm: { pool: { max: 2 } } });
    const em = orm.em.fork();
    await em.insertMany(Counter, [{ id: 1 }, { id: 2 }]);
    let coming = 0;
    const app = await testApp(t, orm, [new Router().register('counters', WritableCounters)], {
      options: { handlerTimeoutMs: 10_000 },
      before: (app) => void app.addHook('preHandler', async () => void (coming += 1)),
    });
    for (const [method, statuses] of [
      ['PATCH', [200, 200, 200, 200]],
      ['DELETE', [204, 404, 404, 404]],
    ] as const) {
      coming = 0;
      await em.begin();
      await em.nativeUpdate(Counter, { id: 1 }, { value: 5 });
      const payload = method === 'PATCH' ? { payload: { value: 7 } } : {};
      const writing = statuses.map(() => app.inject({ method, url: '/counters/1', ...payload }));
      while (coming < writing.length) await sleep(10);
      await sleep(30);
      await em.nativeUpdate(Counter, { id: 2 }, { value: 6 });
      await em.commit();
      const answers = await Promise.all(writing);
      t.strictSame(
        answers.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b),
        statuses,
      );
    }
    t.match(await orm.em.fork().find(Counter, {}), [{ id: 2, value: 6 }]);
  },
);

/** Counts the commands of a name that are at the server. */
function counting(orm: MikroORM, name: string): { readonly most: number; readonly now: number } {
  const running = new Set<number>();
  let most = 0;
  const client = (orm.em.getConnection() as unknown as Connection).getClient();
  client.on('commandStarted', ({ requestId, commandName }) => {
    if (commandName === name) most = Math.max(most, running.add(requestId).size);
  });
  for (const end of ['commandSucceeded', 'commandFailed']) {
    client.on(end, ({ requestId }) => running.delete(requestId));
  }
  return {
    get most() {
      return most;
    },
    get now() {
      return running.size;
    },
  };
}

/** Options by which the client tells of its commands. */
const TELLING = { driverOptions: { monitorCommands: true } };

t.test(
  'a bulk write makes progress while one-command writes wait for all its records',
  { skip: skipMongo() },
  async (t) => {
    const orm = await openMongo(t, { entities: [Counter], orm: { pool: { max: 4 }, ...TELLING } });
    const ids = [1, 2, 3, 4, 5, 6, 7, 8];
    await orm.em.fork().insertMany(
      Counter,
      ids.map((id) => ({ id })),
    );
    const locked = Promise.withResolvers<void>();
    const others = Promise.withResolvers<void>();
    class TogetherWritten extends ModelViewSet(Counter, {
      read: readShape(Counter, ['id', 'value']),
      write: writeShape(Counter, ['value']),
      bulk: 10,
    }) {
      override async performUpdate(...given: Parameters<WritableCounters['performUpdate']>) {
        locked.resolve();
        await others.promise;
        return super.performUpdate(...given);
      }
    }
    const routers = [
      new Router().register('together', TogetherWritten),
      new Router().register('counters', WritableCounters),
    ];
    const app = await testApp(t, orm, routers, { options: { handlerTimeoutMs: 10_000 } });
    // Another process, as far as MongoDB and the pool can tell.
    const other = await MongoORM.init({
      clientUrl: orm.config.get('clientUrl'),
      extensions: [MongoExtension],
      entities: [Counter],
    });
    t.teardown(() => other.close(true));
    const apart = await testApp(t, other, [new Router().register('counters', WritableCounters)]);

    const waiting = counting(orm, 'findAndModify');
    const payload = ids.map((id) => ({ id, value: 5 }));
    const bulk = app.inject({ method: 'PATCH', url: '/together', payload });
    await locked.promise;
    const writing = ids.flatMap((id) =>
      [app, apart].map((each) => each.inject({ method: 'PATCH', url: `/counters/${id}`, payload: { value: 7 } })),
    );
    while (waiting.now < 2) await sleep(10);
    await sleep(30);
    others.resolve();
    const answer = await bulk;
    t.equal(answer.statusCode, 200, answer.body);
    const answers = await Promise.all(writing);
    t.strictSame(new Set(answers.map(({ statusCode }) => statusCode)), new Set([200]));
    t.equal(waiting.most, 2, 'half of the connections are for those who wait');
    t.strictSame(new Set((await orm.em.fork().find(Counter, {})).map(({ value }) => value)), new Set([7]));
  },
);

const Named = defineEntity({
  name: 'Named',
  properties: { id: p.integer().primary(), name: p.string().unique() },
});

class NamedOnes extends ModelViewSet(Named, {
  read: readShape(Named, ['id', 'name']),
  write: writeShape(Named, ['name']),
}) {}

t.test(
  'new records with a value that a transaction takes leave it the connections to go on',
  { skip: skipMongo() },
  async (t) => {
    const orm = await openMongo(t, { entities: [Named], orm: { pool: { max: 2 }, ...TELLING } });
    const app = await testApp(t, orm, [new Router().register('named', NamedOnes)], {
      options: { handlerTimeoutMs: 10_000 },
    });
    const em = orm.em.fork();
    await em.begin();
    await em.insert(Named, { id: 100, name: 'taken' });
    const waiting = counting(orm, 'insert');
    const creating = [1, 2, 3, 4].map(() => app.inject({ method: 'POST', url: '/named', payload: { name: 'taken' } }));
    while (waiting.now < 1) await sleep(10);
    await sleep(30);
    // Below 100: those who wait are given the keys above it.
    await em.insert(Named, { id: 99, name: 'another' });
    await em.commit();
    const answers = await Promise.all(creating);
    t.strictSame(new Set(answers.map(({ statusCode }) => statusCode)), new Set([409]));
    t.match(await orm.em.fork().find(Named, {}, { orderBy: { id: 1 } }), [{ id: 99 }, { id: 100 }]);
  },
);

t.test(
  'one-command writes of one record wait in one queue, separate from that of locks',
  { skip: skipMongo() },
  async (t) => {
    const orm = await openMongo(t, { entities: [Counter], orm: TELLING });
    await orm.em.fork().insert(Counter, { id: 1 });
    class Writable extends ModelViewSet(Counter, {
      read: readShape(Counter, ['id', 'value']),
      write: writeShape(Counter, ['value']),
    }) {}
    const app = await testApp(t, orm, [
      new Router().register('counters', Counters),
      new Router().register('writable', Writable),
    ]);
    const holder = orm.em.fork();
    await holder.begin();
    await QuerySet.of(holder, Counter).filter({ id: 1 }).entity({ lock: true });
    const waiting = counting(orm, 'findAndModify');
    const write = (value: number) => app.inject({ method: 'PATCH', url: '/writable/1', payload: { value } });
    const first = write(7);
    while (waiting.now < 1) await sleep(10);
    const second = write(8);
    const locking = await app.inject({ method: 'POST', url: '/counters/1/add' });
    t.equal(locking.statusCode, 409, 'those who write are no longer in line than it is');
    await holder.commit();
    t.strictSame([(await first).statusCode, (await second).statusCode], [200, 200]);
    t.match(await orm.em.fork().findOneOrFail(Counter, 1), { value: 8 }, 'in the order of their arrival');
    t.equal(waiting.most, 1);
  },
);

t.test('waiting requests do not try an unreachable server one after the other', async (t) => {
  const driver = {} as MongoDriver;
  const tried: string[] = [];
  const gone = Promise.withResolvers<never>();
  const failing = (name: string, problem: Promise<never>) => () => {
    tried.push(name);
    return problem;
  };
  const first = inLine(driver, 'one', failing('first', gone.promise));
  const second = inLine(driver, 'one', failing('second', gone.promise));
  const third = inLine(driver, 'one', failing('third', gone.promise));
  const lost = Object.assign(new Error('gone'), { name: 'MongoNetworkTimeoutError' });
  gone.reject(lost);
  for (const waiting of [first, second, third]) await t.rejects(waiting, lost);
  t.strictSame(tried, ['first']);
  await t.resolves(
    inLine(driver, 'one', async () => {}),
    'the next one tries',
  );
  const other = inLine(driver, 'one', () => Promise.reject(new Error('of its own')));
  const behind = inLine(driver, 'one', async () => 'locked');
  await t.rejects(other, { message: 'of its own' });
  t.equal(await behind, 'locked', 'any other error is that of one');
});

t.test(
  'requests that wait for a connection fail with the server, and not because another one took too long',
  async (t) => {
    const client = { options: { maxPoolSize: 2 } };
    const driver = { getConnection: () => ({ getClient: () => client }) } as unknown as MongoDriver;
    const tried: string[] = [];
    const writing = (name: string, outcome: Promise<unknown>) =>
      inWriteSlot(driver, () => {
        tried.push(name);
        return outcome;
      });
    const name = 'MongoOperationTimeoutError';
    const slow = Promise.withResolvers<never>();
    const gone = Promise.withResolvers<never>();
    const first = writing('first', slow.promise);
    const second = writing('second', gone.promise);
    const third = writing('third', Promise.resolve());
    const fourth = writing('fourth', Promise.resolve());
    const late = Object.assign(new Error('late', { cause: { code: 50 } }), { name });
    slow.reject(late);
    await t.rejects(first, late);
    t.strictSame(tried, ['first', 'second']);
    const lost = Object.assign(new Error('gone'), { name });
    gone.reject(lost);
    for (const waiting of [second, third, fourth]) await t.rejects(waiting, lost);
    t.strictSame(tried, ['first', 'second']);
    await t.resolves(writing('next', Promise.resolve()));
  },
);
