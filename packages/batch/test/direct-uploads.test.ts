/** Uploads that the operations of a batch name, and those of requests with an `Idempotency-Key`. */
import { defineEntity, p } from '@mikro-orm/core';
import { mock } from 'node:test';
import t from 'tap';
import { file, FileType, ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import { IdempotencyKeys, IdempotencyRecord } from '@viewset/idempotency';
import { Bucket, PNG } from '../../core/test/support/bucket.ts';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { BatchViewSet } from '../src/index.ts';

const Photo = defineEntity({
  name: 'Photo',
  properties: { id: p.integer().primary(), title: p.string().length(50), image: p.type(FileType).nullable() },
});
const SECRET = 'a secret of at least 32 bytes for tests';
const bucket = new Bucket();
class PhotoViewSet extends ModelViewSet(Photo, {
  read: readShape(Photo, ['id', 'title', 'image']),
  write: writeShape(Photo, ['title'], {
    image: file({ store: bucket, maxBytes: 1000, types: ['image/*'], direct: true }),
  }),
}) {}
class Batch extends BatchViewSet() {}

forEachDatabase(t, { entities: [Photo, IdempotencyRecord] }, async (t, orm) => {
  t.beforeEach(async () => {
    await orm.schema.refresh();
    bucket.clear();
  });
  const app = await testApp(t, orm, [new Router().register('photos', PhotoViewSet).register('batch', Batch)], {
    options: { secret: SECRET, idempotency: new IdempotencyKeys() },
  });
  const send = (method: 'POST' | 'PATCH' | 'GET', url: string, payload?: object, key?: string) =>
    app.inject({
      method,
      url,
      headers: { 'x-user': 'ann', ...(key && { 'idempotency-key': `"${key}"` }) },
      ...(payload && { payload }),
    });
  const uploaded = async (): Promise<{ upload: string }> => {
    const asked = { name: 'a.png', size: PNG.length, type: 'image/png' };
    const { upload, url } = (await send('POST', '/photos/uploads', asked)).json<{ upload: string; url: string }>();
    bucket.receive(url);
    return { upload };
  };
  const creating = (image: object, title: unknown = 'x') => ({
    method: 'POST',
    path: '/photos',
    body: { title, image },
  });
  const photos = async (): Promise<number> => (await send('GET', '/photos')).json<{ results: [] }>().results.length;
  const nothingIsLeft = async (message: string): Promise<void> => {
    t.equal(bucket.files.size, 0, `${message}: no copy is left`);
    t.equal(await photos(), 0);
  };

  await t.test('a batch that fails deletes its copies, and gives its uploads back', async (t) => {
    const image = await uploaded();
    const operations = [creating(image), creating(await uploaded()), creating(image)];
    const twice = await send('POST', '/batch', { operations });
    t.equal(twice.statusCode, 422, twice.body);
    t.match(twice.json(), {
      details: [{ path: '/operations/2/body/image', message: 'names an upload that was taken already' }],
    });
    await nothingIsLeft('named twice');
    const wrong = await send('POST', '/batch', { operations: [creating(image), creating({}, 7)] });
    t.equal(wrong.statusCode, 422, wrong.body);
    await nothingIsLeft('a later operation is wrong');
    t.equal(bucket.uploaded.size, 2, 'the uploads are still there');
    const valid = await send('POST', '/batch', { operations: operations.slice(0, 2) });
    t.equal(valid.statusCode, 200, valid.body);
    t.equal(bucket.files.size, 2);
    t.equal(bucket.uploaded.size, 0);
  });

  await t.test('a record of a batch may get a second upload in the same batch', async (t) => {
    const operations = [
      { id: 'a', ...creating(await uploaded()) },
      { method: 'PATCH', path: '/photos/{a.id}', body: { image: await uploaded() } },
    ];
    const answer = await send('POST', '/batch', { operations });
    t.equal(answer.statusCode, 200, answer.body);
    t.equal(bucket.files.size, 1, 'the file that was replaced is deleted');
    const { results } = (await send('GET', '/photos')).json<{ results: [{ image: { url: string } }] }>();
    t.strictSame((await send('GET', results[0].image.url)).rawPayload, PNG);
  });

  await t.test('a batch cannot request an upload', async (t) => {
    const body = { name: 'a.png', size: 1, type: 'image/png' };
    const answer = await send('POST', '/batch', { operations: [{ method: 'POST', path: '/photos/uploads', body }] });
    t.equal(answer.statusCode, 400, answer.body);
  });

  await t.test('a request that is sent again with its key returns the first response', async (t) => {
    const image = await uploaded();
    const first = await send('POST', '/photos', { title: 'x', image }, 'k');
    t.equal(first.statusCode, 201, first.body);
    const again = await send('POST', '/photos', { title: 'x', image }, 'k');
    t.equal(again.statusCode, 201, again.body);
    t.strictSame(again.json(), first.json());
    t.equal(again.headers['idempotent-replayed'], 'true');
    t.equal((await send('POST', '/photos', { title: 'x', image: await uploaded() }, 'k')).statusCode, 422);
    t.equal((await send('POST', '/photos', { title: 'x', image }, 'other')).statusCode, 400);
    t.equal(bucket.files.size, 1);
    const batch = { operations: [creating(await uploaded())] };
    const whole = await send('POST', '/batch', batch, 'k');
    t.equal(whole.statusCode, 200, whole.body);
    t.strictSame((await send('POST', '/batch', batch, 'k')).json(), whole.json());
    t.equal(bucket.files.size, 2);
  });

  await t.test('the first response is returned again after the upload has expired', async (t) => {
    const image = await uploaded();
    mock.timers.enable({ apis: ['Date'], now: Date.now() + 80_000_000 });
    t.teardown(() => mock.timers.reset());
    const first = await send('POST', '/photos', { title: 'x', image }, 'late');
    t.equal(first.statusCode, 201, first.body);
    mock.timers.tick(10_000_000);
    const again = await send('POST', '/photos', { title: 'x', image }, 'late');
    t.strictSame([again.statusCode, again.json()], [201, first.json()]);
    t.match((await send('POST', '/photos', { title: 'x', image }, 'new')).json(), {
      details: [{ path: '/image', message: 'names an upload that has expired' }],
    });
  });

  await t.test('after a failed request, a retry with its key can use the upload', async (t) => {
    const image = await uploaded();
    bucket.afterCopy = () => Promise.reject(new Error('the bucket is down'));
    t.equal((await send('POST', '/photos', { title: 'x', image }, 'k')).statusCode, 500);
    await nothingIsLeft('the bucket is down');
    bucket.afterCopy = async () => {};
    t.equal((await send('POST', '/photos', { title: 'x', image }, 'k')).statusCode, 201);
    t.equal(bucket.files.size, 1);
  });

  await t.test('of concurrent requests with one key, exactly one uses the upload', async (t) => {
    const image = await uploaded();
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => send('POST', '/photos', { title: 'x', image }, 'k')),
    );
    t.ok(
      answers.every(({ statusCode }) => [201, 409].includes(statusCode)),
      answers.map(({ body }) => body).join(),
    );
    t.equal(await photos(), 1);
    t.equal(bucket.files.size, 1);
  });

  await t.test('a request that is aborted during the copy leaves nothing', async (t) => {
    const slow = await testApp(t, orm, [new Router().register('photos', PhotoViewSet).register('batch', Batch)], {
      options: { secret: SECRET, idempotency: new IdempotencyKeys(), handlerTimeoutMs: 300 },
    });
    // The timer of a handler alone keeps no process running.
    const running = setInterval(() => {}, 1000);
    t.teardown(() => clearInterval(running));
    for (const url of ['/photos', '/batch'] as const) {
      const body = { title: 'x', image: await uploaded() };
      const payload = url === '/batch' ? { operations: [creating(body.image)] } : body;
      const headers = { 'x-user': 'ann', 'idempotency-key': '"slow"' };
      const gate = Promise.withResolvers<void>();
      const deleted = Promise.withResolvers<void>();
      bucket.afterCopy = () => gate.promise;
      bucket.afterDelete = () => deleted.resolve();
      const answer = await slow.inject({ method: 'POST', url, headers, payload });
      t.equal(answer.statusCode, 503, answer.body);
      gate.resolve();
      await deleted.promise;
      await nothingIsLeft(url);
      bucket.afterCopy = async () => {};
      // What is left of the request ends within the next turns of the event loop.
      await new Promise(setImmediate);
      const again = await slow.inject({ method: 'POST', url, headers, payload });
      t.ok([200, 201].includes(again.statusCode), again.body);
      t.equal(bucket.files.size, 1);
      bucket.clear();
      await orm.schema.refresh();
    }
  });
});
