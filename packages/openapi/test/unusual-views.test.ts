import { defineEntity, p } from '@mikro-orm/core';
import { action, ModelViewSet, readShape, Router, ViewSet, writeShape } from '@viewset/core';
import t from 'tap';
import { Type } from 'typebox';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { type Document, documentOf, startApp } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

const Street = defineEntity({
  name: 'Größe_Straße',
  tableName: 'street',
  properties: { id: p.integer().primary(), name: p.string(), kind: p.enum(['a', 'b']), length: p.integer().nullable() },
});
const Tea = defineEntity({
  name: '茶',
  tableName: 'tea',
  properties: { id: p.integer().primary(), 'odd-name': p.string(), at: p.datetime(), raw: p.json().nullable() },
});

class StreetViewSet extends ModelViewSet(Street, {
  read: readShape(Street, ['id', 'name', 'kind', 'length']),
  write: writeShape(Street, ['name', 'kind', 'length']),
  filterFields: { kind: 'kind', length: 'length__gte' },
}) {}

class TeaViewSet extends ModelViewSet(Tea, {
  read: readShape(Tea, ['id', 'odd-name', 'at', 'raw']),
  write: writeShape(Tea, ['odd-name', 'at', 'raw']),
  filterFields: { at: 'at__gte', name: 'odd-name' },
}) {}

class ShortViewSet extends ModelViewSet(Street, {
  read: readShape(Street, ['id']),
  operations: ['list', 'retrieve'],
  // OpenAPI 3.1 has no place for QUERY.
  queryMethod: true,
}) {}

const Tree = Type.Cyclic({ Node: Type.Object({ kids: Type.Array(Type.Ref('Node')) }) }, 'Node');
const Twins = Type.Cyclic(
  { A: Type.Object({ next: Type.Optional(Type.Ref('B')) }), B: Type.Object({ next: Type.Optional(Type.Ref('A')) }) },
  'A',
);
// Two definitions that say the same.
const Wood = Type.Cyclic(
  { Other: Type.Object({ name: Type.String() }), Same: Type.Object({ name: Type.String() }) },
  'Same',
);

class OddViewSet extends ViewSet {
  tree = action({ methods: ['post', 'put', 'patch'], body: Tree, response: Tree }, (request) => request.body as never);
  twins = action({ methods: ['post'], body: Twins, response: Type.Array(Wood) }, () => []);
  union = action(
    {
      methods: ['post'],
      body: Type.Union([
        Type.Object({ a: Type.Literal(1), n: Type.Union([Type.String(), Type.Null()]) }),
        Type.Object({ a: Type.Literal('x'), e: Type.Enum(['p', 'q']) }),
      ]),
      response: Type.Union([Type.Object({ ok: Type.Boolean() }), Type.Null()]),
    },
    () => null,
  );
  bytes = action({ methods: ['post'], contentTypes: ['text/plain', 'application/octet-stream'] }, () => ({ ok: true }));
  words = action(
    {
      methods: ['post'],
      description: '# *Bold* <script>alert(1)</script> | `x` \u2028 {{y}}',
      summary: '"quoted" <b>',
      tags: ['a/b', 'ä <i>'],
      body: Type.Object({
        date: Type.Unsafe<Date>({ type: 'string', format: 'date-time', default: new Date(0) }),
        big: Type.Optional(Type.Unsafe<bigint>({ type: 'integer', default: 1n })),
      }),
      response: Type.Unsafe<number>({}),
      examples: { body: 'no object', responses: { 200: [1n, undefined], 299: 3 } },
    },
    () => 1,
  );
}

forEachDatabase(t, { entities: [Street, Tea], only: ['sqlite'] }, async (t, orm) => {
  t.test('names of entities that no component may have', async (t) => {
    const document = await documentOf(
      await startApp(t, orm, async (app) => {
        const router = new Router({ prefix: 'api' });
        await app.register(router.register('größen', StreetViewSet).register('tees', TeaViewSet).plugin);
      }),
    );
    await isValidDocument(t, document);
    for (const name of ['GroeStrae', 'GroeStraePage', 'GroeStraeInput', 'Part', 'Page', 'Rule']) {
      t.ok(schemaNames(document).has(name), name);
    }
    t.match(document.paths['/api/tees']!['get'], { operationId: 'listTees' });
  });

  t.test('views with similar names, in two versions, below a prefix with a parameter', async (t) => {
    const document = await documentOf(
      await startApp(t, orm, async (app) => {
        for (const version of ['v1', 'v2']) {
          const router = new Router({ prefix: `api/${version}` });
          router.register('streets', StreetViewSet, { basename: `${version}-streets` });
          router.register('street', class extends StreetViewSet {}, { basename: `${version}-street` });
          router.register('street-s', ShortViewSet, { basename: `${version}-street-s` });
          await app.register(router.plugin);
        }
        const router = new Router({ prefix: 'shops' }).register('streets', StreetViewSet);
        await app.register(router.plugin, { prefix: '/of/:region' });
      }),
    );
    await isValidDocument(t, document);
    for (const name of ['GroeStrae', 'V1StreetS', 'V1StreetSPage']) t.ok(schemaNames(document).has(name), name);
    t.match(document.paths['/of/{region}/shops/streets/{pk}']!['get'], {
      parameters: [{ $ref: '#/components/parameters/Region' }, { $ref: '#/components/parameters/Pk' }],
    });
  });

  t.test('actions with recursive schemas, unions, bytes and descriptions in Markdown', async (t) => {
    const app = await startApp(t, orm, async (app) => {
      await app.register(new Router().register('odd', OddViewSet).plugin);
    });
    const document = await documentOf(app);
    await isValidDocument(t, document);
    const { paths, components } = document;
    const post = (name: string) => paths[`/odd/${name}`]!['post']!;
    const schema = (name: string): unknown => components['schemas']![name];
    t.match(schema('Node'), { properties: { kids: { items: { $ref: '#/components/schemas/Node' } } } });
    t.match(schema('B'), { properties: { next: { $ref: '#/components/schemas/A' } } });
    t.strictSame(schema('Same'), schema('Other'), 'definitions that say the same keep their names');
    const ids = ['post', 'put', 'patch'].map((method) => paths['/odd/tree']![method]!.operationId);
    t.strictSame(ids, ['treeOdd', 'treeOddPut', 'treeOddPatch']);
    t.match(post('union').requestBody, {
      content: {
        'application/json': {
          schema: { anyOf: [{ $ref: /UnionOddBody$/ }, { $ref: /UnionOddBody2$/ }] },
        },
      },
    });
    t.match(post('bytes').requestBody, { content: { 'text/plain': {}, 'application/octet-stream': {} } });
    t.equal(post('words').description, '# *Bold* <script>alert(1)</script> | `x` \u2028 {{y}}');
    t.match(schema('WordsOddBody'), {
      properties: { date: { default: '1970-01-01T00:00:00.000Z' }, big: { default: 1 } },
    });
    t.match(post('words').responses['200'], { content: { 'application/json': { example: [1, null] } } });
    t.equal((await app.inject('/openapi.yaml')).statusCode, 200);
  });

  t.test('views without operations, and three hundred', async (t) => {
    class Nothing extends ModelViewSet(Street, { read: readShape(Street, ['id']), operations: [] }) {}
    const document = await documentOf(
      await startApp(t, orm, async (app) => {
        const router = new Router({ prefix: 'api' }).register('nothing', Nothing);
        for (let n = 0; n < 300; n++) router.register(`streets-${n}`, class extends StreetViewSet {});
        await app.register(router.plugin);
      }),
    );
    await isValidDocument(t, document);
    t.equal(Object.keys(document.paths).length, 2 * 300 + 4);
    t.equal(schemaNames(document).size, 16);
  });
});

function schemaNames(document: Document): Set<string> {
  return new Set(Object.keys(document.components['schemas']!));
}
