/** Whom the tools serve with what: nothing that the routes themselves would refuse. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { auth, LogEmailSender } from '@viewset/auth';
import {
  AllowAny,
  IPRateLimit,
  IsAuthenticated,
  IsOwner,
  ModelViewSet,
  Permission,
  readShape,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '@viewset/core';
import fastify, { type FastifyRequest } from 'fastify';
import t from 'tap';
import { Account, Role } from '../../auth/test/support/entities.ts';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { mcp } from '../src/index.ts';
import { Author, Book, connect, ENTITIES, fillLibrary, Profile, startLibrary } from './support/app.ts';

const read = readShape(Author, ['id', 'name']);

class IsAda extends Permission {
  override hasPermission({ params }: FastifyRequest): boolean {
    return (params as { author?: string }).author === '1';
  }
}
class IsBodyFine extends Permission {
  override hasPermission({ method, body }: FastifyRequest): boolean {
    return method === 'GET' || (body as { name?: string } | undefined)?.name !== undefined;
  }
}
class Broken extends Permission {
  override hasPermission(): boolean {
    throw new TypeError('a secret of the server');
  }
}

class AdaViewSet extends ModelViewSet(Book, { read: readShape(Book, ['id', 'title']), permissionClasses: [IsAda] }) {}
class FineViewSet extends ModelViewSet(Author, {
  read,
  write: writeShape(Author, ['name']),
  permissionClasses: [IsBodyFine],
}) {}
class CustomViewSet extends ModelViewSet(Profile, {
  read: readShape(Profile, ['id', 'theme']),
  permissionClasses: [IsOwner('owner', { scope: true })],
}) {}
class BrokenViewSet extends ModelViewSet(Author, { read, permissionClasses: [Broken] }) {}

forEachDatabase(t, { entities: ENTITIES, only: ['sqlite'] }, async (t, orm) => {
  await fillLibrary(orm);

  t.test('an anonymous caller sees only open resources', async (t) => {
    const { url } = await startLibrary(t, orm);
    const { client, call } = await connect(t, url);
    t.strictSame(
      (await client.listTools()).tools.map(({ name }) => name),
      ['describe', 'search', 'get', 'update', 'delete', 'act'],
      'scans has update and delete for all, but no create',
    );
    const { resources } = (await call('describe')).value;
    t.equal(resources['books'], 'Book. search, get. act: longest');
    t.notOk('profile' in resources);
    t.notOk('secrets' in resources, 'no option names it');
    t.match(await call('describe', { resource: 'profile' }), { isError: true, value: { error: /may do nothing/ } });
    t.match(await call('create', { resource: 'books', values: { title: 'x' } }), {
      isError: true,
      value: { status: 401, hint: /valid token/ },
    });
    t.match(await call('get', { resource: 'profile' }), { isError: true, value: { status: 401 } });
    const unknown = await call('update', { resource: 'profile', values: { owner: 1 } });
    t.match(unknown, { isError: true, value: { status: 401 } });
    t.notMatch(JSON.stringify(unknown), 'theme', 'no error tells the fields');
    t.match(await call('search', { resource: 'secrets' }), {
      isError: true,
      value: { error: /no resource "secrets"/ },
    });
    const { known_resources: known } = (await call('search', { resource: 'secrets' })).value;
    t.strictSame(known, ['authors', 'books', 'authors-books', 'scans']);
  });

  t.test('rights follow the account', async (t) => {
    const { url } = await startLibrary(t, orm);
    const [reader, librarian] = [await connect(t, url, '7'), await connect(t, url, '8 librarian')];
    const actions = async ({ call }: typeof reader): Promise<unknown> =>
      Object.keys((await call('describe', { resource: 'books' })).value.actions);
    t.strictSame(await actions(reader), ['rate', 'longest', 'print']);
    t.strictSame(await actions(librarian), ['rate', 'longest', 'purge', 'print']);
    t.match(await librarian.call('act', { resource: 'books', action: 'purge' }), {
      value: { answer: { purged: true } },
    });
    t.match(await reader.call('act', { resource: 'books', action: 'purge' }), {
      isError: true,
      value: { status: 403 },
    });
    t.match(await librarian.call('get', { resource: 'profile' }), { isError: true, value: { status: 404 } });
  });

  t.test('a permission that depends on the request is checked when the tool is called', async (t) => {
    const router = new Router()
      .register('writers', FineViewSet)
      .register('writers/:author/works', AdaViewSet)
      .register('own', CustomViewSet)
      .register('broken', BrokenViewSet);
    const { url } = await startLibrary(t, orm, { mcp: { resources: 'all' }, routers: [router] });
    const { call } = await connect(t, url, '7');
    const { resources } = (await call('describe')).value;
    t.match(resources, { 'writers-works': 'Book. search, get', writers: /create/ });
    t.match(await call('search', { resource: 'writers-works', parents: { author: 1 } }), { isError: false });
    t.match(await call('search', { resource: 'writers-works', parents: { author: 2 } }), { isError: true });
    t.match((await call('search', { resource: 'own' })).value, { count: 1 });
    const { call: stranger } = await connect(t, url, '9');
    t.match((await stranger('search', { resource: 'own' })).value, { count: 0 });

    t.notOk('broken' in resources, 'a permission that fails does not say yes');
    const broken = await call('search', { resource: 'broken' });
    t.match(broken, { isError: true, value: { status: 500, error: 'An internal error occurred' } });
    t.notMatch(JSON.stringify(broken), /secret of the server/);
  });

  t.test('options leave out resources, operations and everything that writes', async (t) => {
    const { url } = await startLibrary(t, orm, {
      mcp: { resources: 'all', exclude: ['authors', 'destroyBook', 'rateBook', 'purgeBooks', 'printBooks'] },
    });
    const { call } = await connect(t, url, '7');
    const { resources } = (await call('describe')).value;
    t.equal(resources['books'], 'Book. search, get, create, update. act: longest');
    t.notOk('authors' in resources);
    t.match(await call('delete', { resource: 'books', id: 1 }), {
      isError: true,
      value: { error: 'books has no delete' },
    });

    t.match(await call('update', { resource: 'books', id: 1, values: { pages: 1 } }), { isError: false });
    const { url: unchanging } = await startLibrary(t, orm, { mcp: { exclude: ['updateBook'] } });
    const { call: change } = await connect(t, unchanging, '7');
    t.match(await change('update', { resource: 'books', id: 1, values: { title: 'x' } }), {
      isError: true,
      value: { error: 'books has no update' },
    });

    const { url: reading } = await startLibrary(t, orm, { mcp: { readOnly: true } });
    const reader = await connect(t, reading, '7');
    const { tools } = await reader.client.listTools();
    t.strictSame(
      tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]),
      ['describe', 'search', 'get', 'act'].map((name) => [name, true]),
    );
    t.match(await reader.call('update', { resource: 'books', id: 1, values: {} }), { isError: true });
    t.match(await reader.call('act', { resource: 'books', action: 'rate', id: 1, body: { stars: 1 } }), {
      isError: true,
    });
  });

  t.test('a call counts for the throttles, and so does its message', async (t) => {
    const { url } = await startLibrary(t, orm, { options: { throttles: [new IPRateLimit(6, 60)] } });
    const { call } = await connect(t, url, '7');
    const results = [await call('get', { resource: 'books', id: 1 }), await call('get', { resource: 'books', id: 1 })];
    t.match(results, [{ isError: false }, { isError: false }]);
    // Two requests for each call, and one for the connection: the sixth is the message, the seventh what is behind it.
    t.match(await call('get', { resource: 'books', id: 1 }), {
      isError: true,
      value: { status: 429, hint: /Try again in \d+ seconds/ },
    });
  });

  t.test('only the named headers are passed to a route', async (t) => {
    const { url } = await startLibrary(t, orm, { mcp: { headers: [] } });
    const { call } = await connect(t, url, '7');
    t.match(await call('create', { resource: 'books', values: { title: 'x' } }), {
      isError: true,
      value: { status: 401 },
    });
  });
});

forEachDatabase(t, { entities: [...ENTITIES, Account, Role], only: ['sqlite'] }, async (t, orm) => {
  const role = orm.em.fork().create(Role, { name: 'user' });
  const account = { email: 'ann@example.com', name: 'Ann', password: 'x', is_active: true, role };
  class PublicViewSet extends ModelViewSet(Author, { read, permissionClasses: [AllowAny] }) {}
  class PrivateViewSet extends ModelViewSet(Author, {
    read,
    write: writeShape(Author, ['name']),
    permissionClasses: [IsAuthenticated],
  }) {}

  const start = async (anonymous: boolean) => {
    const app = fastify(serverOptions());
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    await app.register(auth, {
      account: Account,
      defaultRole: 'user',
      urlPrefix: '/api/auth',
      secret: 'a secret of more than thirty-two characters',
      mailer: new LogEmailSender(app.log),
    });
    await app.register(mcp, { resources: 'all', anonymous });
    const router = new Router({ prefix: 'api' }).register('open', PublicViewSet).register('private', PrivateViewSet);
    await app.register(router.plugin);
    const address = await app.listen({ port: 0, host: '127.0.0.1' });
    return { app, url: `${address}/mcp` };
  };
  const client = async (url: string, token?: string): Promise<Client> => {
    const made = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    await made.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    t.teardown(() => made.close());
    return made;
  };
  const resourcesOf = async (made: Client): Promise<string[]> => {
    const { structuredContent } = await made.callTool({ name: 'describe', arguments: {} });
    return Object.keys((structuredContent as { resources: object }).resources);
  };

  t.test('with authentication, tokens identify the caller, and the auth routes are never offered', async (t) => {
    const em = orm.em.fork();
    const ann = em.create(Account, { ...account, role: em.create(Role, { name: 'user' }) } as never);
    await em.flush();
    const { app, url } = await start(false);
    const token = app.auth.issueToken(ann);
    t.strictSame(await resourcesOf(await client(url, token)), ['open', 'private']);
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    for (const authorization of [undefined, 'Bearer wrong']) {
      const headers = { accept: 'application/json, text/event-stream', ...(authorization && { authorization }) };
      const refused = await app.inject({ method: 'POST', url: '/mcp', headers, payload: body });
      t.equal(refused.statusCode, 401);
      t.match(refused.headers['www-authenticate'], /^Bearer/);
    }

    const { app: other, url: open } = await start(true);
    t.strictSame(await resourcesOf(await client(open)), ['open'], 'no token is needed');
    t.strictSame(await resourcesOf(await client(open, token)), ['open', 'private'], 'and a good one counts');
    const headers = { accept: 'application/json, text/event-stream', authorization: 'Bearer wrong' };
    const refused = await other.inject({ method: 'POST', url: '/mcp', headers, payload: body });
    t.equal(refused.statusCode, 401, 'a bad one is not taken for none');
    t.match(refused.headers['www-authenticate'], /invalid_token/);
  });
});
