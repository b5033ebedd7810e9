/** What a refusal says: the cause that is known, and what would be taken instead. */
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
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
});
