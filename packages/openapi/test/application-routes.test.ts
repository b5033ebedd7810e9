import { Router, ModelViewSet, readShape, viewset, writeShape } from '@viewset/core';
import { fastify, type FastifyInstance } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { openapi } from '../src/index.ts';
import { Book, documentOf, Publisher, startApp } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

class PublisherViewSet extends ModelViewSet(Publisher, {
  read: readShape(Publisher, ['id', 'name']),
  write: writeShape(Publisher, ['name']),
}) {}

const nothing = () => ({});
const text = { type: 'string' } as const;

forEachDatabase(t, { entities: [Book, Publisher], only: ['sqlite'] }, async (t, orm) => {
  const document = async (add: (app: FastifyInstance) => unknown) => {
    const app = await startApp(t, orm, add);
    return documentOf(app);
  };

  t.test('an operationId that is missing is made of method and path, one that is taken gets a number', async (t) => {
    const { paths, ...rest } = await document(async (app) => {
      app.get('/plain/:day', { schema: { summary: 'none' } }, nothing);
      app.get('/own', { schema: { operationId: 'listPublishers' } }, nothing);
      app.route({ method: ['GET', 'POST'], url: '/both', schema: { operationId: 'both' }, handler: nothing });
      await app.register(new Router().register('publishers', PublisherViewSet).plugin);
    });
    await isValidDocument(t, { paths, ...rest });
    t.equal(paths['/publishers']!['get']!.operationId, 'listPublishers');
    t.equal(paths['/own']!['get']!.operationId, 'listPublishers2', 'and the route is not left out');
    t.equal(paths['/plain/{day}']!['get']!.operationId, 'getPlainDay');
    t.strictSame([paths['/both']!['get']!.operationId, paths['/both']!['post']!.operationId], ['both', 'both2']);
  });

  t.test('schemas that the application shares have their names', async (t) => {
    const found = await document((app) => {
      app.addSchema({ $id: 'Address', type: 'object', properties: { street: { ...text, nullable: true } } });
      app.addSchema({ $id: 'https://example.com/schemas/person.json', type: 'object', properties: { name: text } });
      const response = { 200: { type: 'array', items: { $ref: 'Address#' } } };
      const body = { $ref: 'https://example.com/schemas/person.json#' };
      app.post('/people', { schema: { body, response } }, () => []);
    });
    await isValidDocument(t, found);
    t.match(found.components['schemas'], {
      Address: { properties: { street: { type: ['string', 'null'] } } },
      Person: { properties: { name: { type: 'string' } } },
    });
    t.match(found.paths['/people']!['post'], {
      requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Person' } } } },
    });
  });

  t.test('a body is required unless the route says otherwise', async (t) => {
    const body = { type: 'object', properties: { name: text } };
    const found = await document((app) => {
      app.post('/needed', { schema: { body } }, nothing);
      app.post('/optional', { schema: { body }, config: { optionalBody: true } }, nothing);
    });
    await isValidDocument(t, found);
    t.match(found.paths['/needed']!['post'], { requestBody: { required: true } });
    t.match(found.paths['/optional']!['post'], {
      requestBody: { required: false, content: { 'application/json': {} } },
    });
  });

  t.test('all that Fastify takes is in the document, or left out of it', async (t) => {
    const csv: object = { produces: ['text/csv'], response: { 200: text } };
    const next = { type: 'object', properties: { next: { $ref: '#' } } };
    const found = await document((app) => {
      app.all('/all', { schema: { summary: 'Every method' } }, nothing);
      app.get('/files/*', { schema: { summary: 'A rest' } }, nothing);
      app.get('/optional/:x?', { schema: { summary: 'Optional' } }, nothing);
      app.get('/pattern/:x(^\\d+$).:y', { schema: { summary: 'A pattern' } }, nothing);
      app.get('/itself', { schema: { response: { 200: { $id: 'itself', ...next } } } }, nothing);
      app.get('/csv', { schema: csv }, () => '');
      app.get('/wide', { schema: { response: { '2xx': { type: 'object', properties: { a: text } } } } }, nothing);
      const items = [text, { type: 'integer' }];
      app.get('/tuple', { schema: { response: { 200: { type: 'array', items } } } }, () => []);
      app.get(
        '/typebox',
        { schema: { querystring: Type.Object({ q: Type.Optional(Type.Enum(['a', 'b'])) }) } },
        nothing,
      );
    });
    await isValidDocument(t, found);
    const operation = (path: string) => found.paths[path]!['get']!;
    t.strictSame(Object.keys(found.paths['/all']!).includes('propfind'), false);
    t.match(found.components['schemas']!['GetItselfResponse'], { properties: { next: {} } });
    t.notOk('200' in operation('/wide').responses, 'a 2XX is every success');
    t.match(operation('/tuple').responses['200'], {
      content: { 'application/json': { schema: { prefixItems: [text, { type: 'integer' }] } } },
    });
    t.match(operation('/typebox').parameters, [{ name: 'q', schema: { type: 'string', enum: ['a', 'b'] } }]);
  });

  t.test('a schema of another library is left out, its route is not', async (t) => {
    class Foreign {
      readonly self = this;
      readonly shape = { name: () => true };
      parse(value: unknown): unknown {
        return value;
      }
    }
    const found = await document((app) =>
      app.register(async (scope) => {
        scope.setValidatorCompiler(() => () => true);
        scope.setSerializerCompiler(() => (data) => JSON.stringify(data));
        const foreign = new Foreign();
        const schema = { body: foreign, querystring: foreign, params: foreign, response: { 200: foreign } };
        scope.post('/foreign/:id', { schema }, nothing);
        scope.post('/function', { schema: { body: () => true, response: { 200: () => true } } }, nothing);
      }),
    );
    await isValidDocument(t, found);
    t.match(found.paths['/foreign/{id}']!['post'], {
      operationId: 'postForeignId',
      requestBody: undefined,
      parameters: [{ name: 'id', in: 'path' }],
      responses: { 200: { description: 'OK' } },
    });
    t.ok(found.paths['/function']!['post']);
  });

  t.test('a document that was registered after the views is a warning', async (t) => {
    const warningsOf = async (isLate: boolean) => {
      const lines: { level: number; msg: string }[] = [];
      const app = fastify({ logger: { stream: { write: (line: string) => void lines.push(JSON.parse(line)) } } });
      t.teardown(async () => app.close());
      const document = async () => app.register(openapi, { info: { title: 'Late', version: '1' } });
      if (!isLate) await document();
      await app.register(viewset, { orm });
      await app.register(new Router().register('publishers', PublisherViewSet).plugin);
      if (isLate) await document();
      await app.ready();
      return lines.filter(({ level }) => level === 40).map(({ msg }) => msg);
    };
    t.strictSame(await warningsOf(false), []);
    t.strictSame(await warningsOf(true), [
      'openapi: the document has no route of a view; register openapi before the routers',
    ]);
  });
});
