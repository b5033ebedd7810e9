/** The conditions of requests for a file, by its tag and its date (RFC 9110, sections 13 and 14). */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import t from 'tap';
import { type FileStore, FileType, file, ModelViewSet, readShape, Router, writeShape } from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Photo = defineEntity({
  name: 'Photo',
  properties: { id: p.integer().primary(), image: p.type(FileType).nullable() },
});

const files = new Map<string, Buffer>();
const store: FileStore = {
  put: async (key, content) => void files.set(key, await buffer(content)),
  get: async (key, range = { start: 0, end: Infinity }) =>
    Readable.from([files.get(key)!.subarray(range.start, range.end + 1)]),
  delete: async (key) => void files.delete(key),
};
class PhotoViewSet extends ModelViewSet(Photo, {
  read: readShape(Photo, ['id', 'image']),
  write: writeShape(Photo, [], { image: file({ store, maxBytes: 100, types: ['text/plain'] }) }),
}) {}

const upload = (text: string) => ({
  payload: `--x\r\ncontent-disposition: form-data; name="image"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\n${text}\r\n--x--\r\n`,
  headers: { 'content-type': 'multipart/form-data; boundary=x' },
});
const STORED = '2026-01-02T03:04:05.678Z';
const DATE = 'Fri, 02 Jan 2026 03:04:05 GMT';
const BEFORE = 'Fri, 02 Jan 2026 03:04:04 GMT';
const AFTER = 'Fri, 02 Jan 2026 03:04:06 GMT';

forEachDatabase(t, { entities: [Photo] }, async (t, orm) => {
  const app: FastifyInstance = await testApp(t, orm, [new Router().register('photos', PhotoViewSet)]);
  const place = async (id: number, more: object): Promise<void> => {
    const key = `key-${id}`;
    files.set(key, Buffer.from('0123456789'));
    const em = orm.em.fork();
    em.create(Photo, { id, image: { key, name: 'a.txt', size: 10, type: 'text/plain', ...more } });
    await em.flush();
  };
  await place(1001, { storedAt: STORED });
  await place(1002, {});
  await place(1003, { storedAt: new Date(Date.now() + 3_600_000).toISOString() });
  const TAG = '"key-1001"';
  const ask = (headers: Record<string, string>, method: 'GET' | 'HEAD' = 'GET', id = 1001) =>
    app.inject({ method, url: `/photos/${id}/image`, headers });

  await t.test('a file has a Last-Modified date in whole seconds', async (t) => {
    for (const method of ['GET', 'HEAD'] as const) {
      const { statusCode, headers } = await ask({}, method);
      t.strictSame([statusCode, headers['last-modified'], headers.etag], [200, DATE, TAG]);
    }
    t.equal((await ask({ range: 'bytes=0-1' })).headers['last-modified'], DATE);
    t.notOk('last-modified' in (await ask({}, 'GET', 1002)).headers, 'a file of an older version');
    t.notOk('last-modified' in (await ask({}, 'GET', 1003)).headers, 'a time that is still to come');
    const start = Math.floor(Date.now() / 1000) * 1000;
    const created = await app.inject({ method: 'POST', url: '/photos', ...upload('new') });
    const { url } = created.json<{ image: { url: string } }>().image;
    const sent = Date.parse(String((await app.inject(url)).headers['last-modified']));
    t.ok(sent >= start && sent <= Date.now(), 'a file that a client has just sent');
  });

  await t.test('files that replace each other have different dates, and none is in the future', async (t) => {
    const created = await app.inject({ method: 'POST', url: '/photos', ...upload('0') });
    const { id, image } = created.json<{ id: number; image: { url: string } }>();
    const current = async (): Promise<number> =>
      Math.floor(Date.parse((await orm.em.fork().findOneOrFail(Photo, id)).image!.storedAt!) / 1000);
    const seconds = [await current()];
    for (let count = 1; count < 4; count++) {
      await app.inject({ method: 'PATCH', url: `/photos/${id}`, ...upload(String(count)) });
      seconds.push(await current());
      const { headers, body } = await app.inject(image.url);
      t.equal(body, String(count));
      t.ok(Date.parse(String(headers['last-modified'] ?? 0)) <= Date.now());
    }
    t.strictSame(
      seconds,
      [...new Set(seconds)].toSorted((a, b) => a - b),
    );
  });

  const cases: readonly (readonly [headers: Record<string, string>, status: number, what: string])[] = [
    [{ 'if-match': TAG }, 200, 'its tag'],
    [{ 'if-match': `"other", ${TAG}` }, 200, 'one of several'],
    [{ 'if-match': '*' }, 200, 'any'],
    [{ 'if-match': '"other"' }, 412, 'another tag'],
    [{ 'if-match': `W/${TAG}` }, 412, 'a weak tag never matches strongly'],
    [{ 'if-match': 'garbage' }, 412, 'no tag'],
    [{ 'if-unmodified-since': DATE }, 200, 'its date'],
    [{ 'if-unmodified-since': AFTER }, 200, 'a later date'],
    [{ 'if-unmodified-since': BEFORE }, 412, 'an earlier date'],
    [{ 'if-unmodified-since': '2020-01-01' }, 200, 'no date of HTTP'],
    [{ 'if-match': TAG, 'if-unmodified-since': BEFORE }, 200, 'the tag comes before the date'],
    [{ 'if-match': '"other"', 'if-none-match': TAG }, 412, 'If-Match comes first'],
    [{ 'if-match': TAG, 'if-none-match': TAG }, 304, 'and then If-None-Match'],
    [{ 'if-none-match': TAG }, 304, 'its tag'],
    [{ 'if-none-match': `W/${TAG}` }, 304, 'a weak comparison'],
    [{ 'if-none-match': '"other"' }, 200, 'another tag'],
    [{ 'if-modified-since': DATE }, 304, 'its date'],
    [{ 'if-modified-since': AFTER }, 304, 'a later date'],
    [{ 'if-modified-since': BEFORE }, 200, 'an earlier date'],
    [{ 'if-modified-since': 'Friday, 02-Jan-26 03:04:05 GMT' }, 304, 'the form of RFC 850'],
    [{ 'if-modified-since': 'Fri Jan  2 03:04:05 2026' }, 304, 'the form of asctime()'],
    [{ 'if-modified-since': 'Fri, 31 Feb 2026 03:04:05 GMT' }, 200, 'no day of the calendar'],
    [{ 'if-modified-since': STORED }, 200, 'no date of HTTP'],
    [{ 'if-none-match': '"other"', 'if-modified-since': AFTER }, 200, 'the tag comes before the date'],
    [{ 'if-none-match': TAG, 'if-modified-since': BEFORE }, 304, 'the tag comes before the date'],
    [{ 'if-unmodified-since': BEFORE, 'if-none-match': TAG }, 412, 'If-Unmodified-Since comes first'],
  ];

  await t.test('the conditions of GET and HEAD', async (t) => {
    for (const [headers, status, what] of cases) {
      for (const method of ['GET', 'HEAD'] as const) {
        const answer = await ask(headers, method);
        t.equal(answer.statusCode, status, `${method} ${JSON.stringify(headers)}: ${what}`);
        if (status === 412 && method === 'GET') t.match(answer.json(), { code: 'precondition_failed' });
        if (status === 304) t.strictSame([answer.body, answer.headers.etag], ['', TAG]);
      }
    }
  });

  await t.test('without a date, the conditions on dates count for nothing', async (t) => {
    for (const id of [1002, 1003]) {
      for (const name of ['if-unmodified-since', 'if-modified-since']) {
        t.equal((await ask({ [name]: BEFORE }, 'GET', id)).statusCode, 200, name);
        t.equal((await ask({ [name]: 'Fri, 31 Dec 2100 03:04:05 GMT' }, 'GET', id)).statusCode, 200, name);
      }
    }
  });

  await t.test('a range applies if If-Range names the file by its tag or its exact date', async (t) => {
    const range = 'bytes=2-4';
    const conditions: readonly (readonly [string, number])[] = [
      [TAG, 206],
      [DATE, 206],
      ['Friday, 02-Jan-26 03:04:05 GMT', 206],
      [`W/${TAG}`, 200],
      ['"other"', 200],
      [BEFORE, 200],
      [AFTER, 200],
      ['*', 200],
      ['', 200],
    ];
    for (const [condition, status] of conditions) {
      const answer = await ask({ range, 'if-range': condition });
      t.strictSame([answer.statusCode, answer.body], [status, status === 206 ? '234' : '0123456789'], condition);
    }
    t.equal((await ask({ range, 'if-range': DATE }, 'GET', 1002)).statusCode, 200, 'a file without a date');
    t.equal((await ask({ range: 'bytes=20-', 'if-range': TAG })).statusCode, 416);
    t.equal((await ask({ range: 'bytes=20-', 'if-range': '"other"' })).statusCode, 200);
    t.equal((await ask({ range, 'if-match': '"other"' })).statusCode, 412, 'other conditions come first');
    t.equal((await ask({ range, 'if-none-match': TAG })).statusCode, 304);
    t.equal((await ask({ range, 'if-unmodified-since': DATE })).statusCode, 206);
  });

  await t.test('the declared responses name 412 and the headers', async (t) => {
    const plan = app.viewset.operations.find(({ action }) => action === 'image')!;
    t.strictSame(Object.keys(plan.responses[200]!.headers), ['etag', 'last-modified', 'accept-ranges']);
    t.ok(plan.responses[412]?.schema);
  });
});
