/** The protocol over HTTP: its revisions, and what is no message of it. */
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { action, ModelViewSet, readShape, Router } from '@viewset/core';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { createServer as createSecureServer, request as secureRequest } from 'node:https';
import type { AddressInfo, ListenOptions, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Author, connect, ENTITIES, fillLibrary, startLibrary } from './support/app.ts';

const ACCEPT = 'application/json, text/event-stream';

const slow: { begun?: () => void; ended?: boolean } = {};

class SlowViewSet extends ModelViewSet(Author, { read: readShape(Author, ['id']) }) {
  slow = action({ methods: ['post'] }, async ({ raw }) => {
    slow.begun?.();
    for (let waits = 0; waits < 200 && !raw.destroyed; waits++) await sleep(10);
    slow.ended = raw.destroyed;
    return {};
  });

  /** GET /slow/sender: what a route knows of the client. */
  sender = action({}, async ({ ip, protocol, headers }) => ({
    ip: (ip as string | undefined) ?? null,
    protocol,
    agent: headers['user-agent'],
    language: headers['accept-language'],
    cookie: headers.cookie ?? null,
    secret: headers['x-secret'] ?? null,
  }));
}

forEachDatabase(t, { entities: ENTITIES, only: ['sqlite'] }, async (t, orm) => {
  await fillLibrary(orm);
  const { app, url } = await startLibrary(t, orm, {
    mcp: { allowedOrigins: ['https://pages.example'], resources: 'all', instructions: 'Prices are in euros.' },
    routers: [new Router().register('slow', SlowViewSet)],
  });
  const post = (payload: unknown, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { accept: ACCEPT, 'content-type': 'application/json', ...headers },
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    });
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

  t.test('a client goes on after a restart of the server, with the session that it had elsewhere', async (t) => {
    const session = '7a1f0c66-6c0e-4b3c-9d1c-0d2f6f0f3a11';
    const accept = 'application/json';
    const stale = { accept, 'mcp-session-id': session, 'mcp-protocol-version': '2025-06-18' };
    t.match((await post(list, stale)).json(), { result: { tools: Array } });
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call' };
    const get = { ...call, params: { name: 'get', arguments: { resource: 'books', id: 1 } } };
    t.match((await post(get, stale)).json(), { result: { content: Array } });
    for (const method of ['GET', 'DELETE'] as const) {
      const answer = await app.inject({ method, url: '/mcp', headers: { ...stale, accept: 'text/event-stream' } });
      t.match([answer.statusCode, answer.headers.allow], [405, 'POST, OPTIONS'], `${method}: there is no session`);
    }
    const again = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    const initialize = await post({ jsonrpc: '2.0', id: 3, method: 'initialize', params: again }, stale);
    t.match(initialize.json(), { result: { protocolVersion: '2025-06-18' } });
    t.notOk('mcp-session-id' in initialize.headers);
  });

  t.test('clients of earlier revisions get the same', async (t) => {
    const { client, call } = await connect(t, url, '7', 'legacy');
    t.equal(client.getNegotiatedProtocolVersion(), '2025-11-25');
    t.match(client.getInstructions(), /Prices are in euros\.$/);
    t.match((await call('get', { resource: 'books', id: 1 })).value, { record: { title: 'Ash' } });
    t.match(await call('get', { resource: 'books', id: 99 }), { isError: true });
  });

  t.test('a client of the first SDK gets the same', async (t) => {
    const client = new EarlierClient({ name: 'test', version: '1.0.0' });
    const transport = new EarlierTransport(new URL(url), { requestInit: { headers: { 'x-user': '7' } } });
    await client.connect(transport);
    t.teardown(() => client.close());
    t.equal((await client.listTools()).tools.length, 7);
    const args = { resource: 'books', values: { title: 'Linden' } };
    t.match(await client.callTool({ name: 'create', arguments: args }), {
      structuredContent: { record: { title: 'Linden' } },
    });
  });

  t.test('there are no streams and no sessions', async (t) => {
    for (const method of ['GET', 'DELETE'] as const) {
      const { statusCode, headers } = await app.inject({
        method,
        url: '/mcp',
        headers: { accept: 'text/event-stream' },
      });
      t.match([statusCode, headers['allow']], [405, /POST/]);
    }
    const { headers } = await post({ ...list, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
    t.notOk('mcp-session-id' in headers);
    const subscribing = await post(
      {
        ...list,
        method: 'subscriptions/listen',
        params: {
          notifications: { toolsListChanged: true },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
    );
    t.match(subscribing.body, /"error"/, 'no request is held open');
  });

  t.test('pages of other origins are refused', async (t) => {
    const foreign = [
      'https://evil.example',
      'null',
      'https://pages.example:8443',
      '',
      'http://localhost.evil.example',
      'http://evil.example/localhost',
      'http://evil.example/app.localhost',
      'http://127.0.0.1.evil.example',
    ];
    for (const origin of foreign) t.equal((await post(list, { origin })).statusCode, 403, origin);
    t.equal((await post(list, { origin: 'https://pages.example' })).statusCode, 200);
  });

  t.test('pages of localhost are refused only in production', async (t) => {
    const before = process.env['NODE_ENV'];
    t.teardown(() => {
      if (before === undefined) delete process.env['NODE_ENV'];
      else process.env['NODE_ENV'] = before;
    });
    const local = [
      'http://localhost:6274',
      'http://app.localhost:3000',
      'http://127.0.0.1',
      'http://127.0.0.2',
      'http://[::1]:5173',
    ];
    for (const [environment, status] of [
      ['development', 200],
      ['production', 403],
    ] as const) {
      process.env['NODE_ENV'] = environment;
      for (const origin of local) {
        t.equal((await post(list, { origin })).statusCode, status, `${origin} in ${environment}`);
      }
    }
  });

  t.test('a client that accepts only JSON gets JSON', async (t) => {
    const modern = {
      ...list,
      params: {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    };
    const ofModern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
    for (const accept of ['application/json', '*/*', 'application/*;q=0.9, text/plain']) {
      for (const [message, headers] of [
        [list, {}],
        [modern, ofModern],
      ] as const) {
        const { statusCode, headers: received, json } = await post(message, { accept, ...headers });
        t.equal(statusCode, 200, accept);
        t.match(received['content-type'], /^application\/json/);
        t.equal(json<{ result: { tools: unknown[] } }>().result.tools.length, 6, 'those of anonymous requests');
      }
    }
    const failed = await post({ ...list, method: 'resources/list' }, { accept: 'application/json' });
    t.match(failed.json(), { id: 1, error: { code: -32_601 } });
    const notified = await post(
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { accept: 'application/json' },
    );
    t.equal(notified.statusCode, 202);
  });

  t.test('schemas of arguments have no lists of types, which clients warn of', async (t) => {
    const { result } = (await post(list, { accept: 'application/json' })).json();
    t.notMatch(JSON.stringify(result), /"type":\[/);
  });

  t.test('objects that a model sends as JSON text are read', async (t) => {
    const call = async (name: string, args: object) => {
      const params = { name, arguments: args };
      const headers = { accept: 'application/json', 'x-user': '7' };
      const { result } = (await post({ ...list, method: 'tools/call', params }, headers)).json();
      return result.structuredContent;
    };
    t.match(await call('search', { resource: 'books', query: '{"search":"ash"}' }), { records: [{ title: 'Ash' }] });
    const wrong = { error: /Wrong arguments: query must be an object/ };
    for (const query of ['["a"]', '{"a"', 'ash', '7']) {
      t.match(await call('search', { resource: 'books', query }), wrong);
    }
    const stored = await call('create', { resource: 'books', values: '{"title":"{\\"a\\":1}"}' });
    t.match(stored, { record: { title: '{"a":1}' } }, 'texts inside stay texts');
  });

  t.test('an invalid message is rejected', async (t) => {
    t.match((await post([list, list])).json(), { error: { code: -32_600, message: /one message/ } });
    t.equal((await post([list])).statusCode, 400);
    t.equal((await post('{"a')).statusCode, 400);
    t.equal((await post('')).statusCode, 400);
    t.equal((await post('7')).statusCode, 400);
    t.equal((await post({})).statusCode, 400);
    t.equal((await post(list, { 'content-type': 'text/plain' })).statusCode, 415);
    t.equal((await post(list, { accept: 'text/html' })).statusCode, 406);
    t.equal((await post(list, { 'mcp-protocol-version': '1999-01-01' })).statusCode, 400);
    t.equal((await post({ ...list, params: { padding: 'x'.repeat(1_100_000) } })).statusCode, 413);
    t.match((await post({ ...list, method: 'resources/list' })).body, /-32601/, 'there is nothing else than tools');
  });

  t.test('a call ends with its client', async (t) => {
    const started = new Promise<void>((resolve) => (slow.begun = resolve));
    const params = { name: 'act', arguments: { resource: 'slow', action: 'slow' } };
    const headers = { accept: ACCEPT, 'content-type': 'application/json' };
    const sent = request(url, { method: 'POST', headers, agent: false });
    sent.on('error', () => undefined);
    sent.end(JSON.stringify({ ...list, method: 'tools/call', params }));
    await started;
    sent.destroy();
    for (let waits = 0; waits < 300 && slow.ended === undefined; waits++) await sleep(10);
    t.equal(slow.ended, true, 'its request is over, as if its own client had gone');
  });

  t.test('a route sees the client, and no header that is not passed on', async (t) => {
    const params = { name: 'act', arguments: { resource: 'slow', action: 'sender' } };
    const answer = await new Promise<string>((resolve, reject) => {
      const headers = {
        accept: ACCEPT,
        'content-type': 'application/json',
        'user-agent': 'a model',
        'accept-language': 'de',
        cookie: 'session=1',
        'x-secret': '1',
      };
      const sent = request(url, { method: 'POST', headers, agent: false, localAddress: '127.0.0.2' }, (response) => {
        void text(response).then(resolve, reject);
      });
      sent.on('error', reject);
      sent.end(JSON.stringify({ ...list, method: 'tools/call', params }));
    });
    const { result } = JSON.parse(answer.slice(answer.indexOf('{'))) as { result: { structuredContent: unknown } };
    t.strictSame(result.structuredContent, {
      answer: { ip: '127.0.0.2', protocol: 'http', agent: 'a model', language: 'de', cookie: null, secret: null },
    });
  });

  t.test('a tool calls a route over the connection of the client, like a direct request', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'viewset-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const [key, cert, path] = ['key.pem', 'cert.pem', 'socket'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const keys = [
      'req',
      '-x509',
      '-newkey',
      'ed25519',
      '-nodes',
      '-keyout',
      key,
      '-out',
      cert,
      '-subj',
      '/CN=localhost',
    ];
    execFileSync('openssl', keys, { stdio: 'ignore' });
    const listen = async (server: Server, place: ListenOptions): Promise<number> => {
      t.teardown(() => server.close());
      await new Promise<void>((resolve) => server.listen(place, resolve));
      return (server.address() as AddressInfo).port;
    };
    const local = createServer((...exchange) => app.routing(...exchange));
    const secure = createSecureServer({ key: readFileSync(key), cert: readFileSync(cert) }, (...exchange) => {
      app.routing(...exchange);
    });
    await listen(local, { path });
    const port = await listen(secure, { port: 0, host: '127.0.0.1' });
    const params = { name: 'act', arguments: { resource: 'slow', action: 'sender' } };
    const call = JSON.stringify({ ...list, method: 'tools/call', params });
    const ways = [
      [request, { socketPath: path }, { ip: null, protocol: 'http' }],
      [secureRequest, { host: '127.0.0.1', port, rejectUnauthorized: false }, { ip: '127.0.0.1', protocol: 'https' }],
    ] as const;
    for (const [send, to, expected] of ways) {
      const exchange = (way: object, body?: string): Promise<string> =>
        new Promise((resolve, reject) => {
          const headers = { accept: ACCEPT, 'content-type': 'application/json', host: 'a' };
          const sent = send(
            { ...to, ...way, headers, agent: false },
            (response) => void text(response).then(resolve, reject),
          );
          sent.on('error', reject).end(body);
        });
      t.match(JSON.parse(await exchange({ path: '/slow/sender' })), expected, 'by itself');
      const answer = await exchange({ path: '/mcp', method: 'POST' }, call);
      const { result } = JSON.parse(answer.slice(answer.indexOf('{'))) as { result: { structuredContent: unknown } };
      t.match(result.structuredContent, { answer: expected }, 'by a tool');
    }
  });

  t.test('calls at once do not meet', async (t) => {
    const { call } = await connect(t, url, '7');
    const ids = Array.from({ length: 40 }, (_, at) => (at % 6) + 1);
    const results = await Promise.all(ids.map((id) => call('get', { resource: 'books', id: id === 6 ? 'x' : id })));
    t.strictSame(
      results.map(({ isError, value }) => (isError ? 6 : value.record.id)),
      ids,
    );
  });

  t.test('the route is not an operation of a view', async (t) => {
    t.notOk(app.viewset.operations.some(({ path }) => path === '/mcp'));
  });
});
