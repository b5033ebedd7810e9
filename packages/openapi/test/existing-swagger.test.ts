import swagger from '@fastify/swagger';
import { ImproperlyConfigured } from '@viewset/core';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, documentOf, INFO, Publisher, startLibrary } from './support/app.ts';

forEachDatabase(t, { entities: [Book, Publisher], only: ['sqlite'] }, async (t, orm) => {
  for (const version of ['3.0.3', '3.1.1']) {
    t.test(`an application that has @fastify/swagger for OpenAPI ${version} gets the same operations`, async (t) => {
      const ours = await documentOf(await startLibrary(t, orm));
      const app = await startLibrary(t, orm, {
        options: {},
        before: async (scope) => {
          await scope.register(swagger, { openapi: { openapi: version, info: { ...INFO }, tags: [{ name: 'own' }] } });
          const schema: object = {
            tags: ['own'],
            response: { 200: { type: 'object', properties: { a: { type: 'string', nullable: true } } } },
          };
          scope.get('/earlier', { schema }, () => ({ a: null }));
        },
      });
      const document = await documentOf(app);
      t.equal(document.openapi, '3.1.1');
      t.match(document.paths['/earlier']!['get']!.responses['200'], {
        content: { 'application/json': { schema: { $ref: '#/components/schemas/GetEarlierResponse' } } },
      });
      t.match(document.components['schemas']!['GetEarlierResponse'], {
        properties: { a: { type: ['string', 'null'] } },
      });
      for (const path of Object.keys(ours.paths).filter((each) => each.startsWith('/api'))) {
        t.strictSame(document.paths[path], ours.paths[path], path);
      }
      t.strictSame(document.components['schemas']!['BookInput'], ours.components['schemas']!['BookInput']);
      t.strictSame(app.swagger(), document, 'its own pages show the complete document');
      t.match(app.swagger({ yaml: true }), /^openapi: 3\.1\.1/);
    });
  }

  t.test('a Swagger 2 document cannot be completed, and fails at start', async (t) => {
    const start = startLibrary(t, orm, { options: {}, before: (scope) => scope.register(swagger) });
    await t.rejects(start, { name: 'ImproperlyConfigured', message: /Swagger 2/ });
  });

  t.test('invalid options fail at start', async (t) => {
    const start = (options: object) => startLibrary(t, orm, { options });
    await t.rejects(start({}), ImproperlyConfigured);
    await t.rejects(start({ info: { title: 'Library' } }), { message: /"info".*"version"/ });
    await t.rejects(start({ info: INFO, docsPath: 'docs' }), { message: /"docsPath"/ });
    await t.rejects(start({ info: INFO, paht: '/x' }), { message: /did you mean "path"/ });
    await t.rejects(start({ info: INFO, path: null }), { message: /"docsPath"/ });
  });

  t.test('paths can be changed, and left out', async (t) => {
    const app = await startLibrary(t, orm, { options: { info: INFO, path: '/spec/v1', docsPath: null } });
    t.equal((await app.inject('/spec/v1.json')).statusCode, 200);
    t.equal((await app.inject('/openapi.json')).statusCode, 404);
    t.equal((await app.inject('/docs')).statusCode, 404);
  });
});
