/** Transactions that the database ends for the sake of others: deadlocks, serialization failures, write conflicts. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import {
  action,
  afterCommit,
  file,
  type FileStore,
  FileType,
  inTransaction,
  isTransactionLost,
  ModelViewSet,
  readShape,
  retryLost,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Shelf = defineEntity({
  name: 'Shelf',
  properties: {
    id: p.integer().primary(),
    label: p.string().length(20),
    items: () => p.oneToMany(Item).mappedBy('shelf'),
  },
});
const Item = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20),
    count: p.integer().default(0),
    paper: p.type(FileType).nullable(),
    shelf: () => p.manyToOne(Shelf).nullable(),
  },
});

const files = new Map<string, Buffer>();
const store: FileStore = {
  put: async (key, content) => void files.set(key, await buffer(content)),
  get: async () => {
    throw new Error('nobody reads it');
  },
  delete: async (key) => void files.delete(key),
};

const read = readShape(Item, ['id', 'name', 'count']);
const write = writeShape(Item, ['name', 'count']);

forEachDatabase(t, { entities: [Shelf, Item] }, async (t, orm, database) => {
  const hasSavepoints = database !== 'mongodb';
  /** How often the next units of work are lost, and how often they ran. */
  let losses = 0;
  let runs = 0;
  const done: string[] = [];
  const lost = () => Object.assign(new Error('lost'), { code: database === 'mongodb' ? 112 : '40001' });
  const lose = () => {
    runs += 1;
    if (losses-- > 0) throw lost();
  };

  class ItemViewSet extends ModelViewSet(Item, { read, write, bulk: { create: 5, update: 5, destroy: 5 } }) {
    override async performCreate(request: FastifyRequest, data: object) {
      const run = runs + 1;
      await afterCommit(request, () => done.push(`run ${run}`));
      const item = await super.performCreate(request, data as never);
      lose();
      return item;
    }
    override async performUpdate(request: FastifyRequest, item: object, data: object) {
      const changed = await super.performUpdate(request, item as never, data);
      lose();
      return changed;
    }
    override async performDestroy(request: FastifyRequest, item: object) {
      await super.performDestroy(request, item as never);
      lose();
    }

    /** POST /items/101/add: of a record, so it has a transaction. */
    add = action({ methods: ['post'], detail: true }, async (request, reply) => {
      const item = await this.getObject(request);
      item.count += 1;
      await request.em.flush();
      if (losses > 0) void reply.code(202).header('x-attempt', 'lost').header('set-cookie', 'lost=1');
      // A new entity of a lost attempt is not stored by the next one.
      request.em.create(Item, { name: `of ${runs}` } as never);
      lose();
      return { count: item.count };
    });

    /** POST /items/wrapped: the error is a cause of another one. */
    wrapped = action({ methods: ['post'], transaction: true }, async () => {
      try {
        lose();
      } catch (cause) {
        throw new Error('the mail was not sent', { cause });
      }
      return {};
    });

    /** POST /items/bare: has no transaction. */
    bare = action({ methods: ['post'], transaction: false }, async () => {
      lose();
      return {};
    });

    /** POST /items/own: in a transaction of the application. */
    own = action({ methods: ['post'], transaction: false }, (request) =>
      request.em.transactional(async () => {
        if (hasSavepoints) await inTransaction(request, async () => lose());
        else lose();
        return {};
      }),
    );

    /** POST /items/sent: sends its response itself. */
    sent = action({ methods: ['post'], transaction: true }, async (_request, reply: FastifyReply) => {
      void reply.code(200).send({ sent: true });
      lose();
      return reply;
    });
  }

  class PaperViewSet extends ModelViewSet(Item, {
    read,
    write: writeShape(Item, ['name'], { paper: file({ store, maxBytes: 100, types: ['text/plain'] }) }),
  }) {
    override async performCreate(request: FastifyRequest, data: object) {
      const item = await super.performCreate(request, data as never);
      lose();
      return item;
    }
  }

  const start = async (t: Test, logs: unknown[] = []): Promise<FastifyInstance> => {
    await orm.schema.clear();
    await orm.em.fork().insertMany(Item, [
      { id: 101, name: 'One' },
      { id: 102, name: 'Two' },
    ] as never);
    [losses, runs] = [2, 0];
    done.length = 0;
    files.clear();
    return testApp(t, orm, [new Router().register('items', ItemViewSet).register('papers', PaperViewSet)], {
      before: (app) => {
        app.addContentTypeParser('application/x-lines', (_request, payload, done) => done(null, payload));
        app.post('/lines', (request) =>
          inTransaction(request, async () => {
            const sent = await text(request.body as Readable);
            lose();
            return { sent };
          }),
        );
        app.addHook('onRequest', async (request) => {
          request.log.warn = (...line: unknown[]) => logs.push(line);
        });
      },
    });
  };
  const names = async () => (await orm.em.fork().findAll(Item, { orderBy: { id: 1 } })).map(({ name }) => name);
  const count = async (id: number) => (await orm.em.fork().findOneOrFail(Item, { id })).count;

  t.test('are repeated: create, update, destroy, and each of them in bulk', async (t) => {
    const app = await start(t);
    const repeats = async (options: object, status: number, each = 1) => {
      [losses, runs] = [2, 0];
      const response = await app.inject(options);
      t.equal(response.statusCode, status, response.body);
      t.equal(runs, 2 + each);
    };
    await repeats({ method: 'POST', url: '/items', payload: { name: 'Three' } }, 201);
    t.strictSame(done, ['run 3'], 'work after the commit of a lost attempt is dropped');
    await repeats({ method: 'PATCH', url: '/items/101', payload: { count: 5 } }, 200);
    t.equal(await count(101), 5);
    await repeats({ method: 'DELETE', url: '/items/101' }, 204);
    await repeats({ method: 'POST', url: '/items', payload: [{ name: 'Four' }, { name: 'Five' }] }, 201, 2);
    await repeats({ method: 'PATCH', url: '/items', payload: [{ id: 102, count: 6 }] }, 200);
    await repeats({ method: 'DELETE', url: '/items?pk=102' }, 204);
    t.strictSame(await names(), ['Three', 'Four', 'Five']);
  });

  t.test('are repeated: an action, with the reply and the entities as before', async (t) => {
    const app = await start(t);
    const response = await app.inject({ method: 'POST', url: '/items/101/add' });
    t.equal(response.statusCode, 200, response.body);
    t.strictSame(response.json(), { count: 1 });
    t.strictSame([response.headers['x-attempt'], response.headers['set-cookie']], [undefined, undefined]);
    t.equal(response.headers['x-content-type-options'], 'nosniff');
    t.strictSame((await names()).toSorted(), ['One', 'Two', 'of 2']);
  });

  t.test('are repeated: a lost transaction as the cause of another error', async (t) => {
    const app = await start(t);
    t.equal((await app.inject({ method: 'POST', url: '/items/wrapped' })).statusCode, 200);
    t.equal(runs, 3);
  });

  t.test('keep no file of a lost attempt', async (t) => {
    const app = await start(t);
    const form = new FormData();
    form.append('name', 'Three');
    form.append('paper', new Blob(['text'], { type: 'text/plain' }), 'a.txt');
    const response = await app.inject({ method: 'POST', url: '/papers', payload: form as never });
    t.equal(response.statusCode, 201, response.body);
    t.strictSame([runs, files.size], [3, 1]);
    t.equal(String([...files.values()][0]), 'text', 'the form is not read twice');
  });

  const conflict = { statusCode: 409, headers: { 'retry-after': '1' } };

  t.test('that are lost every time return 409 after 20 attempts', async (t) => {
    const logs: unknown[] = [];
    const app = await start(t, logs);
    losses = Infinity;
    for (const options of [
      { method: 'POST', url: '/items', payload: { name: 'Three' } },
      { method: 'POST', url: '/items/101/add' },
    ] as const) {
      runs = 0;
      logs.length = 0;
      const response = await app.inject(options);
      t.match(response, conflict);
      t.match(response.json(), { code: 'conflict', error: /try again/ });
      t.equal(runs, 20);
      t.match(logs, [[{ err: { message: 'lost' } }, /was lost to others/]]);
    }
    t.strictSame([await names(), done], [['One', 'Two'], []]);
  });

  t.test('that cannot be repeated return 409', async (t) => {
    const app = await start(t);
    for (const url of ['/items/bare', '/items/own']) {
      [losses, runs] = [1, 0];
      t.match(await app.inject({ method: 'POST', url }), conflict, url);
      t.equal(runs, 1, url);
    }
    [losses, runs] = [1, 0];
    const headers = { 'content-type': 'application/x-lines' };
    t.match(await app.inject({ method: 'POST', url: '/lines', headers, payload: 'a\nb' }), conflict);
    t.equal(runs, 1, 'the body has been read');
    [losses, runs] = [1, 0];
    t.equal((await app.inject({ method: 'POST', url: '/items/sent' })).statusCode, 200);
    t.equal(runs, 1, 'the response has been sent');
  });

  t.test('retryLost() repeats the work of the application, except a part of a transaction', async (t) => {
    await start(t);
    const add = () =>
      orm.em.fork().transactional(async (em) => {
        const item = await em.findOneOrFail(Item, { id: 101 });
        item.count += 1;
        await em.flush();
        lose();
      });
    await retryLost(orm.em, add);
    t.strictSame([runs, await count(101)], [3, 1]);
    [losses, runs] = [1, 0];
    await t.rejects(
      orm.em.fork().transactional((em) => retryLost(em, async () => lose())),
      { message: 'lost' },
    );
    t.equal(runs, 1);
    await t.rejects(
      retryLost(orm.em, async () => {
        throw new Error('another');
      }),
      { message: 'another' },
    );
    t.equal(isTransactionLost(new Error('a', { cause: lost() })), true);
    t.equal(isTransactionLost(new Error('a')), false);
  });

  if (database === 'postgresql') await onPostgreSql(t, orm);
});

/** Errors that the server itself raises. */
async function onPostgreSql(t: Test, orm: MikroORM): Promise<void> {
  const execute = (sql: string) => orm.em.fork().getConnection().execute(sql);
  // A sequence is not rolled back.
  await execute('create sequence losses');
  await execute(`create function lose() returns boolean language plpgsql as $$ begin
    if nextval('losses') <= 2 then raise exception 'lost' using errcode = '40001'; end if;
    return true;
  end $$`);
  await execute(`create function lose_row() returns trigger language plpgsql as $$ begin
    perform lose(); return new;
  end $$`);
  const again = async () => {
    await orm.schema.clear();
    await orm.em.fork().insertMany(Item, [{ id: 101, name: 'One' }] as never);
    await execute("select setval('losses', 1, false)");
  };
  const attempts = async () => Number((await execute('select last_value from losses'))[0].last_value);

  class OneStatementViewSet extends ModelViewSet(Item, { read, write }) {}
  class HookedViewSet extends ModelViewSet(Item, { read, write }) {
    override performCreate(request: FastifyRequest, data: object) {
      return super.performCreate(request, data as never);
    }
    /** POST /hooked/catch: PostgreSQL stores nothing, although the error is caught. */
    catch = action({ methods: ['post'], transaction: true }, async (request) => {
      request.em.create(Item, { name: 'caught' } as never);
      await request.em.flush();
      const transaction = request.em.getTransactionContext();
      await request.em
        .getConnection()
        .execute('select lose()', [], 'all', transaction)
        .catch(() => {});
      return {};
    });
    /** POST /hooked/refuse: answers with another error instead. */
    refuse = action({ methods: ['post'], transaction: true }, async (request, reply) => {
      const transaction = request.em.getTransactionContext();
      try {
        await request.em.getConnection().execute('select lose()', [], 'all', transaction);
      } catch {
        reply.code(400);
        return { error: 'no' };
      }
      return {};
    });
    /** POST /hooked/part: in a savepoint. */
    part = action({ methods: ['post'], transaction: true }, async (request) => {
      await inTransaction(request, async () => {
        const transaction = request.em.getTransactionContext();
        await request.em.getConnection().execute('select lose()', [], 'all', transaction);
      });
      return {};
    });
  }

  await t.test('a single statement outside of a transaction is repeated', async (t) => {
    await execute('alter table item add constraint item_lost check (lose())  not valid');
    const app = await testApp(t, orm, [new Router().register('items', OneStatementViewSet)]);
    await execute('alter table item drop constraint item_lost');
    await again();
    await execute('alter table item add constraint item_lost check (lose()) not valid');
    const created = await app.inject({ method: 'POST', url: '/items', payload: { name: 'Two' } });
    t.equal(created.statusCode, 201, created.body);
    t.equal(await attempts(), 3);
    await execute("select setval('losses', 1, false)");
    t.equal((await app.inject({ method: 'PATCH', url: '/items/101', payload: { count: 2 } })).statusCode, 200);
    t.equal(await attempts(), 3);
    await execute('alter table item drop constraint item_lost');
  });

  await t.test('a transaction that is lost at its COMMIT is repeated', async (t) => {
    await execute(`create constraint trigger lost_at_commit after insert on item
      deferrable initially deferred for each row when (new.name <> 'One') execute function lose_row()`);
    await again();
    const app = await testApp(t, orm, [new Router().register('items', OneStatementViewSet)]);
    const created = await app.inject({ method: 'POST', url: '/items', payload: { name: 'Two' } });
    t.equal(created.statusCode, 201, created.body);
    t.equal(await attempts(), 3);
    await execute("select setval('losses', 1, false)");
    const work = orm.em.fork().transactional((em) => em.insert(Item, { name: 'Three' }));
    await t.rejects(work, { code: '40001' });
    t.equal(isTransactionLost(await work.catch((error: unknown) => error)), true, "the driver's own error");
    await execute('drop trigger lost_at_commit on item');
  });

  await t.test('work that catches the error, or responds with another one, is repeated', async (t) => {
    const app = await testApp(t, orm, [new Router().register('hooked', HookedViewSet)]);
    for (const url of ['/hooked/catch', '/hooked/refuse', '/hooked/part']) {
      await again();
      const response = await app.inject({ method: 'POST', url });
      t.equal(response.statusCode, 200, response.body);
      t.equal(await attempts(), 3, url);
    }
  });
}
