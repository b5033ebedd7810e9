/** The tools that read, by the SDK's own client. */
import {
  CursorPagination,
  LimitOffsetPagination,
  ModelViewSet,
  PageNumberPagination,
  readShape,
  Router,
  writeShape,
} from '@viewset/core';
import t from 'tap';
import { Type } from 'typebox';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, connect, ENTITIES, fillLibrary, startLibrary, type ToolValue } from './support/app.ts';

const read = readShape(Book, ['id', 'title']);

class Offsets extends ModelViewSet(Book, {
  read,
  pagination: LimitOffsetPagination.with({ names: { limit: 'take', offset: 'skip', results: 'items', next: null } }),
}) {}
class Arrays extends ModelViewSet(Book, {
  read,
  pagination: LimitOffsetPagination.with({ totalHeader: 'Content-Range' }),
}) {}
class NumberedArrays extends ModelViewSet(Book, {
  read,
  pagination: PageNumberPagination.with({ totalHeader: 'X-Total-Count' }),
}) {}
class Cursors extends ModelViewSet(Book, { read, pagination: CursorPagination }) {}
class Enveloped extends ModelViewSet(Book, {
  read,
  write: writeShape(Book, ['title']),
  envelope: { one: 'book', many: 'books', count: 'total' },
}) {}
class Whole extends ModelViewSet(Book, { read, pagination: null }) {}
class Selected extends ModelViewSet(Book, { read, fields: true, pagination: PageNumberPagination }) {}

const kinds = () =>
  new Router()
    .register('offsets', Offsets)
    .register('arrays', Arrays)
    .register('numbered-arrays', NumberedArrays)
    .register('cursors', Cursors)
    .register('enveloped', Enveloped)
    .register('whole', Whole)
    .register('selected', Selected);

forEachDatabase(t, { entities: ENTITIES, only: ['sqlite'] }, async (t, orm) => {
  await fillLibrary(orm);
  const { app, url } = await startLibrary(t, orm, {
    options: { secret: 'a secret of thirty-two characters' },
    mcp: { resources: 'all', maxResultBytes: 20_000 },
    before: (made) => made.get('/api/authors/own', async () => ({ own: true })) && undefined,
    routers: [kinds()],
  });
  const { client, call } = await connect(t, url, '7');
  const page = async (resource: string, query: Record<string, unknown> = {}): Promise<ToolValue> => {
    const { isError, value } = await call('search', { resource, query });
    t.equal(isError, false, JSON.stringify(value));
    return value;
  };

  t.test('seven tools declare whether they read, write or destroy', async (t) => {
    const { tools } = await client.listTools();
    t.strictSame(
      tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint, annotations?.destructiveHint]),
      [
        ['describe', true, false],
        ['search', true, false],
        ['get', true, false],
        ['create', false, false],
        ['update', false, true],
        ['delete', false, true],
        ['act', false, true],
      ],
    );
    t.ok(JSON.stringify(tools).length < 6000, 'their size does not depend on the resources');
    t.match(client.getInstructions(), /within the rights of the account.*follow no instruction/);
  });

  t.test('describe lists the resources, a line each', async (t) => {
    const { value } = await call('describe');
    t.match(value, {
      resources: {
        authors: 'Those who write books. search, get, create, update, delete',
        books: 'Book. search, get, create, update, delete. act: rate, longest, print',
        profile: 'Profile. get, update',
      },
    });
    t.notOk('api-root' in value.resources, 'the root of the router is no resource');
  });

  t.test('describe has the schemas of a resource', async (t) => {
    const { value } = await call('describe', { resource: 'books' });
    t.match(value, {
      resource: 'books',
      id: { type: 'integer' },
      search: { query: { min_pages: { type: 'integer' }, filter: { type: 'string' } } },
      create: {
        values: { required: ['title'], properties: { title: { maxLength: 100, description: 'As on the cover' } } },
      },
      update: { etag: 'optional' },
      actions: { rate: { summary: 'Rate a book', id: 'required', body: { properties: { stars: { maximum: 5 } } } } },
      record: { properties: { title: { description: 'As on the cover' } } },
    });
    t.notOk('contentSchema' in value.search.query['filter']!, 'a language of its own is described alone');
    const alone = await call('describe', { resource: 'books', operation: 'search' });
    t.ok('contentSchema' in alone.value.search.query.filter!);
    t.match((await call('describe', { resource: 'authors-books' })).value, {
      parents: { author: { type: 'integer' } },
    });
    const wrong = await call('describe', { resource: 'books', operation: 'burn' });
    t.match(wrong, { isError: true, value: { error: 'books has no operation "burn"' } });
  });

  t.test('an upload, and a route that sends a file, are left out, and describe says so', async (t) => {
    const { value } = await call('describe', { resource: 'scans' });
    t.strictSame(value.left_out, [
      'create needs a file, which no tool sends',
      'picture answers with image/png, which no tool shows',
    ]);
    const { isError, value: refused } = await call('create', { resource: 'scans', values: { name: 'x' } });
    t.match(
      [isError, refused],
      [true, { error: 'scans has no create', operations: ['search', 'get', 'update', 'delete'] }],
    );
  });

  t.test('search continues from page to page, with every kind of pages', async (t) => {
    const sizes = {
      books: 'page_size',
      offsets: 'take',
      arrays: 'limit',
      'numbered-arrays': 'page_size',
      cursors: 'page_size',
      enveloped: 'page_size',
    };
    for (const [resource, size] of Object.entries(sizes)) {
      const titles: string[] = [];
      let query: Record<string, unknown> | null = { [size]: 2 };
      for (let pages = 0; query !== null && pages < 9; pages++) {
        const found: ToolValue = await page(resource, query);
        titles.push(...found.records.map(({ title }) => title));
        query = found.next;
      }
      t.strictSame(titles, ['Ash', 'Birch', 'Cedar', 'Date', 'Elm'], resource);
    }
    t.equal((await page('books')).count, 5);
    t.equal((await page('enveloped')).count, 5, 'under another name');
    t.equal((await page('arrays')).count, 5, 'in Content-Range');
    t.equal((await page('numbered-arrays')).count, 5, 'in X-Total-Count');
    t.equal((await page('arrays', { limit: 5 })).next, null, 'a full last page is the last');
    t.equal((await page('numbered-arrays', { page_size: 5 })).next, null);
    t.strictSame((await page('whole')).next, null, 'a list without pages is whole');
  });

  t.test('search takes filters, an order, lists and a condition in JSON Logic', async (t) => {
    const ids = async (query: Record<string, unknown>): Promise<number[]> =>
      (await page('books', query)).records.map(({ id }) => id);
    t.strictSame(await ids({ search: 'ash' }), [1]);
    t.strictSame(await ids({ min_pages: 400, sort: ['-pages'] }), [5, 4]);
    t.strictSame(await ids({ ids: [2, 3] }), [2, 3]);
    t.strictSame(await ids({ filter: { '>': [{ var: 'pages' }, 450] } }), [5]);
    const { records } = await page('selected', { fields: ['title'], page_size: 1 });
    t.strictSame(records, [{ title: 'Ash' }]);
  });

  t.test('get shows one record, without its envelope, with its tag', async (t) => {
    t.match((await call('get', { resource: 'books', id: 1 })).value, { record: { id: 1, title: 'Ash' }, etag: /^"/ });
    t.strictSame((await call('get', { resource: 'enveloped', id: '2' })).value.record, { id: 2, title: 'Birch' });
    t.strictSame((await call('get', { resource: 'profile' })).value, { record: { theme: 'dark' } });
    const nested = { resource: 'authors-books', id: 1 };
    t.match((await call('get', { ...nested, parents: { author: 1 } })).value, { record: { title: 'Ash' } });
    t.match(await call('get', { ...nested, parents: { author: 2 } }), { isError: true, value: { status: 404 } });
  });

  t.test('errors say how to correct a call', async (t) => {
    const errors = async (name: string, args: Record<string, unknown>): Promise<ToolValue> => {
      const { isError, value } = await call(name, args);
      t.equal(isError, true, JSON.stringify(value));
      return value;
    };
    t.match(await errors('search', { resource: 'book' }), {
      error: 'There is no resource "book"',
      known_resources: /books/,
    });
    t.match(await errors('search', { resource: 'books', query: { page_sise: 2 } }), {
      status: 400,
      details: [{ argument: 'query.page_sise', message: 'is not known here; did you mean "page_size"?' }],
    });
    t.match(await errors('search', { resource: 'books', query: { min_pages: 'many' } }), {
      details: [{ argument: 'query.min_pages' }],
      accepted: { 'query.min_pages': { type: 'integer' } },
    });
    t.match(await errors('search', { resource: 'books', query: { search: null } }), { error: /must not be null/ });
    t.match(await errors('search', { resource: 'books', filter: {} }), {
      error: 'Unknown arguments: "filter"',
      known_arguments: ['resource', 'parents', 'query'],
    });
    t.match(await errors('search', { resource: 7 }), { error: /Wrong arguments: resource must be a string/ });
    t.match(await errors('search', {}), { error: /resource is required/ });
    t.match(await errors('get', { resource: 'books' }), { error: 'books needs "id": the id of the record' });
    t.match(await errors('get', { resource: 'profile', id: 1 }), { error: 'profile takes no "id" here' });
    t.match(await errors('get', { resource: 'authors-books', id: 1 }), {
      error: /"parents" with the id of each of: author/,
    });
    t.match(await errors('get', { resource: 'books', id: 1, parents: { shelf: 1 } }), {
      error: /books has no parents/,
    });
    t.match(await errors('get', { resource: 'books', id: 99 }), { status: 404, hint: /search lists the records/ });
    t.match(await errors('create', { resource: 'books', values: { titel: 'x' } }), {
      error: 'values has no "titel"',
      known_names: ['title', 'pages', 'notes'],
    });
    t.match(await errors('create', { resource: 'enveloped', values: { title: '' } }), {
      details: [{ argument: 'values.title' }],
      accepted: { 'values.title': { type: 'string', minLength: 1, maxLength: 100 } },
    });
    t.strictSame(await errors('act', { resource: 'books', action: 'rate', id: 1 }), {
      error: '"body" is required',
      details: [{ argument: 'body', message: 'is required' }],
      accepted: {
        body: {
          type: 'object',
          properties: { stars: { type: 'integer', minimum: 1, maximum: 5 } },
          required: ['stars'],
        },
      },
    });
    t.match(await errors('act', { resource: 'books', action: 'rate', id: 1, body: { stars: 9 } }), {
      details: [{ argument: 'body.stars', message: 'must be <= 5' }],
      accepted: { 'body.stars': { maximum: 5 } },
    });
    t.match(await errors('act', { resource: 'books', action: 'burn' }), { actions: ['rate', 'longest', 'print'] });
    t.match(await errors('act', { resource: 'books', action: 'longest', body: {} }), {
      error: 'longest takes no "body"',
    });
    await t.rejects(client.callTool({ name: 'burn', arguments: {} }), /no tool of this name/);
  });

  t.test('an id is one segment of the path, and no way to another route', async (t) => {
    for (const id of [
      '..',
      '.',
      '',
      '%2e%2e',
      '1/../2',
      '1?x=y',
      '1#',
      'longest',
      'own',
      '\u0000',
      '\ud800',
      'a'.repeat(500),
    ]) {
      const { isError, value } = await call('get', { resource: 'books', id });
      t.equal(isError, true, `${id}: ${JSON.stringify(value)}`);
    }
    t.equal((await app.inject('/api/authors/own')).statusCode, 200, 'the route is there');
    t.match(await call('get', { resource: 'authors', id: 'own' }), { isError: true, value: { status: 404 } });
  });

  t.test('a route registered before in another scope is not shown either', async (t) => {
    const { app: other, url: early } = await startLibrary(t, orm, {
      first: (made) =>
        made.register(async (scope) => void scope.get('/api/authors/early', async () => ({ id: 1, name: 'early' }))),
    });
    t.equal((await other.inject('/api/authors/early')).statusCode, 200);
    const { call: send } = await connect(t, early, '7');
    t.match(await send('get', { resource: 'authors', id: 'early' }), {
      isError: true,
      value: { status: 404 },
    });
  });

  t.test('a hook that responds before the route is not treated as the route', async (t) => {
    const { url: hooked } = await startLibrary(t, orm, {
      first: (made) =>
        void made.addHook('onRequest', async (request, reply) => {
          if (request.url.startsWith('/api/authors/')) return reply.send({ id: 1, name: 'of a hook' });
        }),
    });
    const { call: send } = await connect(t, hooked, '7');
    t.match(await send('get', { resource: 'authors', id: 1 }), {
      isError: true,
      value: { error: 'The response is not that of the resource' },
    });
  });

  t.test('values of any depth are refused, and fail nothing', async (t) => {
    const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
    t.match(await call('create', { resource: 'books', values: { title: deep(100) } }), { isError: true });
    t.match(await call('search', { resource: 'books', query: { min_pages: deep(100) } }), { isError: true });
    t.match(await call('act', { resource: 'books', action: 'rate', id: 1, body: deep(100) }), { isError: true });
    const jsonrpc = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
    for (const levels of [5_000, 200_000]) {
      for (const [name, argument] of [
        ['create', 'values'],
        ['search', 'query'],
        ['act', 'body'],
      ] as const) {
        const args = { resource: 'books', action: 'rate', id: 1, [argument]: { title: 'DEEP' } };
        const { action: _action, id: _id, ...others } = args;
        const params = { name, arguments: name === 'act' ? args : others };
        const text = JSON.stringify({ ...jsonrpc, params }).replace('"DEEP"', '['.repeat(levels) + ']'.repeat(levels));
        const headers = {
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          'x-user': '7',
        };
        const answer = await fetch(url, { method: 'POST', headers, body: text });
        t.match(await answer.text(), /"isError":true|"error":/, `${name} with ${levels} levels`);
        t.ok(answer.status < 500);
      }
    }
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`p${at}`, at]));
    t.match(await call('search', { resource: 'books', query: many }), { isError: true, value: { status: 414 } });
    const { value } = await call('create', { resource: 'books', values: many });
    t.match(value, { error: /^values has no "p0", .* and 4990 more$/ });
  });

  t.test('an error in a format of the application is returned as it is', async (t) => {
    const { url: other } = await startLibrary(t, orm, {
      options: {
        formatError: ({ message }) => ({ status: 422, body: { errors: { body: [message] } } }),
        errorSchema: Type.Object({ errors: Type.Object({ body: Type.Array(Type.String()) }) }),
      },
    });
    const { call: send } = await connect(t, other, '7');
    const { url: third } = await startLibrary(t, orm, {
      options: {
        formatError: ({ message }) => ({ body: { error: message, details: ['no object', null, { path: 7 }] } }),
        errorSchema: Type.Object({ error: Type.String(), details: Type.Array(Type.Unknown()) }),
      },
    });
    const { value: own } = await (await connect(t, third, '7')).call('get', { resource: 'books', id: 99 });
    t.match(own, { error: 'Not found', status: 404 });
    t.notOk('details' in own);
    t.match(await send('get', { resource: 'books', id: 99 }), {
      isError: true,
      value: { error: 'The API answered 422', status: 422, answer: { errors: { body: ['Not found'] } } },
    });
  });

  t.test('a response that is too large is an error that says how to request less', async (t) => {
    const em = orm.em.fork();
    await em.nativeUpdate(Book, { id: { $lt: 4 } }, { notes: 'x'.repeat(9_000) });
    t.match(await call('search', { resource: 'books', query: { page_size: 4 } }), {
      isError: true,
      value: { error: 'The response has more than 20000 bytes; ask for a smaller query.page_size, such as 2' },
    });
    t.match(await call('search', { resource: 'books', query: { page_size: 2 } }), { isError: false });
    await em.nativeUpdate(Book, { id: 1 }, { notes: 'x'.repeat(30_000) });
    t.match(await call('get', { resource: 'books', id: 1 }), {
      isError: true,
      value: { error: 'The response has more than 20000 bytes' },
    });
    t.match(await call('update', { resource: 'books', id: 1, values: { title: 'Oak' } }), {
      isError: false,
      value: { note: /^It was done\. The response has more than/ },
    });
    await em.nativeUpdate(Book, {}, { notes: '' });
    t.match((await call('get', { resource: 'books', id: 1 })).value, { record: { title: 'Oak' } });
  });
});
