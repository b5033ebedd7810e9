/** The document of a view whose clients add fields and leave others out. */
import { ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, documentOf, Publisher, resolve, startApp } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

const declared = {
  read: readShape(Book, ['id', 'title', 'publisher']),
  write: writeShape(Book, ['title', 'price']),
} as const;
const publisher = readShape(Publisher, ['id', 'name']);

class BothViewSet extends ModelViewSet(Book, { ...declared, expand: { publisher, house: 'publisher.name' } }) {}
class ExpandViewSet extends ModelViewSet(Book, { ...declared, expand: { house: 'publisher.name' }, fields: false }) {}
class BriefListsViewSet extends ModelViewSet(Book, {
  ...declared,
  read: { default: declared.read, list: readShape(Book, ['id']) },
  fields: true,
}) {}
class FieldsViewSet extends ModelViewSet(Book, { ...declared, fields: true }) {}

forEachDatabase(t, { entities: [Publisher, Book], only: ['sqlite'] }, async (t, orm) => {
  const open = async (View: typeof BothViewSet | typeof ExpandViewSet | typeof FieldsViewSet) => {
    const router = new Router().register('books', View as typeof BothViewSet);
    const document = await documentOf(await startApp(t, orm, (app) => void app.register(router.plugin)));
    await isValidDocument(t, document);
    const parameters = document.paths['/books']!['get']!.parameters.map((each) => resolve(document, each));
    const parameter = (name: string) => parameters.find((each) => each['name'] === name);
    const book = document.components['schemas']!['Book'] as { properties: object; required?: string[] };
    return { document, parameter, book };
  };

  t.test('both parameters; fields that are sent without them are required', async (t) => {
    const { document, parameter, book } = await open(BothViewSet);
    const list = (names: string[]) => ({
      style: 'form',
      explode: false,
      schema: { type: 'array', items: { enum: names } },
    });
    t.match(parameter('expand'), { in: 'query', ...list(['publisher', 'house']) });
    t.match(parameter('fields'), { in: 'query', ...list(['id', 'title', 'publisher', 'house']) });
    t.match(parameter('fields'), { description: /lacks all others/ }, 'the parameter says what no schema can');
    t.strictSame(Object.keys(book.properties), ['id', 'title', 'publisher', 'house']);
    t.strictSame(book.required, ['id', 'title', 'publisher']);
    const { get, post, put, patch, delete: remove } = { ...document.paths['/books'], ...document.paths['/books/{pk}'] };
    for (const operation of [get, post, put, patch]) {
      const refs = operation!.parameters.map(({ $ref }) => $ref).filter((ref) => /Expand|Fields/.test(String(ref)));
      t.strictSame(refs, ['#/components/parameters/Expand', '#/components/parameters/Fields'], operation!.operationId);
    }
    t.notMatch(JSON.stringify(remove!.parameters), /Expand|Fields/);
  });

  t.test('only expand, and only fields', async (t) => {
    const expand = await open(ExpandViewSet);
    t.notOk(expand.parameter('fields'));
    t.strictSame(Object.keys(expand.book.properties), ['id', 'title', 'publisher', 'house']);
    t.strictSame(expand.book.required, ['id', 'title', 'publisher']);
    const fields = await open(FieldsViewSet);
    t.notOk(fields.parameter('expand'));
    t.strictSame(fields.book.required, ['id', 'title', 'publisher']);
  });

  t.test('every operation has the names of its shape', async (t) => {
    const { document } = await open(BriefListsViewSet as unknown as typeof BothViewSet);
    const { components, paths } = document;
    const namesOf = (operation: object): readonly string[] | undefined => {
      const { parameters } = operation as { parameters: readonly { $ref?: string; name?: string }[] };
      const all = parameters.map(({ $ref, ...own }) =>
        $ref === undefined ? own : components.parameters![$ref.split('/').at(-1)!],
      ) as readonly { name?: string; schema?: { items?: { enum?: string[] } } }[];
      return all.find(({ name }) => name === 'fields')?.schema?.items?.enum;
    };
    t.strictSame(namesOf(paths['/books']!['get']!), ['id']);
    for (const method of ['get', 'put', 'patch']) {
      t.strictSame(namesOf(paths['/books/{pk}']![method]!), ['id', 'title', 'publisher'], method);
    }
  });
});
