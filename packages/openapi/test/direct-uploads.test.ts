import { defineEntity, p } from '@mikro-orm/core';
import { file, type FileStore, FileType, ModelViewSet, readShape, Router, viewset, writeShape } from '@viewset/core';
import fastify from 'fastify';
import { Readable } from 'node:stream';
import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { openapi } from '../src/index.ts';

const Scan = defineEntity({
  name: 'Scan',
  properties: { id: p.integer().primary(), page: p.type(FileType), cover: p.type(FileType).nullable() },
});
const store: FileStore = {
  put: async () => {},
  get: async () => Readable.from([]),
  delete: async () => {},
  uploads: {
    sign: async (key) => ({ url: `https://bucket.example/${key}` }),
    copy: async () => 0,
    delete: async () => {},
    keys: () => Readable.from([]),
  },
};
class Scans extends ModelViewSet(Scan, {
  read: readShape(Scan, ['id', 'page']),
  write: writeShape(Scan, [], {
    page: file({ store, maxBytes: 100, types: ['image/png'], direct: true }),
    cover: file({ store, maxBytes: 100, types: ['image/png'], direct: true }),
  }),
  allowAnonymous: true,
}) {}

t.test('the document has the request for an upload, and the upload in bodies of JSON', async (t) => {
  const app = fastify();
  t.teardown(() => app.close());
  await app.register(openapi, { info: { title: 'Scans', version: '1' } });
  await app.register(viewset, {
    orm: await openSqlite(t, { entities: [Scan] }),
    secret: 'a secret of at least 32 bytes for tests',
  });
  await app.register(new Router({ prefix: 'api' }).register('scans', Scans).plugin);
  const { paths, components } = (await app.inject('/openapi.json')).json<{
    paths: Record<string, { post: { requestBody: { content: object }; responses: object } }>;
    components: { schemas: Record<string, object> };
  }>();
  t.match(paths['/api/scans/uploads'], {
    post: {
      operationId: 'uploadScans',
      requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/UploadScansBody' } } } },
      responses: { 201: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Upload' } } } } },
    },
  });
  const { responses } = paths['/api/scans/uploads']!.post;
  t.strictSame(
    ['201', '400', '401', '403', '413', '415'].filter((status) => !Object.hasOwn(responses, status)),
    [],
    'whatever the request may be answered with',
  );
  t.match(components.schemas['UploadScansBody'], {
    required: ['field', 'name', 'size', 'type'],
    properties: { field: { enum: ['page', 'cover'] } },
  });
  t.strictSame(Object.keys(paths['/api/scans']!.post.requestBody.content), ['application/json', 'multipart/form-data']);
  t.match(components.schemas['ScanInput'], {
    required: ['page'],
    properties: {
      page: { $ref: '#/components/schemas/ScanInputPage' },
      cover: { anyOf: [{ $ref: '#/components/schemas/ScanInputCover' }, { type: 'null' }] },
    },
  });
  t.match(components.schemas['ScanInputPage'], { required: ['upload'], properties: { upload: { type: 'string' } } });
});
