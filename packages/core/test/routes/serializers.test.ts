import fastify, { type FastifyInstance, type FastifySchema, type FastifyServerOptions } from 'fastify';
import t, { type Test } from 'tap';
import { Type } from 'typebox';
import { action, ModelViewSet, readShape, Router, viewset, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY } from '../support/library.ts';

const read = readShape(Book, ['id', 'title']);

class BookViewSet extends ModelViewSet(Book, { read, write: writeShape(Book, ['title']) }) {
  shout = action({ response: Type.Object({ word: Type.Ref('word') }) }, async () => ({ word: 'oak', secret: 1 }));
}

class OtherBookViewSet extends ModelViewSet(Book, { read }) {}

forEachDatabase(t, { entities: LIBRARY, only: ['sqlite'] }, async (t, orm) => {
  await fillLibrary(orm);

  const start = async (
    t: Test,
    options: FastifyServerOptions = {},
    prepare = (_app: FastifyInstance): void => {},
  ): Promise<FastifyInstance> => {
    const app = fastify(options);
    t.teardown(() => app.close());
    app.addSchema({ $id: 'word', type: 'string' });
    prepare(app);
    await app.register(viewset, { orm, health: false });
    await app.register(new Router().register('books', BookViewSet).register('others', OtherBookViewSet).plugin);
    await app.ready();
    return app;
  };

  t.test('routes that send one shape share its serializer, schemas of the application included', async (t) => {
    const app = await start(t);
    t.strictSame((await app.inject('/books/shout')).json(), { word: 'oak' });
    t.strictSame((await app.inject('/books/1')).json(), (await app.inject('/others/1')).json());
    const put = await app.inject({ method: 'PUT', url: '/books/1', payload: { title: 'Elm' } });
    t.strictSame(put.json(), { id: 1, title: 'Elm' });
    const head = await app.inject({ method: 'HEAD', url: '/books/1' });
    t.equal(head.headers['content-length'], String(Buffer.byteLength('{"id":1,"title":"Elm"}')));
  });

  t.test('a schema is read for its first response, and not again for the others', async (t) => {
    let reads = 0;
    const Word = Object.defineProperty(Type.Object({ word: Type.String() }), 'title', {
      enumerable: true,
      get: () => `read ${++reads} times`,
    });
    class WordViewSet extends ModelViewSet(Book, { read }) {
      one = action({ response: Word }, async () => ({ word: 'oak', secret: 1 }));
      other = action({ response: Word }, async () => ({ word: 'elm', secret: 1 }));
    }
    const app = fastify();
    t.teardown(() => app.close());
    await app.register(viewset, { orm, health: false });
    await app.register(new Router().register('words', WordViewSet).plugin);
    await app.ready();
    const atStart = reads;
    t.equal((await app.inject('/words/one')).body, '{"word":"oak"}');
    const atFirst = reads;
    t.ok(atFirst > atStart, 'compiled for its first response');
    for (const url of ['/words/one', '/words/other', '/words/other']) t.equal((await app.inject(url)).statusCode, 200);
    t.equal(reads, atFirst);
  });

  t.test('a hook that replaces a schema by a copy does not change the response', async (t) => {
    class CopiedViewSet extends ModelViewSet(Book, { read }) {
      accepted = action({ response: Type.Object({ word: Type.String() }) }, async (_request, reply) => {
        void reply.code(202);
        return { word: 'oak', secret: 1 };
      });
      refused = action({}, async (_request, reply) => {
        void reply.code(429);
        return { own: 'words' };
      });
    }
    const schemas: FastifySchema[] = [];
    const app = fastify();
    t.teardown(() => app.close());
    app.addHook('onRoute', (route) => {
      // OPTIONS is in no document.
      if (route.schema === undefined || route.method === 'OPTIONS') return;
      route.schema = { ...route.schema, tags: ['copied'] } as FastifySchema;
      schemas.push(route.schema);
    });
    await app.register(viewset, { orm, health: false });
    await app.register(new Router().register('others', OtherBookViewSet).register('copied', CopiedViewSet).plugin);
    await app.ready();
    t.strictSame((await app.inject('/copied/accepted')).json(), { word: 'oak' });
    t.strictSame((await app.inject('/copied/refused')).json(), { own: 'words' });
    const head = await app.inject({ method: 'HEAD', url: '/copied/accepted' });
    t.equal(head.headers['content-length'], String('{"word":"oak"}'.length));
    t.ok(
      schemas.every(({ response }) => Object.keys(response as object).includes('500')),
      'documents have them all',
    );
  });

  t.test('an invalid response schema fails at start, on the first route and on others', async (t) => {
    const wrong = [{ type: 'bogus' }, { type: 'string', maxLength: 'many' }, { $ref: 'nowhere' }];
    for (const schema of wrong) {
      class WrongViewSet extends ModelViewSet(Book, { read }) {
        wrong = action({ response: Type.Object({ it: Type.Unsafe(schema) }) }, async () => ({ it: 'x' }));
      }
      const app = fastify();
      t.teardown(() => app.close());
      await app.register(viewset, { orm, health: false });
      await app.register(new Router().register('others', OtherBookViewSet).register('wrong', WrongViewSet).plugin);
      await t.rejects(async () => app.ready(), { code: 'FST_ERR_SCH_SERIALIZATION_BUILD' }, JSON.stringify(schema));
    }
  });

  t.test('a serializer compiler of the application does not affect the routes of the library', async (t) => {
    const app = await start(t, {}, (app) => {
      app.setSerializerCompiler(() => () => {
        throw new Error('asked for a route of the library');
      });
    });
    t.strictSame((await app.inject('/books/shout')).json(), { word: 'oak' });
    t.equal((await app.inject('/others')).statusCode, 200);
  });
});
