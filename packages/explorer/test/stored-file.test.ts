/** Only a field that the document says is a file is shown as one: what a client stored as JSON may look like a file, and lead anywhere. */
import t from 'tap';
import type { ApiDocument, Schema } from '../page/openapi.ts';
import { describe } from '../page/schema.ts';

const parts: Readonly<Record<string, Schema>> = {
  url: { type: 'string', format: 'uri-reference' },
  name: { type: 'string' },
  size: { type: 'integer' },
  type: { type: 'string' },
};
const file: Schema = { title: 'File', type: 'object', properties: parts };
const document = { components: { schemas: { File: file } } } as unknown as ApiDocument;
const kind = (schema: Schema): string => describe(document, schema).kind;

t.test('a file is recognized by the file schema, also behind a reference and in a union with null', async (t) => {
  t.equal(kind(file), 'stored file');
  t.equal(kind({ $ref: '#/components/schemas/File' }), 'stored file');
  t.equal(kind({ anyOf: [{ $ref: '#/components/schemas/File' }, { type: 'null' }] }), 'stored file');
});

t.test('a schema that only resembles a file is not one', async (t) => {
  t.equal(kind({}), 'json');
  t.equal(kind({ type: 'object' }), 'json');
  t.equal(kind({ type: 'object', properties: parts }), 'object');
  t.equal(kind({ title: 'File', type: 'object', properties: { ...parts, url: { type: 'string' } } }), 'object');
});
