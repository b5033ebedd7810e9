import type { InferEntity } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { ModelViewSet, readShape, Router, type WriteData, writeShape } from '@viewset/core';
import { Book, fillLibrary, LIBRARY, Publisher, testApp } from '../../core/test/support/library.ts';
import { withMongoServer } from '../../core/test/support/with-mongo-server.ts';

const read = readShape(Book, ['id', 'title', 'pages']);
const write = writeShape(Book, ['title', 'pages', 'publisher']);

/** Writes a book that has a publisher by the unit of work, and deletes by one command. */
class BookViewSet extends ModelViewSet(Book, { read, write }) {}

type BookData = WriteData<InferEntity<typeof Book>, { title: string; pages?: number; publisher?: number | null }>;

class BooksWithHooks extends BookViewSet {
  override performCreate(request: FastifyRequest, data: BookData) {
    return super.performCreate(request, data);
  }
}

/** Takes a minute for each record. */
class SlowViewSet extends ModelViewSet(Book, { read }) {
  override getQueryset(request: FastifyRequest) {
    return super.getQueryset(request).matching({ $where: 'sleep(60000) || true' } as never);
  }
}

/** Deletes by one command, and another that looks for books. */
class PublisherViewSet extends ModelViewSet(Publisher, {
  read: readShape(Publisher, ['id', 'name']),
  write: writeShape(Publisher, ['name']),
}) {}

/** The longest time of a command. */
const TIMEOUT_MS = 2500;

const TRANSIENT = ['TransientTransactionError'];
const LOST_RACES = [
  { errorCode: 112, errorLabels: TRANSIENT },
  { errorCode: 251, errorLabels: TRANSIENT },
  { errorCode: 246, errorLabels: TRANSIENT },
];

withMongoServer(t, 'failures of MongoDB', { hasFailPoints: true }, async (t, mongo) => {
  const orm = await mongo.open({ entities: LIBRARY, orm: { driverOptions: { timeoutMS: TIMEOUT_MS } } });
  await fillLibrary(orm);
  const router = new Router().register('books', BookViewSet).register('hooked', BooksWithHooks);
  router.register('publishers', PublisherViewSet).register('slow', SlowViewSet);
  const app = await testApp(t, orm, [router]);
  let titles = 0;
  const title = (): string => `new ${(titles += 1)}`;
  const count = (name: string): Promise<number> => orm.em.fork().count(Book, { title: name });

  t.test('a failed key counter fails all requests that waited for it, and none after them', async (t) => {
    const store = () => app.inject({ method: 'POST', url: '/books', payload: { title: title() } });
    await mongo.fail(['findAndModify'], 1, { errorCode: 8000 });
    const statuses = (await Promise.all(Array.from({ length: 10 }, store))).map(({ statusCode }) => statusCode);
    t.ok(statuses.includes(500), statuses.join());
    t.strictSame(
      statuses.filter((status) => status !== 500 && status !== 201),
      [],
      statuses.join(),
    );
    t.equal((await store()).statusCode, 201);
  });

  for (const how of LOST_RACES) {
    for (const [url, payload] of [
      ['/books', { publisher: 1 }],
      ['/hooked', {}],
      ['/hooked', { publisher: 1 }],
    ] as const) {
      for (const command of ['insert', 'commitTransaction']) {
        t.test(`POST ${url} ${JSON.stringify(payload)} is repeated: ${how.errorCode} of ${command}`, async (t) => {
          const name = title();
          await mongo.fail([command], 3, how);
          const answer = await app.inject({ method: 'POST', url, payload: { ...payload, title: name } });
          t.equal(answer.statusCode, 201, answer.body);
          t.equal(await count(name), 1);
        });
      }
    }
  }

  for (const how of LOST_RACES) {
    for (const command of ['findAndModify', 'commitTransaction']) {
      t.test(`DELETE is repeated: ${how.errorCode} of ${command}`, async (t) => {
        const { id } = (await app.inject({ method: 'POST', url: '/publishers', payload: { name: title() } })).json();
        await mongo.fail([command], 3, how);
        const answer = await app.inject({ method: 'DELETE', url: `/publishers/${id}` });
        t.equal(answer.statusCode, 204, answer.body);
        t.equal(await orm.em.fork().count(Publisher, { id }), 0);
      });
    }
  }

  t.test('every command has the time limit of the ORM, and returns 503 beyond it', async (t) => {
    const always = (mode: 'alwaysOn' | 'off') => mongo.configure('maxTimeAlwaysTimeOut', mode);
    await always('alwaysOn');
    const requests = [
      ['GET', '/books'],
      ['GET', '/books?page=2&page_size=2'],
      ['GET', '/books/1'],
      ['POST', '/books', { title: 'Fir' }],
      ['POST', '/hooked', { title: 'Fir' }],
      ['PATCH', '/books/1', { title: 'Fir' }],
      ['PATCH', '/books/1', { publisher: 2 }],
      ['DELETE', '/books/1'],
      ['DELETE', '/publishers/1'],
    ] as const;
    const answers = [];
    for (const [method, url, payload] of requests) {
      answers.push(await app.inject({ method, url, ...(payload === undefined ? {} : { payload }) }));
    }
    await always('off');
    for (const [index, answer] of answers.entries()) {
      t.equal(answer.statusCode, 503, `${requests[index]![0]} ${requests[index]![1]}: ${answer.body}`);
      t.match(answer.json(), { code: 'service_unavailable' });
    }
    t.equal((await app.inject('/books/1')).statusCode, 200);
  });

  t.test('a query that takes too long returns 503 and is ended on the server', async (t) => {
    const answer = await app.inject('/slow');
    t.equal(answer.statusCode, 503, answer.body);
    t.match(answer.json(), { code: 'service_unavailable' });
    for (;;) {
      const running = await mongo.running();
      if (!running.some((text) => text.includes('sleep('))) break;
      await sleep(50);
    }
  });

  t.test('a transaction that loses every attempt returns 409, and may be sent again', async (t) => {
    const name = title();
    await mongo.fail(['commitTransaction'], 1000, LOST_RACES[0]!);
    const answer = await app.inject({ method: 'POST', url: '/hooked', payload: { title: name } });
    await mongo.fail(['commitTransaction'], 0, LOST_RACES[0]!);
    t.equal(answer.statusCode, 409, answer.body);
    t.match(answer.json(), { code: 'conflict' });
    t.match(answer.headers['retry-after'], /^[1-9]\d*$/);
    t.equal(await count(name), 0);
  });

  for (const [name, how] of [
    ['the connection is lost', { closeConnection: true }],
    ['the server waits for others for too long', { errorCode: 262 }],
    ['it takes too long', { blockConnection: true, blockTimeMS: TIMEOUT_MS + 500 }],
    ['too few members confirm', { writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' } }],
  ] as const) {
    t.test(`a commit with an unknown outcome is repeated: ${name}`, async (t) => {
      for (const [url, payload] of [
        ['/books', { publisher: 1 }],
        ['/hooked', {}],
      ] as const) {
        const book = title();
        await mongo.fail(['commitTransaction'], 'blockTimeMS' in how ? 1 : 4, how);
        const answer = await app.inject({ method: 'POST', url, payload: { ...payload, title: book } });
        t.equal(answer.statusCode, 201, answer.body);
        t.equal(await count(book), 1);
      }
    });
    t.test(`and returns 503 if it stays unknown: ${name}`, async (t) => {
      const book = title();
      await mongo.fail(['commitTransaction'], 100_000, how);
      const answer = await app.inject({ method: 'POST', url: '/hooked', payload: { title: book } });
      await mongo.fail(['commitTransaction'], 0, how);
      t.equal(answer.statusCode, 503, answer.body);
      t.match(answer.json(), { code: 'service_unavailable' });
      t.ok((await count(book)) <= 1, 'never twice');
    });
  }
});
