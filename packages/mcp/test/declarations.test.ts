/** The options of the plugin, and its place among the others. */
import { ModelViewSet, readShape, Router, serverOptions, viewset } from '@viewset/core';
import fastify from 'fastify';
import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { mcp } from '../src/index.ts';
import { Author, connect, ENTITIES, startLibrary } from './support/app.ts';

t.test('wrong options are refused, and named', async (t) => {
  const orm = await openSqlite(t, { entities: ENTITIES });
  const message = async (options: object): Promise<string> => {
    try {
      await startLibrary(t, orm, { mcp: options });
      return 'it started';
    } catch (error) {
      t.match(error, { name: 'ImproperlyConfigured' });
      return (error as Error).message;
    }
  };
  t.match(await message({ resource: [] }), 'mcp: unknown option "resource"; did you mean "resources"?');
  for (const resources of [undefined, [], 'books', [7], true]) {
    t.match(await message({ resources }), /option "resources" must be a list of basenames/);
  }
  t.match(
    await message({ resources: ['bookz'] }),
    /"resources" has "bookz", but no view has this basename; known: .*books/,
  );
  t.match(
    await message({ resources: ['api-root'] }),
    /"resources" has "api-root", but no view has this basename; known: (?!.*api-root)/,
    'the root of the router is no resource',
  );
  t.match(
    await message({ exclude: ['burnBooks'] }),
    /"exclude" has "burnBooks", but no view has this basename, and no op/,
  );
  t.match(await message({ exclude: 'books' }), /"exclude" must be a list/);
  t.match(await message({ readOnly: 1 }), /"readOnly" must be true or false, got 1/);
  t.match(await message({ anonymous: 'yes' }), /"anonymous" must be true or false/);
  for (const origin of ['*', 'example.com', 'https://example.com/', 'https://example.com:443', 7]) {
    t.match(await message({ allowedOrigins: [origin] }), /"allowedOrigins" must be a list of origins/);
  }
  t.match(await message({ headers: ['Cookie'] }), /"headers" must be names without "cookie"/);
  for (const header of ['Content-Length', 'if-match', 'Idempotency-Key']) {
    t.match(await message({ headers: [header] }), /"headers" must be names without those that the plugin/);
  }
  t.match(await message({ headers: ['a b'] }), /"headers" must be a list of names of headers/);
  for (const maxResultBytes of [0, 1023, 1.5, '9000', Infinity]) {
    t.match(await message({ maxResultBytes }), /"maxResultBytes" must be a whole number from 1024/);
  }
  for (const path of ['mcp', '/', '/a b', '/:pk', 7]) t.match(await message({ path }), /"path" must be a path/);
  const oauth = { url: 'https://api.example/mcp', authorizationServers: ['https://login.example'] };
  t.match(await message({ oauth: 'https://login.example' }), /"oauth" must be an object/);
  t.match(await message({ oauth: { ...oauth, server: 1 } }), /mcp: option "oauth": unknown option "server"/);
  for (const url of [
    undefined,
    'api.example',
    'http://api.example/mcp',
    'https://api.example/mcp?a',
    'https://api.example/mcp#a',
  ]) {
    t.match(await message({ oauth: { ...oauth, url } }), /"oauth.url" must be the URL of the server/);
  }
  for (const authorizationServers of [undefined, [], ['login'], 'https://login.example']) {
    t.match(
      await message({ oauth: { ...oauth, authorizationServers } }),
      /"oauth.authorizationServers" must be a list of URLs/,
    );
  }
  t.match(await message({ name: '' }), /"name" must be a text/);
  t.match(await message({ instructions: 7 }), /"instructions" must be a text/);
});

t.test('the plugin needs that of core, and may be registered after the routers', async (t) => {
  const orm = await openSqlite(t, { entities: ENTITIES });
  class AuthorViewSet extends ModelViewSet(Author, { read: readShape(Author, ['id']) }) {}
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await t.rejects(async () => app.register(mcp, { resources: 'all' }), /@viewset\/core/);
  const late = fastify(serverOptions());
  t.teardown(() => late.close());
  await late.register(viewset, { orm });
  late.get('/authors/own', async () => ({ own: true }));
  await late.register(new Router().register('authors', AuthorViewSet).plugin);
  await late.register(mcp, { resources: 'all', anonymous: true });
  const { call } = await connect(t, `${await late.listen({ port: 0, host: '127.0.0.1' })}/mcp`);
  t.match((await call('describe')).value, { resources: { authors: 'Author. search, get' } });
  t.match(await call('search', { resource: 'authors' }), { isError: false });
  t.match(await call('get', { resource: 'authors', id: 'own' }), { isError: true, value: { status: 404 } });
});

t.test('a caller needs a token unless the option allows anonymous callers', async (t) => {
  const orm = await openSqlite(t, { entities: ENTITIES });
  const { app } = await startLibrary(t, orm, { mcp: { anonymous: false, path: '/tools' } });
  const send = (headers: Record<string, string>) =>
    app.inject({
      method: 'POST',
      url: '/tools',
      headers: { accept: 'application/json, text/event-stream', ...headers },
      payload: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    });
  const refused = await send({});
  t.match([refused.statusCode, refused.headers['www-authenticate']], [401, /^Bearer/]);
  t.equal((await send({ 'x-user': '7' })).statusCode, 200);
});

t.test('a client that knows only OAuth finds where its user logs in (RFC 9728)', async (t) => {
  const orm = await openSqlite(t, { entities: ENTITIES });
  const oauth = { url: 'https://api.example/mcp', authorizationServers: ['https://login.example'] };
  const { app } = await startLibrary(t, orm, { mcp: { anonymous: false, name: 'Library', oauth } });
  const refused = await app.inject({ method: 'POST', url: '/mcp', payload: {} });
  t.equal(refused.statusCode, 401);
  const metadataUrl = 'https://api.example/.well-known/oauth-protected-resource/mcp';
  t.equal(refused.headers['www-authenticate'], `Bearer resource_metadata="${metadataUrl}"`);
  const metadata = await app.inject(new URL(metadataUrl).pathname);
  t.strictSame(metadata.json(), {
    resource: 'https://api.example/mcp',
    authorization_servers: ['https://login.example'],
    bearer_methods_supported: ['header'],
    resource_name: 'Library',
  });

  const { app: without } = await startLibrary(t, orm, { mcp: { anonymous: false } });
  t.equal((await without.inject({ method: 'POST', url: '/mcp', payload: {} })).headers['www-authenticate'], 'Bearer');

  const prefixed = fastify(serverOptions());
  t.teardown(() => prefixed.close());
  await prefixed.register(viewset, { orm });
  const options = { resources: 'all' as const, oauth };
  await t.rejects(
    Promise.resolve(prefixed.register(async (scope) => scope.register(mcp, options), { prefix: '/in' })),
    /option "oauth" needs the root of the application, but the plugin has the prefix "\/in"/,
  );
});
