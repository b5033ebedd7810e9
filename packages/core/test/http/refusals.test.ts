/** What a refusal says: the cause that is known, and what would be taken instead. */
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

  t.test('the 409 of a DELETE says that others refer to the record', async (t) => {
    for (const url of ['/publishers/1', '/publishers?pk=1,2']) {
      const answer = await app.inject({ method: 'DELETE', url });
      t.equal(answer.statusCode, 409);
      t.strictSame(answer.json(), { error: 'Other records refer to this one', code: 'conflict' });
    }
  });

  t.test('a compressed body is a 415 that says so', async (t) => {
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

  t.test('of a body that the application decompresses, the fault itself is told', async (t) => {
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
