/** Records that tools create and update with files that a client has uploaded to the store. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import {
  file,
  FileType,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  Router,
  writeShape,
} from '@viewset/core';
import { IdempotencyKeys } from '@viewset/idempotency';
import { Bucket, PNG } from '../../core/test/support/bucket.ts';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { connect, ENTITIES, startLibrary, type Tools } from './support/app.ts';

const Photo = defineEntity({
  name: 'Photo',
  properties: { id: p.integer().primary(), title: p.string().length(50), image: p.type(FileType) },
});
const bucket = new Bucket();

/** Readers may ask for everything but to create and to update. */
class Roles extends Permission {
  override hasPermission(request: FastifyRequest, view: PermissionView): boolean {
    return request.user?.role?.name !== 'reader' || !['create', 'update'].includes(view.getAction(request));
  }
}
class PhotoViewSet extends ModelViewSet(Photo, {
  read: readShape(Photo, ['id', 'title', 'image']),
  write: writeShape(Photo, ['title'], {
    image: file({ store: bucket, maxBytes: 1000, types: ['image/*'], direct: true }),
  }),
  permissionClasses: [Roles],
}) {}

interface Begun {
  readonly upload: string;
  readonly url: string;
}

forEachDatabase(t, { entities: [...ENTITIES, Photo] }, async (t, orm) => {
  bucket.clear();
  const { url } = await startLibrary(t, orm, {
    options: { secret: 'a secret of at least 32 bytes for tests', idempotency: new IdempotencyKeys() },
    mcp: { resources: 'all' },
    routers: [new Router().register('photos', PhotoViewSet)],
  });
  const { call } = await connect(t, url, '7 editor');
  const ask = (by: Tools['call']) =>
    by('act', {
      resource: 'photos',
      action: 'upload',
      body: { name: 'a.png', size: PNG.length, type: 'image/png' },
    });

  await t.test('a record is created with an upload, once', async (t) => {
    const asked = await ask(call);
    t.equal(asked.isError, false, JSON.stringify(asked.value));
    const { upload, url: to } = (asked.value as unknown as { answer: Begun }).answer;
    bucket.receive(to);
    const creation = { resource: 'photos', values: { title: 'Sea', image: { upload } }, key: 'once' };
    const made = await call('create', creation);
    t.match(made, { isError: false, value: { record: { image: { name: 'a.png', type: 'image/png' } } } });
    t.strictSame((await call('create', creation)).value.record, made.value.record, 'the same key has the first result');
    const again = await call('create', { ...creation, key: 'twice' });
    t.match(again, { isError: true, value: { status: 400 } });
    t.match(JSON.stringify(again.value), /names an upload that was taken already/);
    t.equal(bucket.files.size, 1);
    const { id } = made.value.record;
    const other = (await ask(call)).value as unknown as { answer: Begun };
    bucket.receive(other.answer.url);
    const values = { image: { upload: other.answer.upload } };
    t.match(await call('update', { resource: 'photos', id, values }), { isError: false });
    t.equal(bucket.files.size, 1);
  });

  await t.test('callers who may not write see no upload, and get none', async (t) => {
    const reader = await connect(t, url, '8 reader');
    const { value } = await reader.call('describe', { resource: 'photos' });
    t.notOk(JSON.stringify(value.actions ?? {}).includes('upload'), JSON.stringify(value));
    t.match(await ask(reader.call), { isError: true });
    const { value: shown } = await call('describe', { resource: 'photos' });
    t.ok(JSON.stringify(shown.actions).includes('upload'));
  });
});
