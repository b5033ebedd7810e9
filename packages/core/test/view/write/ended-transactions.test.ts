import type { MikroORM } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import { action, inTransaction, ModelViewSet, readShape, Router, writeShape } from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { Book, LIBRARY, testApp } from '../../support/library.ts';

const read = readShape(Book, ['id', 'title', 'pages']);
const write = writeShape(Book, ['title', 'pages']);

class BookViewSet extends ModelViewSet(Book, { read, write, bulk: { create: 10 } }) {}

/** Writes through the unit of work. */
class HookedViewSet extends ModelViewSet(Book, { read, write }) {
  override performCreate(request: FastifyRequest, data: object) {
    return super.performCreate(request, data as never);
  }
}

/** Catches the error of a statement, and goes on. */
class CatchingViewSet extends ModelViewSet(Book, { read, write }) {
  override async performCreate(request: FastifyRequest, data: object) {
    await request.em.insert(Book, { title: 'ends the transaction' }).catch(() => {});
    return super.performCreate(request, data as never);
  }
  /** By statements that MikroORM does not send. */
  afterwards = action({ methods: ['post'], transaction: true }, async (request) => {
    await request.em.insert(Book, { title: 'ends the transaction' }).catch(() => {});
    return { count: await this.getQueryset(request).count() };
  });
  /** In a savepoint. */
  inPart = action({ methods: ['post'], transaction: true }, async (request) => {
    await inTransaction(request, () => request.em.insert(Book, { title: 'ends the transaction' })).catch(() => {});
    await request.em.insert(Book, { title: 'after it' });
    return {};
  });
}

/** Within a transaction of the application. */
class OuterViewSet extends ModelViewSet(Book, { read, write }) {
  override create(...args: Parameters<BookViewSet['create']>) {
    return args[0].em.transactional(async () => super.create(...args));
  }
}

const PATHS = ['books', 'hooked', 'catching', 'outer'];

async function appOf(t: Test, orm: MikroORM) {
  const router = new Router()
    .register('books', BookViewSet)
    .register('hooked', HookedViewSet)
    .register('catching', CatchingViewSet)
    .register('outer', OuterViewSet);
  return testApp(t, orm, [router]);
}

forEachDatabase(t, { entities: LIBRARY, only: ['sqlite'], onLibSql: true }, async (t, orm) => {
  const run = (sql: string) => orm.em.fork().getConnection().execute(sql);
  await run(`create trigger ends_it before insert on book when new.title = 'ends the transaction'
    begin select raise(rollback, 'not this title'); end`);
  const app = await appOf(t, orm);
  const titles = async () => (await orm.em.fork().find(Book, {}, { orderBy: { id: 1 } })).map(({ title }) => title);
  const post = (path: string, payload: object) => app.inject({ method: 'POST', url: `/${path}`, payload });

  /** Everything that needs the connection: a read, both kinds of writes, transactions of the application. */
  const goesOn = async (t: Test) => {
    await orm.schema.clear();
    t.equal((await app.inject('/books')).statusCode, 200);
    t.equal((await post('books', { title: 'one' })).statusCode, 201);
    t.equal((await post('hooked', { title: 'two' })).statusCode, 201);
    await orm.em.fork().transactional((em) => em.insert(Book, { title: 'three' }));
    t.same(await titles(), ['one', 'two', 'three']);
    await orm.schema.clear();
  };

  for (const path of PATHS) {
    t.test(`a trigger that rolls back ends the transaction of ${path}`, async (t) => {
      const { statusCode } = await post(path, { title: 'ends the transaction' });
      t.equal(statusCode, 500);
      t.same(await titles(), [], 'nothing is stored');
      await goesOn(t);
    });
  }

  t.test('a trigger that rolls back in a bulk write', async (t) => {
    const { statusCode } = await post('books', [{ title: 'one' }, { title: 'ends the transaction' }] as object);
    t.equal(statusCode, 500);
    t.same(await titles(), []);
    await goesOn(t);
  });

  t.test('after SQLite has ended a transaction, nothing is stored outside of it', async (t) => {
    for (const path of ['catching', 'catching/afterwards', 'catching/in-part']) {
      t.equal((await post(path, { title: 'after it' })).statusCode, 500, path);
      t.same(await titles(), [], `nothing of ${path} is stored`);
      await goesOn(t);
    }
  });

  t.test('in a transaction of the application', async (t) => {
    const work = orm.em.fork().transactional(async (em) => {
      await em.insert(Book, { title: 'before it' });
      await em.insert(Book, { title: 'ends the transaction' });
    });
    await t.rejects(work, { message: /not this title/ });
    const catching = orm.em.fork().transactional(async (em) => {
      await em.insert(Book, { title: 'ends the transaction' }).catch(() => {});
      await em.insert(Book, { title: 'after it' });
    });
    await t.rejects(catching, { message: /SQLite has ended the transaction/ });
    const em = orm.em.fork();
    await em.begin();
    await t.rejects(em.insert(Book, { title: 'ends the transaction' }), { message: /not this title/ });
    await t.rejects(em.commit());
    await em.rollback();
    const inPart = orm.em.fork().transactional(async (em) => {
      await em.transactional((part) => part.insert(Book, { title: 'ends the transaction' })).catch(() => {});
      em.create(Book, { title: 'after it' } as never);
    });
    await t.rejects(inPart, { message: /SQLite has ended the transaction/ });
    const within = orm.em.fork().transactional(async (em) => {
      await em.transactional(async (part) => {
        await part.insert(Book, { title: 'ends the transaction' }).catch(() => {});
        await part.insert(Book, { title: 'after it' });
      });
    });
    await t.rejects(within, { message: /SQLite has ended the transaction/ });
    t.same(await titles(), []);
    await goesOn(t);
  });

  t.test('a full disk', async (t) => {
    const [{ page_count: pages }] = (await run('pragma page_count')) as [{ page_count: number }];
    const long = 'x'.repeat(100);
    const many = Array.from({ length: 10 }, () => ({ title: long }));
    await run(`pragma max_page_count = ${pages}`);
    for (const path of PATHS) {
      let last = 201;
      for (let tries = 0; tries < 1000 && last === 201; tries++) {
        const response = await (path === 'books' ? post(path, many) : post(path, { title: long }));
        last = response.statusCode;
      }
      t.equal(last, path === 'catching' ? 500 : 503, path);
      t.equal((await app.inject('/books')).statusCode, 200);
      await orm.em.fork().nativeDelete(Book, {});
    }
    await run('pragma max_page_count = 1000000');
    await goesOn(t);
  });
});
