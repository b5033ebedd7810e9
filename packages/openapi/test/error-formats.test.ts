/** The document of an application whose errors have a format of their own. */
import { InvalidUsage, ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { fastify } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { openapi } from '../src/index.ts';
import { documentOf, INFO, Publisher } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

class PublisherViewSet extends ModelViewSet(Publisher, {
  read: readShape(Publisher, ['id', 'name']),
  write: writeShape(Publisher, ['name']),
}) {}

forEachDatabase(t, { entities: [Publisher], only: ['sqlite'] }, async (t, orm) => {
  t.test('the error component is the custom schema, and the statuses are those of the format', async (t) => {
    const app = fastify(serverOptions());
    t.teardown(() => app.close());
    await app.register(openapi, { info: INFO });
    const errorSchema = Type.Object({ errors: Type.Record(Type.String(), Type.Array(Type.String())) });
    await app.register(viewset, {
      orm,
      errorSchema,
      formatError: (error) => ({
        status: error instanceof InvalidUsage ? 422 : error.statusCode,
        body: { errors: { body: [error.message] } },
      }),
    });
    app.get('/hours', { schema: { response: { 200: Type.Object({}) } } }, () => ({}));
    await app.register(new Router().register('publishers', PublisherViewSet).plugin);
    await app.ready();
    const document = await documentOf(app);
    await isValidDocument(t, document);
    t.match(document.components['schemas']!['Error'], { required: ['errors'], properties: { errors: {} } });
    const { post } = document.paths['/publishers']!;
    t.strictSame(post!.responses['422'], { $ref: '#/components/responses/UnprocessableEntity' });
    t.match(document.components['responses']!['UnprocessableEntity'], {
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    });
    t.strictSame(document.paths['/hours']!['get']!.responses['500'], {
      $ref: '#/components/responses/InternalServerError',
    });
  });
});
