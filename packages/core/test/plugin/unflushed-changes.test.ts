/** A change of an entity is stored, or the request fails with an error that names the entity. It is never lost in silence. */
import type { MikroORM } from '@mikro-orm/core';
import { defineEntity, p } from '@mikro-orm/core';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  action,
  afterCommit,
  inTransaction,
  ModelViewSet,
  Permission,
  readShape,
  Router,
  serverOptions,
  ViewSet,
  viewset,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';

const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary(), name: p.string() } });
const Author = defineEntity({
  name: 'Author',
  properties: { id: p.integer().primary(), name: p.string(), books: () => p.oneToMany(Book).mappedBy('author') },
});
const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    author: () => p.manyToOne(Author).nullable(),
    tags: () => p.manyToMany(Tag),
  },
});
const read = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title']);

/** Ways to change something, each with the name of the entity that changes. */
const CHANGES: Readonly<Record<string, readonly [string, (request: FastifyRequest) => Promise<unknown>]>> = {
  create: ['Book', async ({ em }) => em.create(Book, { title: 'New' })],
  change: ['Book', async ({ em }) => ((await em.findOneOrFail(Book, { title: 'One' })).title = 'Other')],
  remove: ['Book', async ({ em }) => em.remove(await em.findOneOrFail(Book, { title: 'One' }))],
  reference: ['Book', async ({ em }) => (em.getReference(Book, 101).title = 'Other')],
  toOne: [
    'Book',
    async ({ em }) => {
      const author = await em.findOneOrFail(Author, { name: 'Ada' });
      (await em.findOneOrFail(Book, { title: 'One' })).author = author as never;
    },
  ],
  toMany: [
    'Book',
    async ({ em }) => {
      const book = await em.findOneOrFail(Book, { title: 'One' }, { populate: ['tags'] });
      book.tags.add(await em.findOneOrFail(Tag, { name: 'old' }));
    },
  ],
  child: [
    'Author',
    async ({ em }) => {
      const author = await em.findOneOrFail(Author, { name: 'Ada' }, { populate: ['books'] });
      author.books.add(em.create(Book, { title: 'Child' }, { persist: false }));
    },
  ],
};

type Lines = { level: number; msg: string; err?: { message: string } }[];

async function appOf(t: Test, orm: MikroORM, build: (app: FastifyInstance) => unknown) {
  const lines: Lines = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const app = fastify({ ...serverOptions(), logger: { level: 'error', stream } });
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  await build(app);
  await app.ready();
  return { app, lines };
}

forEachDatabase(t, { entities: [Author, Tag, Book] }, async (t, orm) => {
  const snapshot = async () => {
    const em = orm.em.fork();
    const books = await em.find(Book, {}, { populate: ['tags'], orderBy: { title: 1 } });
    return JSON.stringify(books.map(({ title, author, tags }) => [title, author?.id ?? null, tags.length]));
  };
  const fill = async () => {
    await orm.schema.clear();
    const em = orm.em.fork();
    em.create(Author, { id: 101, name: 'Ada' });
    em.create(Tag, { id: 101, name: 'old' });
    em.create(Book, { id: 101, title: 'One' });
    await em.flush();
  };
  const isRefused = (t: Test, response: { statusCode: number; json(): unknown }, lines: Lines, entity: string) => {
    t.equal(response.statusCode, 500);
    t.match(response.json(), { code: 'improperly_configured' });
    t.match(lines.at(-1)?.err?.message, new RegExp(`has changed (\\w+, )*${entity}\\b.*flush.*transaction`));
  };
  t.beforeEach(fill);

  class BookViewSet extends ModelViewSet(Book, { read, write }) {
    stored = action({ methods: ['post', 'put', 'patch', 'delete'] }, (request) => changeOf(request));
    lost = action({ methods: ['get', 'post'], transaction: false, listParameters: true }, (request) =>
      changeOf(request),
    );
    one = action({ methods: ['get', 'post'], detail: true, transaction: false }, (request) => changeOf(request));
  }
  const changeOf = async (request: FastifyRequest) => {
    await CHANGES[String(request.headers['x-change'])]![1](request);
    return { done: true };
  };

  t.test('an action of the collection that writes is stored', async (t) => {
    const { app, lines } = await appOf(t, orm, (app) =>
      app.register(new Router().register('books', BookViewSet).plugin),
    );
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      for (const change of Object.keys(CHANGES)) {
        await fill();
        const before = await snapshot();
        const response = await app.inject({ method, url: '/books/stored', headers: { 'x-change': change } });
        t.equal(response.statusCode, 200, `${method} ${change} ${JSON.stringify(lines)}`);
        t.not(await snapshot(), before, `${method} ${change}`);
      }
    }
    t.same(lines, []);
  });

  t.test('an action without a transaction that does not flush fails, and stores nothing', async (t) => {
    const { app, lines } = await appOf(t, orm, (app) =>
      app.register(new Router().register('books', BookViewSet).plugin),
    );
    const before = await snapshot();
    for (const [change, [entity]] of Object.entries(CHANGES)) {
      for (const url of ['/books/lost', '/books/101/one']) {
        const headers = { 'x-change': change };
        isRefused(t, await app.inject({ url, headers }), lines, entity);
        isRefused(t, await app.inject({ method: 'POST', url, headers }), lines, entity);
        t.equal((await app.inject({ method: 'HEAD', url, headers })).statusCode, 500, `${url} ${change}`);
      }
    }
    t.equal(await snapshot(), before);
  });

  t.test('a view without an entity, a plain route and an overridden operation fail as well', async (t) => {
    class PlainViewSet extends ViewSet {
      override create = changeOf;
      override list = changeOf;
    }
    class CustomViewSet extends ModelViewSet(Book, { read, write }) {
      override async create(request: FastifyRequest): Promise<never> {
        await changeOf(request);
        return { id: 1, title: 'x' } as never;
      }
      override represent(book: { title: string }): never {
        book.title += '!';
        return { id: 1, title: book.title } as never;
      }
    }
    const { app, lines } = await appOf(t, orm, async (app) => {
      app.post('/swap', changeOf);
      app.get('/swap', changeOf);
      await app.register(new Router().register('plain', PlainViewSet).register('own', CustomViewSet).plugin);
    });
    const before = await snapshot();
    for (const [change, [entity]] of Object.entries(CHANGES)) {
      for (const url of ['/swap', '/plain', '/own']) {
        const headers = { 'x-change': change };
        isRefused(t, await app.inject({ method: 'POST', url, headers, payload: { title: 'x' } }), lines, entity);
        if (url !== '/own') isRefused(t, await app.inject({ url, headers }), lines, entity);
      }
    }
    isRefused(t, await app.inject('/own'), lines, 'Book');
    isRefused(t, await app.inject('/own/101'), lines, 'Book');
    t.match(lines.at(-1)?.err?.message, /^GET \/own\/:pk has changed Book/);
    t.equal(await snapshot(), before);
  });

  t.test('in responses of every kind', async (t) => {
    const closed: string[] = [];
    const answers: Readonly<Record<string, (reply: FastifyReply) => unknown>> = {
      text: () => 'done',
      bytes: () => Buffer.from('done'),
      stream: () => Readable.from(['done']).on('close', () => closed.push('stream')),
      nothing: (reply) => void reply.code(204).send(),
      sent: (reply) => reply.send({ done: true }),
      redirect: (reply) => reply.redirect('/elsewhere'),
    };
    const { app, lines } = await appOf(t, orm, (app) => {
      app.post<{ Params: { way: string } }>('/ways/:way', async (request, reply) => {
        request.em.create(Book, { title: 'lost' });
        return answers[request.params.way]!(reply);
      });
      app.post('/callback', (request, reply) => {
        request.em.create(Book, { title: 'lost' });
        reply.send({ done: true });
      });
    });
    for (const way of Object.keys(answers)) {
      isRefused(t, await app.inject({ method: 'POST', url: `/ways/${way}` }), lines, 'Book');
    }
    isRefused(t, await app.inject({ method: 'POST', url: '/callback' }), lines, 'Book');
    t.same(closed, ['stream'], 'a stream that is not sent is closed');
  });

  t.test('a change by a hook or a permission is not lost in a write of one statement', async (t) => {
    const touch = async (request: FastifyRequest) => {
      (await request.em.findOneOrFail(Author, 101)).name = 'seen';
    };
    class Touch extends Permission {
      override async hasPermission(request: FastifyRequest) {
        await touch(request);
        return true;
      }
    }
    class TouchingViewSet extends ModelViewSet(Book, { read, write, permissionClasses: [Touch] }) {}
    const { app, lines } = await appOf(t, orm, (app) =>
      app.register(new Router().register('books', TouchingViewSet).plugin),
    );
    isRefused(t, await app.inject('/books'), lines, 'Author');
    isRefused(t, await app.inject({ method: 'POST', url: '/books', payload: { title: 'x' } }), lines, 'Author');
  });

  t.test('changes that are stored or dropped on purpose are fine', async (t) => {
    const ways: Readonly<Record<string, (request: FastifyRequest) => Promise<unknown>>> = {
      flushed: async ({ em }) => {
        em.create(Book, { title: 'stored' });
        await em.flush();
        return {};
      },
      inTransaction: (request) =>
        inTransaction(request, async () => {
          request.em.create(Book, { title: 'stored' });
          return {};
        }),
      transactional: ({ em }) =>
        em.transactional(async (own) => {
          own.create(Book, { title: 'stored' });
          return {};
        }),
      cleared: async ({ em }) => {
        em.create(Book, { title: 'stored' });
        em.clear();
        em.create(Book, { title: 'stored' });
        await em.flush();
        return {};
      },
      changedBack: async ({ em }) => {
        const book = await em.findOneOrFail(Book, 101);
        const { title } = book;
        book.title = 'Other';
        book.title = title;
        em.create(Book, { title: 'stored' });
        await em.flush();
        book.title = 'Other';
        book.title = title;
        return {};
      },
      caught: async (request) => {
        const failing = inTransaction(request, async () => {
          request.em.create(Book, { title: 'dropped' });
          (await request.em.findOneOrFail(Author, 101)).name = 'dropped';
          await request.em.flush();
          throw new Error('no');
        });
        await failing.catch(() => undefined);
        request.em.clear();
        request.em.create(Book, { title: 'stored' });
        await request.em.flush();
        return {};
      },
    };
    const { app, lines } = await appOf(t, orm, (app) => {
      app.post<{ Params: { way: string } }>('/ways/:way', async (request) => ways[request.params.way]!(request));
    });
    for (const way of Object.keys(ways)) {
      await fill();
      const response = await app.inject({ method: 'POST', url: `/ways/${way}` });
      t.equal(response.statusCode, 200, `${way} ${JSON.stringify(lines)}`);
      t.equal(await snapshot(), '[["One",null,0],["stored",null,0]]', way);
    }
    t.same(lines, []);
  });

  t.test('the error of a failed request is not replaced', async (t) => {
    const { app, lines } = await appOf(t, orm, (app) => {
      app.post('/conflict', async (request, reply) => {
        request.em.create(Book, { title: 'dropped' });
        return reply.code(409).send({ no: true });
      });
    });
    const response = await app.inject({ method: 'POST', url: '/conflict' });
    t.equal(response.statusCode, 409);
    t.same(response.json(), { no: true });
    t.same(lines, []);
  });

  t.test('a hook of the application may flush or commit before the response is sent', async (t) => {
    for (const kind of ['flush', 'transaction'] as const) {
      await fill();
      const { app, lines } = await appOf(t, orm, async (app) => {
        app.addHook('preHandler', async ({ em }) => {
          if (kind === 'transaction') await em.begin();
        });
        app.addHook('onSend', async ({ em }) => (kind === 'transaction' ? em.commit() : em.flush()));
        app.post('/plain', changeOf);
      });
      const before = await snapshot();
      const response = await app.inject({ method: 'POST', url: '/plain', headers: { 'x-change': 'create' } });
      t.equal(response.statusCode, 200, kind);
      t.not(await snapshot(), before, kind);
      t.same(lines, [], kind);
    }
  });

  t.test('a handler of a transaction may send by itself', async (t) => {
    class SendingViewSet extends ModelViewSet(Book, { read, write }) {
      send = action({ methods: ['post'] }, async (request, reply) => {
        request.em.create(Book, { title: 'stored' });
        return reply.code(202).send({ done: true });
      });
    }
    const { app, lines } = await appOf(t, orm, (app) =>
      app.register(new Router().register('books', SendingViewSet).plugin),
    );
    t.equal((await app.inject({ method: 'POST', url: '/books/send' })).statusCode, 202);
    for (let tries = 0; !(await snapshot()).includes('stored') && tries < 500; tries++) await sleep(10);
    t.equal(await snapshot(), '[["One",null,0],["stored",null,0]]');
    t.same(lines, []);
  });

  t.test('changes after the response are logged', async (t) => {
    const { app, lines } = await appOf(t, orm, (app) => {
      app.post('/late', async (request, reply) => {
        await request.em.findOneOrFail(Book, 101);
        reply.send({ done: true });
        await sleep(5);
        request.em.create(Book, { title: 'late' });
      });
      app.post('/hijacked', async (request, reply) => {
        reply.hijack();
        request.em.create(Book, { title: 'hijacked' });
        reply.raw.end('done');
      });
      app.post('/streamed', async (request, reply) => {
        await request.em.findOneOrFail(Book, 101);
        const { em } = request;
        async function* lines() {
          yield 'a';
          (await em.findOneOrFail(Book, 101)).title = 'streamed';
          yield 'b';
        }
        return reply.send(Readable.from(lines()));
      });
      app.post('/later', async (request, reply) => {
        reply.send({ done: true });
        request.em.create(Book, { title: 'stored later' });
        await sleep(5);
        await request.em.flush();
      });
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as { port: number };
    for (const path of ['late', 'hijacked', 'streamed']) {
      const response = await fetch(`http://127.0.0.1:${port}/${path}`, { method: 'POST' });
      t.equal(response.status, 200);
      await response.text();
      for (let tries = 0; lines.length === 0 && tries < 100; tries++) await sleep(10);
      const [line] = lines.splice(0);
      t.match(line?.err?.message, new RegExp(`^POST /${path} has changed Book`));
    }
    t.equal((await fetch(`http://127.0.0.1:${port}/later`, { method: 'POST' })).status, 200);
    for (let tries = 0; !(await snapshot()).includes('later') && tries < 100; tries++) await sleep(10);
    t.match(await snapshot(), /stored later/);
    t.same(lines, []);
  });

  t.test('work after a commit that does not flush is logged', async (t) => {
    const { app, lines } = await appOf(t, orm, (app) => {
      app.post<{ Params: { way: string } }>('/after/:way', (request) =>
        inTransaction(request, async () => {
          await afterCommit(request, async () => {
            request.em.create(Book, { title: 'after' });
            if (request.params.way === 'flushed') await request.em.flush();
          });
          return {};
        }),
      );
    });
    t.equal((await app.inject({ method: 'POST', url: '/after/flushed' })).statusCode, 200);
    t.match(await snapshot(), /after/);
    t.same(lines, []);
    t.equal((await app.inject({ method: 'POST', url: '/after/lost' })).statusCode, 200);
    t.match(lines[0]?.err?.message, /^Work after a commit has changed Book/);
  });
});
