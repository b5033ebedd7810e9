import { type InferEntity, TransactionPropagation } from '@mikro-orm/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import {
  action,
  afterCommit,
  inTransaction,
  ServiceUnavailable,
  ModelViewSet,
  readShape,
  Router,
  type WriteData,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { Book, LIBRARY, testApp } from '../../support/library.ts';

type Data = WriteData<InferEntity<typeof Book>, { title: string; pages?: number }>;

const read = readShape(Book, ['id', 'title', 'pages']);
const write = writeShape(Book, ['title', 'pages']);

forEachDatabase(t, { entities: LIBRARY, orm: { pool: { max: 4 } } }, async (t, orm, database) => {
  const hasSavepoints = database !== 'mongodb';
  const propagation = hasSavepoints ? TransactionPropagation.NESTED : TransactionPropagation.REQUIRED;
  let done: string[] = [];
  const stored = () => orm.em.fork().count(Book, {});
  const note = async (text: string) => done.push(`${text}, ${await stored()} stored`);
  const fill = async () => {
    done = [];
    await orm.schema.clear();
    await orm.em.fork().insertMany(Book, [{ id: 101, title: 'One', pages: 1 }]);
  };

  class BookViewSet extends ModelViewSet(Book, { read, write }) {
    override async performCreate(request: FastifyRequest, data: Data) {
      await afterCommit(request, () => note(`first of ${data.title}`));
      const book = await super.performCreate(request, data);
      await afterCommit(request, () => note(`second of ${data.title}`));
      if (data.title === 'refused') throw new ServiceUnavailable('not this one');
      return book;
    }

    /** POST /books/both: a part that may fail, and a part that stays. */
    both = action({ methods: ['post'], detail: false, transaction: true }, async (request) => {
      const part = async (title: string, isRefused: boolean) =>
        inTransaction(request, async () => {
          request.em.create(Book, { title });
          await request.em.flush();
          await afterCommit(request, () => note(title));
          if (isRefused) throw new ServiceUnavailable('not this part');
        });
      await part('stays', false);
      await part('goes', true).catch(() => request.em.clear());
      await afterCommit(request, () => note('all'));
      return {};
    });

    /** POST /books/write: a work that itself writes. */
    write = action({ methods: ['post'], detail: false, transaction: true }, async (request) => {
      await afterCommit(request, async () => {
        done.push(`in a transaction: ${request.em.isInTransaction()}`);
        request.em.create(Book, { title: 'written after' });
        await request.em.flush();
        await afterCommit(request, () => note('at once'));
        await inTransaction(request, async () => {
          request.em.create(Book, { title: 'written after, in a transaction' });
          await afterCommit(request, () => note('after its own'));
          done.push('within its own');
        });
      });
      request.em.create(Book, { title: 'written' });
      return {};
    });

    /** POST /books/fail */
    fail = action({ methods: ['post'], detail: false, transaction: true }, async (request) => {
      await afterCommit(request, () => {
        throw new Error('the mail server is away');
      });
      await afterCommit(request, () => note('the next'));
      request.em.create(Book, { title: 'written' });
      return {};
    });
  }

  const attempts: number[] = [];

  /** Loses a race against another transaction, the first time. */
  class RacingViewSet extends ModelViewSet(Book, { read, write }) {
    race = action({ methods: ['post'], detail: false, transaction: true }, async (request) => {
      const attempt = attempts.push(attempts.length + 1);
      await afterCommit(request, () => done.push(`attempt ${attempt}`));
      const book = await request.em.findOneOrFail(Book, { id: 101 });
      if (attempt === 1) await orm.em.fork().nativeUpdate(Book, { id: 101 }, { pages: 2 });
      book.pages = 3;
      return {};
    });
  }

  /** Goes on after its request was given up. */
  class LateViewSet extends ModelViewSet(Book, { read, write }) {
    late = action({ methods: ['post'], detail: false, transaction: true }, async (request) => {
      await afterCommit(request, () => done.push('early'));
      await givenUp.promise;
      await afterCommit(request, () => done.push('late')).finally(() => ended.resolve());
    });
  }
  const givenUp = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();

  /** Every write within a transaction of the application. */
  class OuterViewSet extends BookViewSet {
    override async create(request: FastifyRequest, reply: FastifyReply) {
      return request.em.transactional(
        async () => {
          const book = await super.create(request, reply);
          done.push('still in the transaction');
          if (request.headers['x-fail'] !== undefined) throw new ServiceUnavailable('not after all');
          return book;
        },
        { propagation },
      );
    }
  }

  const start = async (t: Test, logs: unknown[] = []) => {
    await fill();
    const router = new Router().register('books', BookViewSet).register('outer', OuterViewSet);
    const before = (app: FastifyInstance): void =>
      void app.addHook('onRequest', async (request) => {
        request.log = Object.assign(Object.create(request.log), { error: (...entry: unknown[]) => logs.push(entry) });
      });
    return testApp(t, orm, [router], { before });
  };

  t.test('afterCommit callbacks run after the commit, in the order of the calls, before the response', async (t) => {
    const app = await start(t);
    const { statusCode } = await app.inject({ method: 'POST', url: '/books', payload: { title: 'Two' } });
    t.equal(statusCode, 201);
    t.strictSame(done, ['first of Two, 2 stored', 'second of Two, 2 stored']);
  });

  t.test('work of a write that fails is not done', async (t) => {
    const app = await start(t);
    const { statusCode } = await app.inject({ method: 'POST', url: '/books', payload: { title: 'refused' } });
    t.equal(statusCode, 503);
    t.strictSame([done, await stored()], [[], 1]);
  });

  t.test('within a transaction of the application its commit decides', async (t) => {
    const app = await start(t);
    const payload = { title: 'Two' };
    const failed = await app.inject({ method: 'POST', url: '/outer', payload, headers: { 'x-fail': 'yes' } });
    t.equal(failed.statusCode, 503);
    t.strictSame(done, ['still in the transaction']);
    t.equal((await app.inject({ method: 'POST', url: '/outer', payload })).statusCode, 201);
    t.strictSame(done.slice(1), ['still in the transaction', 'first of Two, 2 stored', 'second of Two, 2 stored']);
  });

  t.test('work of a savepoint that is rolled back is not done', { skip: !hasSavepoints && 'none' }, async (t) => {
    const app = await start(t);
    const { statusCode, body } = await app.inject({ method: 'POST', url: '/books/both' });
    t.equal(statusCode, 200, body);
    t.strictSame(done, ['stays, 2 stored', 'all, 2 stored']);
  });

  t.test('request.em is a new one within the work', async (t) => {
    const app = await start(t);
    const { statusCode, body } = await app.inject({ method: 'POST', url: '/books/write' });
    t.equal(statusCode, 200, body);
    t.strictSame(done, ['in a transaction: false', 'at once, 3 stored', 'within its own', 'after its own, 4 stored']);
  });

  t.test('work of an attempt that lost a race is not done', { skip: hasSavepoints && 'it waits' }, async (t) => {
    await fill();
    const app = await testApp(t, orm, [new Router().register('books', RacingViewSet)]);
    const { statusCode, body } = await app.inject({ method: 'POST', url: '/books/race' });
    t.equal(statusCode, 200, body);
    t.strictSame([attempts, done], [[1, 2], ['attempt 2']]);
  });

  t.test('afterCommit callbacks of an aborted request do not run', async (t) => {
    await fill();
    const options = { handlerTimeoutMs: 100 };
    const app = await testApp(t, orm, [new Router().register('books', LateViewSet)], { options });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { statusCode } = await app.inject({ method: 'POST', url: '/books/late' });
    t.equal(statusCode, 503);
    givenUp.resolve();
    await ended.promise;
    t.strictSame(done, []);
  });

  t.test('an error of the work is logged and changes nothing', async (t) => {
    const logs: unknown[] = [];
    const app = await start(t, logs);
    const { statusCode } = await app.inject({ method: 'POST', url: '/books/fail' });
    t.equal(statusCode, 200);
    t.strictSame(done, ['the next, 2 stored']);
    t.match(logs, [[{ err: { message: 'the mail server is away' } }, 'work after a commit has failed']]);
  });

  t.test(
    'an afterCommit callback that is not a function rolls back the write with an error that says so',
    async (t) => {
      await fill();
      class MistakenViewSet extends ModelViewSet(Book, { read, write }) {
        override async performCreate(request: FastifyRequest, data: Data) {
          const book = await super.performCreate(request, data);
          const [of, work] = data.title === 'work' ? [request, Promise.resolve()] : [undefined, () => undefined];
          await afterCommit(of as never, work as never);
          return book;
        }
      }
      const logs: unknown[] = [];
      const before = (app: FastifyInstance): void =>
        void app.addHook('onError', async (_request, _reply, error) => void logs.push(error.message));
      const app = await testApp(t, orm, [new Router().register('books', MistakenViewSet)], { before });
      for (const title of ['work', 'request']) {
        const { statusCode } = await app.inject({ method: 'POST', url: '/books', payload: { title } });
        t.equal(statusCode, 500);
      }
      t.equal(await stored(), 1);
      t.strictSame(logs, [
        'afterCommit(request, work): "work" must be a function such as () => send(), got an object of Promise',
        'afterCommit(request, work): "request" must be a request of an application with the plugin viewset, got undefined',
      ]);
    },
  );
});
