import t from 'tap';
import { isFilePath } from '../page/file-paths.ts';
import type { ApiDocument, DocumentOperation } from '../page/openapi.ts';

const get = (detail: boolean, schema: object): { readonly get: DocumentOperation } => ({
  get: {
    operationId: 'x',
    responses: { 200: { content: { 'image/png': { schema } } } },
    'x-viewset': { view: 'x', action: 'x', detail, permissions: [] },
  },
});

const DOCUMENT: ApiDocument = {
  paths: {
    '/api/notes/{pk}/scan': get(true, { $ref: '#/components/schemas/Bytes' }),
    '/api/notes/{pk}': get(true, { type: 'object' }),
    '/api/notes/export': get(false, { type: 'string', format: 'binary' }),
  },
  components: { schemas: { Bytes: { type: 'string', format: 'binary' } } },
};

t.test('the path of a declared file is one', async (t) => {
  for (const url of ['/api/notes/1/scan', '/api/notes/a%2Fb/scan']) t.ok(isFilePath(DOCUMENT, url), url);
});

t.test('other paths, other servers and paths with dots are not file paths', async (t) => {
  const urls = [
    '/api/notes/1',
    '/api/notes/export',
    '/api/notes/1/scan/',
    '/api/notes/1/scan?as=ada',
    '/api/notes/1/scan#x',
    '/api/notes/../scan',
    '/api/notes/%2e%2e/scan',
    '/api/notes/.\t./scan',
    '//evil.example/api/notes/1/scan',
    String.raw`/\evil.example/api/notes/1/scan`,
    'https://evil.example/api/notes/1/scan',
    'javascript:alert(1)',
    '',
  ];
  for (const url of urls) t.notOk(isFilePath(DOCUMENT, url), url);
});
