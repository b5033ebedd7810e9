import { type EventSubscriber, type InferEntity, type MikroORM, TransactionPropagation } from '@mikro-orm/core';
import type { EntityManager as SqlEntityManager } from '@mikro-orm/postgresql';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { once } from 'node:events';
import t from 'tap';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  action,
  inTransaction,
  ModelViewSet,
  readShape,
  Router,
  ServiceUnavailable,
  type WriteData,
  writeShape,
} from '../../../src/index.ts';
import { originalTransaction } from '../../../src/mikro/endable-transaction.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { Book, LIBRARY, testApp } from '../../support/library.ts';

type Data = WriteData<InferEntity<typeof Book>, { title: string; pages?: number }>;

const read = readShape(Book, ['id', 'title', 'pages']);
const write = writeShape(Book, ['title', 'pages']);

class BookViewSet extends ModelViewSet(Book, { read, write }) {}

/** How MikroORM makes a transaction within another. MongoDB has no savepoints. */
let propagation: TransactionPropagation;

/** Every write within a transaction that the view itself has begun; a title of "fail" has it fail after the write. */
class OuterViewSet extends ModelViewSet(Book, { read, write }) {
  override create(...args: Parameters<BookViewSet['create']>) {
    return this.#within(args[0], () => super.create(...args));
  }
  override update(...args: Parameters<BookViewSet['update']>) {
    return this.#within(args[0], () => super.update(...args));
  }
  override destroy(...args: Parameters<BookViewSet['destroy']>) {
    return this.#within(args[0], () => super.destroy(...args));
  }

  async #within<Result>(request: FastifyRequest, work: () => Promise<Result>): Promise<Result> {
    return request.em.transactional(
      async () => {
        const result = await work();
        if (request.headers['x-fail'] !== undefined) {
          throw new ServiceUnavailable('the transaction fails after its write');
        }
        return result;
      },
      { propagation },
    );
  }
}

class HookedOuterViewSet extends OuterViewSet {
  override performCreate(request: FastifyRequest, data: Data) {
    return super.performCreate(request, data);
  }
}

/** The transaction of a request as an application writes it: begun before the handler, ended before the answer is sent. */
function transactionPerRequest(app: FastifyInstance): void {
  app.addHook('preHandler', async (request) => {
    if (request.method !== 'GET') await request.em.begin();
  });
  app.addHook('onSend', async (request, reply, payload) => {
    if (request.method === 'GET' || !request.em.isInTransaction()) return payload;
    if (reply.statusCode < 400) await request.em.commit();
    else await request.em.rollback();
    return payload;
  });
}

forEachDatabase(t, { entities: LIBRARY, orm: { pool: { max: 4 } }, onLibSql: true }, async (t, orm, database) => {
  propagation = database === 'mongodb' ? TransactionPropagation.REQUIRED : TransactionPropagation.NESTED;
  const fill = async () => {
    await orm.schema.clear();
    await orm.em.fork().insertMany(Book, [
      { id: 101, title: 'One', pages: 1 },
      { id: 102, title: 'Two', pages: 2 },
    ]);
  };
  const titles = async () =>
    (await orm.em.fork().findAll(Book, { orderBy: { id: 1 } })).map(({ title }: { title: string }) => title);

  for (const [name, View] of [
    ['by one statement', OuterViewSet],
    ['by a hook', HookedOuterViewSet],
  ] as const) {
    t.test(`a write ${name} inside a transaction of the application is part of it`, async (t) => {
      await fill();
      const app = await testApp(t, orm, [new Router().register('books', View)]);
      await app.inject('/books');
      const fail = { 'x-fail': 'yes' };
      for (const [method, url, payload] of [
        ['POST', '/books', { title: 'Three' }],
        ['PATCH', '/books/101', { title: 'Changed' }],
        ['DELETE', '/books/102', undefined],
      ] as const) {
        const failed = await app.inject({ method, url, headers: fail, ...(payload && { payload }) });
        t.equal(failed.statusCode, 503, failed.body);
        t.same(await titles(), ['One', 'Two'], `${method} that failed left nothing`);
      }
      t.equal((await app.inject({ method: 'POST', url: '/books', payload: { title: 'Three' } })).statusCode, 201);
      t.equal((await app.inject({ method: 'PATCH', url: '/books/101', payload: { title: 'Uno' } })).statusCode, 200);
      t.equal((await app.inject({ method: 'DELETE', url: '/books/102' })).statusCode, 204);
      t.same((await titles()).toSorted(), ['Three', 'Uno']);
    });
  }

  t.test('subscribers are notified of the end of each transaction once', async (t) => {
    class FailingViewSet extends BookViewSet {
      override performCreate(): Promise<never> {
        return Promise.reject(new ServiceUnavailable('no'));
      }
    }
    class CatchingViewSet extends FailingViewSet {
      override create(request: FastifyRequest, reply: FastifyReply) {
        return request.em.transactional(() => super.create(request, reply), { propagation });
      }
    }
    let heard: string[] = [];
    let again: string[] = [];
    let known = new Map<object, string[]>();
    const end =
      (name: string) =>
      ({ transaction }: { transaction?: object }) => {
        const ends = known.get(originalTransaction(transaction!)) ?? [];
        (ends.includes(name) ? again : heard).push(name);
        known.set(originalTransaction(transaction!), [...ends, name]);
      };
    const names = ['beforeTransactionRollback', 'afterTransactionRollback', 'afterTransactionCommit'] as const;
    orm.em
      .getEventManager()
      .registerSubscriber(Object.fromEntries(names.map((name) => [name, end(name)])) as EventSubscriber);
    for (const [View, before] of [
      [FailingViewSet, transactionPerRequest],
      [CatchingViewSet, undefined],
      [CatchingViewSet, transactionPerRequest],
    ] as const) {
      await fill();
      heard = [];
      again = [];
      known = new Map();
      const router = new Router().register('books', View);
      const app = await testApp(t, orm, [router], before && { before });
      t.equal((await app.inject({ method: 'POST', url: '/books', payload: { title: 'Three' } })).statusCode, 503);
      t.same(again, [], View.name);
      t.ok(heard.includes('afterTransactionRollback'));
    }
  });

  t.test('writes before an error that the code catches are stored if the response is a success', async (t) => {
    await fill();
    class CarefulViewSet extends BookViewSet {
      careless = action({ methods: ['post'], transaction: true }, async ({ em }) => {
        await em.insert(Book, { title: 'Careless' });
        await em.insert(Book, { id: 101, title: 'Twice' }).catch(() => {});
        return {};
      });
      byKysely = action({ methods: ['post'], transaction: true }, async ({ em }) => {
        await em.insert(Book, { title: 'Careless' });
        const kysely = (em as SqlEntityManager).getKysely<{ nowhere: { id: number } }>();
        await kysely
          .selectFrom('nowhere')
          .selectAll()
          .execute()
          .catch(() => {});
        return {};
      });
      careful = action({ methods: ['post'], transaction: true }, async (request) => {
        await request.em.insert(Book, { title: 'Careful' });
        await inTransaction(request, () => request.em.insert(Book, { id: 101, title: 'Twice' })).catch(() => {});
        return {};
      });
    }
    const app = await testApp(t, orm, [new Router().register('books', CarefulViewSet)]);
    for (const path of ['careless', ...(database === 'mongodb' ? [] : ['by-kysely'])]) {
      const careless = await app.inject({ method: 'POST', url: `/books/${path}`, payload: {} });
      t.equal((await titles()).includes('Careless'), careless.statusCode === 200, `${path}: ${careless.body}`);
    }
    const careful = await app.inject({ method: 'POST', url: '/books/careful', payload: {} });
    t.equal((await titles()).includes('Careful'), careful.statusCode === 200, careful.body);
    if (database !== 'mongodb') t.equal(careful.statusCode, 200, careful.body);
  });

  t.test('a transaction per request, begun in preHandler and ended in onSend', async (t) => {
    for (const View of [BookViewSet, OuterViewSet, HookedOuterViewSet]) {
      await fill();
      const app = await testApp(t, orm, [new Router().register('books', View)], { before: transactionPerRequest });
      const answers = [];
      for (let count = 0; count < 6; count += 1) {
        answers.push(await app.inject({ method: 'POST', url: '/books', payload: { title: `New ${count}` } }));
      }
      t.same(
        answers.map(({ statusCode }) => statusCode),
        [201, 201, 201, 201, 201, 201],
        View.name,
      );
      t.equal((await app.inject({ method: 'PATCH', url: '/books/101', payload: { title: 'Uno' } })).statusCode, 200);
      t.equal((await app.inject({ method: 'DELETE', url: '/books/102' })).statusCode, 204);
      for (let count = 0; count < 6; count += 1) {
        t.equal((await app.inject({ method: 'DELETE', url: '/books/999' })).statusCode, 404);
      }
      t.equal((await app.inject('/books')).json().count, 7, 'no row is lost');
      t.ok((await titles()).includes('Uno'));
    }
  });

  t.test('an error response rolls back the complete transaction', async (t) => {
    await fill();
    const app = await testApp(t, orm, [new Router().register('books', BookViewSet)], {
      before(app) {
        transactionPerRequest(app);
        app.addHook('preHandler', async (request) => {
          if (request.method !== 'GET') await request.em.insert(Book, { title: 'by the application' });
        });
        app.addHook('preSerialization', async (request) => {
          if (request.headers['x-fail'] !== undefined) throw new ServiceUnavailable('failed after the handler');
        });
      },
    });
    await app.inject('/books');
    const failed = { method: 'POST' as const, url: '/books', payload: { title: 'x' }, headers: { 'x-fail': 'yes' } };
    for (let count = 0; count < 6; count += 1) t.equal((await app.inject(failed)).statusCode, 503);
    t.equal((await app.inject({ method: 'DELETE', url: '/books/999' })).statusCode, 404);
    t.same(await titles(), ['One', 'Two']);
  });

  t.test(
    'a request that fails in one transaction rolls back all writes, and a caught part only its writes',
    async (t) => {
      await fill();
      class Twice extends ModelViewSet(Book, { read, write }) {
        override create(request: FastifyRequest, reply: Parameters<BookViewSet['create']>[1]) {
          return request.em.transactional(async (em) => {
            await em.insert(Book, { title: 'kept' });
            await super.create(request, reply).catch(() => undefined);
            return { id: 1, title: 'caught', pages: 0 };
          });
        }
        override async performCreate(request: FastifyRequest, data: Data) {
          const book = await super.performCreate(request, data);
          if (book.title === 'lost') throw new Error('the savepoint goes, the transaction stays');
          return book;
        }
      }
      const app = await testApp(t, orm, [new Router().register('books', Twice)]);
      await app.inject({ method: 'POST', url: '/books', payload: { title: 'lost' } });
      // Without savepoints nothing of the transaction is kept.
      t.same((await titles()).toSorted(), database === 'mongodb' ? ['One', 'Two'] : ['One', 'Two', 'kept']);
    },
  );

  t.test('an action that writes has a transaction, and any other with transaction: true', async (t) => {
    await fill();
    const isOpen: Record<string, boolean> = {};
    const noted = async (request: FastifyRequest, reply: FastifyReply) => {
      isOpen[`${request.method} ${request.routeOptions.config.viewset!.action}`] = request.em.isInTransaction();
      await request.em.insert(Book, { title: 'by an action' });
      if (request.headers['x-fail'] === 'throws') throw new ServiceUnavailable();
      if (request.headers['x-fail'] !== undefined) reply.code(422);
      return {};
    };
    class Acting extends ModelViewSet(Book, { read, write }) {
      byDefault = action({ detail: true, methods: ['get', 'post', 'delete'] }, noted);
      without = action({ detail: true, methods: ['post'], transaction: false }, noted);
      collection = action({ methods: ['post'] }, noted);
      chosen = action({ methods: ['post'], transaction: true }, noted);
    }
    const app = await testApp(t, orm, [new Router().register('books', Acting)]);
    for (const path of ['/books/101/by-default', '/books/101/without', '/books/collection', '/books/chosen']) {
      await app.inject({ method: 'POST', url: path });
    }
    await app.inject('/books/101/by-default');
    await app.inject({ method: 'DELETE', url: '/books/101/by-default' });
    t.same(isOpen, {
      'POST byDefault': true,
      'POST without': false,
      'POST collection': true,
      'POST chosen': true,
      'GET byDefault': false,
      'DELETE byDefault': true,
    });
    for (const fail of ['throws', 'answers']) {
      await fill();
      const failed = { method: 'POST' as const, url: '/books/101/by-default', headers: { 'x-fail': fail } };
      t.equal((await app.inject(failed)).statusCode, fail === 'throws' ? 503 : 422);
      t.same(await titles(), ['One', 'Two'], 'what it wrote is undone');
    }
  });

  t.test(
    'a hook that ends the transaction of its view, or begins another one, and goes on writes nothing',
    async (t) => {
      await fill();
      const asked = async ({ em, headers }: FastifyRequest): Promise<void> => {
        await em.insert(Book, { title: 'before' });
        const method = headers['x-method'] as 'begin' | 'commit' | 'rollback';
        if (headers['x-caught'] === undefined) return em[method]();
        await em[method]().catch(() => undefined);
      };
      class Ending extends ModelViewSet(Book, { read, write, bulk: 2 }) {
        override async performCreate(request: FastifyRequest, data: Data) {
          await asked(request);
          return super.performCreate(request, data);
        }
        override async performUpdate(request: FastifyRequest, book: InferEntity<typeof Book>, data: Data) {
          await asked(request);
          return super.performUpdate(request, book, data);
        }
        override async performDestroy(request: FastifyRequest, book: InferEntity<typeof Book>) {
          await asked(request);
          await super.performDestroy(request, book);
        }
        touch = action({ detail: true, methods: ['post'] }, async (request) => {
          const book = await this.getObject(request);
          await inTransaction(request, () => asked(request));
          book.title = 'touched';
          return {};
        });
      }
      const app = await testApp(t, orm, [new Router().register('books', Ending)]);
      const requests = [
        { method: 'POST', url: '/books', payload: { title: 'new' } },
        { method: 'POST', url: '/books', payload: [{ title: 'new' }] },
        { method: 'PATCH', url: '/books/101', payload: { title: 'changed' } },
        { method: 'DELETE', url: '/books/101' },
        { method: 'POST', url: '/books/101/touch' },
      ] as const;
      for (const method of ['begin', 'commit', 'rollback']) {
        for (const request of requests) {
          const { statusCode, body } = await app.inject({ ...request, headers: { 'x-method': method } });
          t.equal(statusCode, 500, `${request.method} ${request.url}, ${method}: ${body}`);
          t.match(body, /improperly_configured/);
          t.same(await titles(), ['One', 'Two'], 'all of it is undone');
        }
      }
      const headers = { 'x-method': 'rollback', 'x-caught': '1' };
      t.equal(
        (await app.inject({ ...requests[0], headers })).statusCode,
        201,
        'a hook may go on in the same transaction',
      );
      t.same((await titles()).toSorted(), ['One', 'Two', 'before', 'new']);
    },
  );

  t.test('a hook that never settles', async (t) => {
    await fill();
    const stuck = new Map<string, () => void>();
    class Stuck extends ModelViewSet(Book, { read, write }) {
      override async performCreate(request: FastifyRequest, data: Data) {
        const book = await super.performCreate(request, data);
        if (data.title === 'early') return book;
        await new Promise<void>((resolve) => stuck.set(data.title, resolve));
        await request.em.insert(Book, { title: `${data.title}, too late` }).catch(() => undefined);
        await super.performCreate(request, { title: `${data.title}, much too late` }).catch(() => undefined);
        return book;
      }
    }
    const app = await testApp(t, orm, [new Router().register('books', Stuck)], { options: { handlerTimeoutMs: 200 } });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const count = database === 'sqlite' ? 1 : 4;
    const late = await Promise.all(
      Array.from({ length: count }, (_, n) =>
        app.inject({ method: 'POST', url: '/books', payload: { title: `stuck ${n}` } }),
      ),
    );
    t.same(new Set(late.map(({ statusCode }) => statusCode)), new Set([503]));
    const patient = await testApp(t, orm, [new Router().register('books', Stuck)]);
    const next = await patient.inject({ method: 'POST', url: '/books', payload: { title: 'early' } });
    t.equal(next.statusCode, 201, 'its connection is free again');
    t.same((await titles()).toSorted(), ['One', 'Two', 'early'], 'and what it wrote is undone');
    for (const goOn of stuck.values()) goOn();
    await sleep(100);
    t.same((await titles()).toSorted(), ['One', 'Two', 'early'], 'nor does it write afterwards');
  });

  t.test('work that a hook started does not outlive the transaction of its request', async (t) => {
    await fill();
    const answered = Promise.withResolvers<void>();
    const ends: Promise<unknown>[] = [];
    class Late extends ModelViewSet(Book, { read, write }) {
      touch = action({ detail: true, methods: ['post'] }, async (request) => {
        const { em } = request;
        const nested = em.transactional(async (inner) => {
          await inner.count(Book);
          await answered.promise;
          await inner.insert(Book, { title: 'in a transaction of its own' });
        });
        const deeper = em.transactional((inner) =>
          inner.transactional(async (innermost) => {
            await answered.promise;
            await innermost.insert(Book, { title: 'in one deeper' });
          }),
        );
        ends.push(...[nested, deeper].map((work) => work.catch(() => undefined)));
        if (request.headers['x-fail'] === undefined) await Promise.all(ends);
        else await sleep(20);
        throw new ServiceUnavailable('it fails while they are at work');
      });
    }
    const app = await testApp(t, orm, [new Router().register('books', Late)], { options: { handlerTimeoutMs: 100 } });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const post = { method: 'POST' as const, url: '/books/101/touch' };
    t.equal((await app.inject(post)).statusCode, 503, 'given up');
    t.equal((await app.inject({ ...post, headers: { 'x-fail': '1' } })).statusCode, 503, 'failed');
    answered.resolve();
    await Promise.all(ends);
    t.same(await titles(), ['One', 'Two']);
  });

  t.test('a hook whose flush outlives its request writes nothing after the rollback', async (t) => {
    await fill();
    const ends: Promise<unknown>[] = [];
    class Flushing extends ModelViewSet(Book, { read, write }) {
      touch = action({ detail: true, methods: ['post'], transaction: true }, async ({ em }) => {
        const goOn = async () => {
          em.create(Book, { title: 'flushed late' });
          await em.flush();
          for (let n = 0; n < 5; n++) await em.insert(Book, { title: `written later, ${n}` });
        };
        const end = goOn().catch(() => undefined);
        ends.push(end);
        await end;
      });
    }
    const app = await testApp(t, orm, [new Router().register('books', Flushing)], {
      options: { handlerTimeoutMs: 100 },
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    await holdingBooks(orm, async () => {
      t.equal((await app.inject({ method: 'POST', url: '/books/101/touch' })).statusCode, 503);
    });
    await Promise.all(ends);
    t.same(await titles(), ['One', 'Two']);
  });

  for (const [name, View] of [
    ['one statement', BookViewSet],
    ['a hook', HookedOuterViewSet],
  ] as const) {
    t.test(`a write by ${name} is not stored after the client has received an error`, async (t) => {
      await fill();
      const app = await testApp(t, orm, [new Router().register('books', View)], {
        options: { handlerTimeoutMs: 100 },
        before: (app) =>
          void app.addHook('preHandler', async ({ method }) => void (method !== 'GET' && (await sleep(400)))),
      });
      await app.listen({ port: 0, host: '127.0.0.1' });
      await app.inject('/books');
      const late = await Promise.all([
        app.inject({ method: 'POST', url: '/books', payload: { title: 'Late' } }),
        app.inject({ method: 'PATCH', url: '/books/101', payload: { title: 'Late' } }),
        app.inject({ method: 'DELETE', url: '/books/102' }),
      ]);
      t.same(
        late.map(({ statusCode }) => statusCode),
        [503, 503, 503],
      );
      await sleep(600);
      t.same(await titles(), ['One', 'Two']);
    });

    t.test(`a write by ${name} is not stored after the client has disconnected`, async (t) => {
      await fill();
      const entered = Promise.withResolvers<void>();
      const app = await testApp(t, orm, [new Router().register('books', View)], {
        before: (app) =>
          void app.addHook('preHandler', async ({ method, raw }) => {
            if (method === 'GET') return;
            entered.resolve();
            await once(raw.socket, 'close');
          }),
      });
      const address = await app.listen({ port: 0, host: '127.0.0.1' });
      await app.inject('/books');
      const leaving = new AbortController();
      const gone = fetch(`${address}/books/101`, {
        method: 'PATCH',
        body: JSON.stringify({ title: 'Gone' }),
        headers: { 'content-type': 'application/json' },
        signal: leaving.signal,
      }).catch(() => 'gone');
      await entered.promise;
      leaving.abort();
      t.equal(await gone, 'gone');
      await sleep(300);
      t.same(await titles(), ['One', 'Two']);
    });

    t.test(`a write by ${name} that waited for a lock too long`, async (t) => {
      await fill();
      const app = await testApp(t, orm, [new Router().register('books', View)], { options: { handlerTimeoutMs: 100 } });
      await app.listen({ port: 0, host: '127.0.0.1' });
      await app.inject('/books');
      const requests = [
        // On MongoDB there is no lock that a new record waits for.
        ...(database === 'mongodb' ? [] : [['POST', '/books', { title: 'Waited' }] as const]),
        ['PATCH', '/books/101', { title: 'Waited' }],
        ['DELETE', '/books/102', undefined],
      ] as const;
      await holdingBooks(orm, async () => {
        const late = await Promise.all(
          requests.map(([method, url, payload]) => app.inject({ method, url, ...(payload && { payload }) })),
        );
        for (const { statusCode } of late) t.equal(statusCode, 503);
        // PostgreSQL is told over another connection.
        await sleep(500);
      });
      await sleep(200);
      t.same(await titles(), ['One', 'Two']);
      const patient = await testApp(t, orm, [new Router().register('books', View)]);
      t.equal(
        (await patient.inject({ method: 'PATCH', url: '/books/101', payload: { title: 'Uno' } })).statusCode,
        200,
      );
    });
  }
});

/** Runs work while nobody else can write books. Not `transactional`: what runs inside of it is in its transaction. */
async function holdingBooks(orm: MikroORM, work: () => Promise<void>): Promise<void> {
  const em = orm.em.fork();
  await em.begin();
  try {
    await em.nativeUpdate(Book, {}, { in_print: true });
    if (em.getPlatform().constructor.name.includes('Postgre')) {
      await em.getConnection().execute('lock table book in exclusive mode', [], 'run', em.getTransactionContext());
    }
    await work();
  } finally {
    await em.rollback();
  }
}
