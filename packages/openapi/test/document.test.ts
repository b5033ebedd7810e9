import { Validator } from '@seriousme/openapi-schema-validator';
import t from 'tap';
import { parse } from 'yaml';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, documentOf, INFO, Publisher, resolve, startLibrary } from './support/app.ts';

forEachDatabase(t, { entities: [Book, Publisher], only: ['sqlite'] }, async (t, orm) => {
  const app = await startLibrary(t, orm);
  const document = await documentOf(app);
  const { paths, components } = document;
  const list = paths['/api/books']!['get']!;
  const parameters = list.parameters.map((parameter) => resolve(document, parameter));
  const parameter = (name: string) => parameters.find((each) => each['name'] === name);
  const schema = (name: string) => components['schemas']![name] as { properties: Record<string, unknown> };

  t.test('it is valid OpenAPI 3.1 by the official schema', async (t) => {
    t.match(document, { openapi: '3.1.1', info: INFO, servers: [{ url: '/' }] });
    const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
    t.ok(valid, JSON.stringify(errors));
  });

  t.test('it has every route of views and of health, and those of the application that have schemas', async (t) => {
    const ids = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
    t.strictSame(ids.toSorted(), [
      'delete /api/books/{pk} destroyBook',
      'delete /api/publishers/{pk} destroyPublisher',
      'get /api listApiRoot',
      'get /api/books listBooks',
      'get /api/books/newest newestBooks',
      'get /api/books/{pk} retrieveBook',
      'get /api/publishers listPublishers',
      'get /api/publishers/{pk} retrievePublisher',
      'get /health checkHealth',
      'get /health/live checkLiveness',
      'get /health/ready checkReadiness',
      'get /hours/{day} hours',
      'patch /api/books/{pk} updateBook',
      'patch /api/publishers/{pk} updatePublisher',
      'post /api/books createBook',
      'post /api/books/{pk}/recount recountBook',
      'post /api/publishers createPublisher',
      'put /api/books/{pk} replaceBook',
      'put /api/publishers/{pk} replacePublisher',
    ]);
  });

  t.test('an operation has the description of its view, or a generated one', async (t) => {
    t.match(list, { summary: 'Browse the books', description: 'The newest first.', tags: ['books'] });
    t.match(paths['/api/publishers']!['get'], { summary: 'List the publishers' });
    t.equal(paths['/api/books/newest']!['get']!.deprecated, true);
    t.match(document.tags, [{ name: 'health' }, { name: 'books', description: 'What is on the shelves.' }]);
    t.ok(document.tags.every(({ description }) => description !== ''));
  });

  t.test('parameters have types, bounds, defaults and descriptions', async (t) => {
    t.match(parameter('title'), {
      in: 'query',
      description: 'Title, equal to this. Repeat the parameter for several values',
      schema: { type: 'string' },
    });
    t.match(parameter('publisher'), { description: 'Publisher name, contains this in upper or lower case' });
    t.match(parameter('ids'), { style: 'form', explode: false, schema: { type: 'array', items: { type: 'integer' } } });
    t.match(parameter('pages'), { schema: { type: 'array', minItems: 2, maxItems: 2 } });
    t.match(parameter('unpriced'), { schema: { type: 'boolean' } });
    t.match(parameter('published_after'), { schema: { type: 'string', format: 'date-time' } });
    t.match(parameter('sort'), { explode: false, schema: { maxItems: 2 } });
    t.match(parameter('sort'), { schema: { items: { enum: ['price', '-price', 'title', '-title'] } } });
    t.strictSame(Object.keys(parameter('sort')!['schema'] as object).toSorted(), ['items', 'maxItems', 'type']);
    const newest = paths['/api/books/newest']!['get']!.parameters.map((each) => resolve(document, each));
    t.match(newest, [{ name: 'years', style: 'form', explode: true, schema: { type: 'array' } }]);
    t.equal((await app.inject('/api/books/newest?years=1999&years=2026')).statusCode, 200, 'as the document says');
    t.match(parameter('page'), { schema: { type: 'integer', minimum: 1, default: 1 } });
    t.match(parameter('page_size'), { description: /at most 50/, schema: { default: 20 } });
    const filter = { type: 'string', contentMediaType: 'application/json', contentSchema: { $ref: /BookRule$/ } };
    t.match(parameter('filter'), { schema: filter }, 'JSON in a text, which every generated client can send');
    const pk = resolve(document, paths['/api/books/{pk}']!['get']!.parameters[0]);
    t.match(pk, { name: 'pk', in: 'path', required: true, schema: { type: 'integer', maximum: 2147483647 } });
  });

  t.test('a parameter has the description that its view declares', async (t) => {
    t.match(parameter('min_price'), { description: 'In euros, at least', deprecated: true, example: 5 });
  });

  t.test('schemas are named components, and are never inlined', async (t) => {
    t.match(list.responses['200'], {
      content: { 'application/json': { schema: { $ref: '#/components/schemas/BookPage' } } },
    });
    t.match(schema('BookPage').properties['results'], { items: { $ref: '#/components/schemas/Book' } });
    t.match(schema('Book').properties['publisher'], {
      anyOf: [{ $ref: '#/components/schemas/Publisher' }, { type: 'null' }],
    });
    t.match(paths['/api/books']!['post'], {
      requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/BookInput' } } } },
      responses: { 201: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Book' } } } } },
    });
    t.match(paths['/api/books/{pk}']!['patch'], {
      requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/BookPatch' } } } },
    });
    t.match(paths['/api/books/newest']!['get']!.responses['200'], {
      content: { 'application/json': { schema: { $ref: '#/components/schemas/NewestBooksResponse' } } },
    });
    t.match(schema('NewestBooksResponse').properties['results'], { items: { $ref: '#/components/schemas/Book' } });
  });

  t.test('a body need not contain values that the server fills', async (t) => {
    const from = { $ref: '#/components/schemas/RecountBookBodyFrom' };
    t.match(components['schemas'], {
      RecountBookBody: { required: ['from'], properties: { from } },
      RecountBookBodyFrom: { required: undefined, properties: { page: { default: 1 } } },
    });
  });

  t.test('a property that is named like a keyword is a property', async (t) => {
    const { properties } = schema('RecountBookBody');
    t.match(properties['example'], { type: 'string', pattern: '^[^\\u0000]*$' });
    t.strictSame(Object.keys(resolve(document, properties['not'])), ['type', 'properties']);
  });

  t.test('every schema of an object has a name, which generators of clients make a type of', async (t) => {
    t.match(paths['/api/books/{pk}/recount']!['post']!.requestBody, {
      content: { 'application/json': { schema: { $ref: '#/components/schemas/RecountBookBody' } } },
    });
    const unnamed = Object.values(components['schemas']!).flatMap((each) => objectsInside(each, false));
    t.strictSame([...objectsInside(paths, true), ...unnamed], []);
  });

  t.test('a body has the bounds of its columns, examples, and the descriptions of fields', async (t) => {
    t.match(schema('BookInput').properties, {
      title: { minLength: 1, maxLength: 50, description: 'As on the cover', examples: ['Emma'] },
      price: { maximum: 9999.99, multipleOf: 0.01 },
      pages: { type: ['integer', 'null'], maximum: 2147483647 },
    });
    t.match(schema('Book').properties, { title: { description: 'As on the cover' } });
    t.notOk('required' in schema('BookPatch'));
    t.match(paths['/api/books']!['post']!.requestBody, {
      content: { 'application/json': { example: { title: 'Emma', price: 9.5 } } },
    });
  });

  t.test('every status has its schema and its headers', async (t) => {
    const { responses } = paths['/api/books']!['post']!;
    const created = ['201', '400', '405', '408', '409', '412', '413', '414', '415', '429', '500', '503'];
    t.strictSame(Object.keys(responses), created);
    const headers = (status: string): string[] =>
      Object.keys(resolve(document, responses[status])['headers'] as object);
    const rateLimit = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
    t.strictSame(headers('201'), ['Location', ...rateLimit]);
    const refused = paths['/api/books/{pk}/recount']!['post']!.responses['401'];
    t.strictSame(Object.keys(resolve(document, refused)['headers'] as object), ['WWW-Authenticate', ...rateLimit]);
    t.strictSame(headers('405'), ['Allow', ...rateLimit]);
    t.strictSame(headers('429'), ['Retry-After', ...rateLimit]);
    for (const status of created.slice(1)) {
      const answer = resolve(document, responses[status]);
      t.match(answer, { content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } }, status);
    }
    t.notOk('content' in paths['/api/books/{pk}']!['delete']!.responses['204']!);
    t.match(Object.keys(paths['/hours/{day}']!['get']!.responses), ['200', '400', '405', '414', '429', '500', '503']);
    t.notOk('429' in paths['/health']!['get']!.responses, 'no throttle counts health routes');
  });

  t.test('a response with the key of a record links to the operations on it', async (t) => {
    const linksOf = (path: string, method: string, status: string) => paths[path]![method]!.responses[status]!['links'];
    const ids = ['retrieveBook', 'replaceBook', 'updateBook', 'destroyBook', 'recountBook'];
    const created = linksOf('/api/books', 'post', '201') as Record<string, object>;
    t.strictSame(Object.keys(created).toSorted(), ids.toSorted());
    for (const operationId of ids) {
      t.strictSame(created[operationId], { operationId, parameters: { pk: '$response.body#/id' } });
    }
    t.match(linksOf('/api/books', 'get', '200'), {
      retrieveBook: { operationId: 'retrieveBook', parameters: { pk: '$response.body#/results/0/id' } },
    });
    t.equal(linksOf('/api/books/{pk}', 'get', '200'), undefined, 'whoever asked for it had the key');
  });

  t.test('only operations that need a token have security', async (t) => {
    t.strictSame(paths['/api/books/newest']!['get']!.security, []);
    t.strictSame(paths['/health']!['get']!.security, []);
    t.strictSame(paths['/api']!['get']!.security, []);
    t.strictSame(paths['/api/books/{pk}/recount']!['post']!.security, [{ bearerAuth: [] }]);
    t.match(components['securitySchemes'], { bearerAuth: { type: 'http', scheme: 'bearer' } });
  });

  t.test('JSON and YAML have the same content, and the same in every process', async (t) => {
    const yaml = await app.inject('/openapi.yaml');
    t.equal(yaml.headers['content-type'], 'application/yaml; charset=utf-8');
    t.strictSame(parse(yaml.body), document);
    const other = await startLibrary(t, orm);
    for (const path of ['/openapi.json', '/openapi.yaml']) {
      const [one, two] = [await app.inject(path), await other.inject(path)];
      t.equal(one.body, two.body, path);
      t.equal(one.headers.etag, two.headers.etag);
    }
  });

  t.test('a client that has the document gets 304', async (t) => {
    const { headers } = await app.inject('/openapi.json');
    const ask = (tag: string) => app.inject({ url: '/openapi.json', headers: { 'if-none-match': tag } });
    t.match(headers.etag, /^"[\w-]+"$/);
    t.match(await ask(String(headers.etag)), { statusCode: 304, body: '' });
    t.match(await ask(`"other", W/${String(headers.etag)}`), { statusCode: 304 });
    t.match(await ask('"other"'), { statusCode: 200 });
  });
});

/** The schemas of objects in a value, and the value itself if it is asked for. */
function objectsInside(value: unknown, withItself: boolean): object[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = withItself && 'properties' in value && 'type' in value ? [value] : [];
  return [...own, ...Object.values(value).flatMap((child) => objectsInside(child, true))];
}
