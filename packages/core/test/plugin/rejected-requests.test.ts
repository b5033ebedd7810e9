/** What a refusal says: the cause that is known, and what would be taken instead. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGunzip, gzipSync } from 'node:zlib';
import type { preParsingHookHandler } from 'fastify';
import t from 'tap';
import { ModelViewSet, readJsonOnly, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { fillLibrary, LIBRARY, Publisher, testApp } from '../support/library.ts';

class PublisherViewSet extends ModelViewSet(Publisher, {
  read: readShape(Publisher, ['id', 'name']),
  write: writeShape(Publisher, ['name']),
  bulk: 5,
}) {}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  await fillLibrary(orm);
  const app = await testApp(t, orm, [new Router().register('publishers', PublisherViewSet)]);

  t.test('the 409 of a DELETE says that other records refer to the record', async (t) => {
    for (const url of ['/publishers/1', '/publishers?pk=1,2']) {
      const answer = await app.inject({ method: 'DELETE', url });
      t.equal(answer.statusCode, 409);
      t.strictSame(answer.json(), { error: 'Other records refer to this one', code: 'conflict' });
    }
  });

  t.test('the media type of a request without a body does not matter', async (t) => {
    const send = (method: 'DELETE' | 'POST', url: string, headers: object, payload?: string) =>
      app.inject({ method, url, headers: { 'content-type': 'text/plain', ...headers }, ...(payload && { payload }) });
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    const { id } = (await app.inject({ method: 'POST', url: '/publishers', payload: { name: 'Brief' } })).json();
    const gone = await fetch(`${url}/publishers/${id}`, {
      method: 'DELETE',
      headers: { 'content-type': 'text/plain' },
    });
    t.equal(gone.status, 204, 'as ra-data-simple-rest sends every DELETE');
    t.equal((await send('DELETE', `/publishers/${id}`, { 'content-length': '0' })).statusCode, 404);
    t.match((await send('POST', '/publishers', {})).json(), { code: 'parse_error', error: 'A JSON body is required' });
    for (const method of ['DELETE', 'POST'] as const) {
      const { statusCode, body } = await send(method, method === 'POST' ? '/publishers' : '/publishers/1', {}, 'x');
      t.match([statusCode, body], [415, /send application\/json/], `${method} with a body`);
    }
  });

  t.test('a compressed body returns a 415 that says so', async (t) => {
    const send = (payload: string | Buffer, coding: string) =>
      app.inject({
        method: 'POST',
        url: '/publishers',
        payload,
        headers: { 'content-type': 'application/json', 'content-encoding': coding },
      });
    const body = JSON.stringify({ name: 'West' });
    const refused = await send(gzipSync(body), 'gzip');
    t.equal(refused.statusCode, 415);
    t.equal(refused.headers['accept-encoding'], 'identity');
    t.match(refused.json(), { error: /compressed body is not supported/, code: 'unsupported_media_type' });
    t.equal((await send(gzipSync(body), 'identity')).statusCode, 400, 'which is no JSON by itself');
    t.equal((await send(body, 'gzip')).statusCode, 201, 'something has undone it already');
  });

  t.test('an error of a plugin is returned with its status and message', async (t) => {
    const refusing = await testApp(t, orm, [new Router().register('publishers', PublisherViewSet)], {
      before: (app) => {
        app.addHook('preParsing', async ({ headers }) => {
          const status = Number(headers['x-status']);
          if (status > 0) throw Object.assign(new Error('Send brotli'), { statusCode: status, code: 'FST_CP_ERR' });
        });
      },
    });
    const send = (headers: Record<string, string>, payload = '{}') =>
      refusing.inject({ method: 'POST', url: '/publishers', payload, headers });
    const json = { 'content-type': 'application/json' };
    for (const [status, code] of [
      [413, 'payload_too_large'],
      [414, 'uri_too_long'],
      [415, 'unsupported_media_type'],
      [422, 'unprocessable_entity'],
    ] as const) {
      const answer = await send({ ...json, 'x-status': String(status) });
      t.equal(answer.statusCode, status);
      t.strictSame(answer.json(), { error: 'Send brotli', code });
    }
    t.equal(
      (await send({ 'content-type': 'text/plain' })).json().error,
      'The media type is not supported; send application/json',
    );
    t.equal((await send(json, `"${'x'.repeat(2 ** 20)}"`)).json().error, 'The request body is too large');
    t.equal((await send({ ...json, 'x-status': '503' })).json().error, 'The service is temporarily unavailable');
  });

  t.test('OPTIONS * lists all methods, for every user', async (t) => {
    const own = await testApp(t, orm, [new Router().register('publishers', PublisherViewSet)]);
    await own.listen({ host: '127.0.0.1', port: 0 });
    const { port } = own.server.address() as AddressInfo;
    const ask = async (method: string): Promise<IncomingMessage> => {
      const asked = request({ host: '127.0.0.1', port, method, path: '*', agent: false }).end();
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      answer.resume();
      return answer;
    };
    const answer = await ask('OPTIONS');
    t.equal(answer.statusCode, 204);
    t.equal(answer.headers.allow, 'GET, HEAD, QUERY, POST, PUT, PATCH, DELETE, OPTIONS');
    t.equal(answer.headers['accept-query'], undefined, 'which is told of a resource');
    t.equal((await ask('GET')).statusCode, 404);
  });

  t.test('errors of a body that the application decompresses name the actual problem', async (t) => {
    const bodies: [string | Buffer, number, object][] = [
      [JSON.stringify({ name: 'East' }), 201, { name: 'East' }],
      ['{"name":', 400, { error: 'The request body is not valid JSON', code: 'parse_error' }],
      [Buffer.from([0x22, 0xff, 0x22]), 400, { error: 'The request body is not valid UTF-8', code: 'parse_error' }],
      ['{"name":7}', 400, { code: 'invalid_usage' }],
    ];
    const gunzip: preParsingHookHandler = ({ headers }, _reply, payload, done) => {
      if (headers['content-encoding'] === undefined) return done(null, payload);
      // Fastify compares it with the length that was announced.
      const receivedEncodedLength = Number(headers['content-length']);
      done(null, Object.assign(payload.pipe(createGunzip()), { receivedEncodedLength }));
    };
    const ofAll = await testApp(t, orm, [new Router().register('publishers', PublisherViewSet)], {
      before: async (app) => {
        app.addHook('preParsing', gunzip);
        await app.register(async (own) => {
          readJsonOnly(own);
          own.post('/own', async ({ body }) => body);
        });
      },
    });
    // As @fastify/compress does it.
    const ofRoutes = await testApp(t, orm, [new Router().register('publishers', PublisherViewSet)], {
      before: (app) =>
        void app.addHook('onRoute', (route) => {
          route.preParsing = [gunzip, route.preParsing ?? []].flat();
        }),
    });
    for (const app of [ofAll, ofRoutes]) {
      for (const [body, status, answer] of bodies) {
        const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
        const sent = await app.inject({ method: 'POST', url: '/publishers', payload: gzipSync(body), headers });
        t.equal(sent.statusCode, status, sent.body);
        t.match(sent.json(), answer);
        if (app === ofAll && status !== 201) {
          const own = await app.inject({ method: 'POST', url: '/own', payload: gzipSync(body), headers });
          t.equal(own.body, status === 400 && 'error' in answer ? sent.body : body, 'of a route of its own too');
        }
        if (status === 201) await app.inject({ method: 'DELETE', url: `/publishers/${sent.json().id}` });
      }
    }
  });
});
