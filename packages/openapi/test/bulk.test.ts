/** The document of views that take several records, held against what the server does. */
import type { InferEntity } from '@mikro-orm/core';
import { ModelViewSet, Permission, readShape, Router, writeShape } from '@viewset/core';
import t from 'tap';
import { Type } from 'typebox';
import * as Schema from 'typebox/schema';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, type Document, documentOf, type Operation, Publisher, resolve, startApp } from './support/app.ts';
import { isValidDocument } from './support/valid-document.ts';

class Closed extends Permission {
  override hasObjectPermission(_request: unknown, _view: unknown, book: object) {
    return (book as InferEntity<typeof Book>).title !== 'closed';
  }
}

class BookViewSet extends ModelViewSet(Book, {
  read: { default: readShape(Book, ['id', 'title', 'price']), create: readShape(Book, ['id']) },
  write: writeShape(Book, ['title'], { price: Type.Number({ minimum: 0, maximum: 100, default: 5 }) }),
  expand: { publisher: readShape(Publisher, ['id', 'name']) },
  bulk: { create: 3, update: 2, destroy: 2 },
  permissionClasses: [Closed],
  allowAnonymous: true,
  fieldWords: { title: { description: 'As on the cover' } },
}) {}
class NamedViewSet extends ModelViewSet(Publisher, {
  read: readShape(Publisher, ['id', 'name']),
  write: writeShape(Publisher, ['name']),
  bulk: { create: 2 },
}) {}

forEachDatabase(t, { entities: [Publisher, Book], only: ['sqlite'] }, async (t, orm) => {
  const router = new Router().register('books', BookViewSet).register('publishers', NamedViewSet);
  const app = await startApp(t, orm, (made) => void made.register(router.plugin));
  const document = await documentOf(app);
  const { post, patch, delete: remove, put } = { ...document.paths['/books/{pk}'], ...document.paths['/books'] };
  const several = document.paths['/books.bulk']!['post']!;

  t.test('the document is valid, and uses one component for a record everywhere', async (t) => {
    await isValidDocument(t, document);
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    t.strictSame(bodyOf(post!), ref('BookInput'));
    t.strictSame(bodyOf(several), { type: 'array', items: ref('BookInput'), maxItems: 3 });
    t.strictSame(bodyOf(put!), ref('BookInput'), 'a default is filled in wherever the record stands');
    t.strictSame(bodyOf(patch!), { type: 'array', items: ref('BookBulkPatch'), maxItems: 2 });
    t.strictSame(answerOf(post!, '201'), ref('BookCreated'));
    t.strictSame(answerOf(several, '201'), { type: 'array', items: ref('BookCreated') });
    t.match(several, { operationId: 'createBooks', summary: 'Create several books', 'x-viewset': { variant: 'bulk' } });
    t.notOk((several.responses['201'] as { headers?: object }).headers, 'several records have no Location and no ETag');
    t.strictSame(answerOf(patch!, '200'), { type: 'array', items: ref('Book') });
    for (const name of ['Book', 'BookInput', 'BookPatch', 'BookBulkPatch']) {
      t.match(document.components['schemas']![name], { properties: { title: { description: 'As on the cover' } } });
    }
    t.match(document.components['schemas']!['BookBulkPatch'], { required: ['id'] });
  });

  t.test('expand and fields are parameters of a PATCH of several, as of one', (t) => {
    const names = patch!.parameters.map((each) => resolve(document, each)['name']);
    t.strictSame(names, ['expand', 'fields']);
    t.end();
  });

  t.test('the keys of a DELETE come separated by commas', (t) => {
    t.match(remove!.parameters, [
      {
        name: 'pk',
        in: 'query',
        required: true,
        style: 'form',
        explode: false,
        schema: { type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 2, uniqueItems: true },
      },
    ]);
    t.equal(remove!.requestBody, undefined);
    t.end();
  });

  t.test('an operation that the view does not allow is not in it', (t) => {
    t.strictSame(Object.keys(document.paths['/publishers']!).toSorted(), ['get', 'post']);
    t.end();
  });

  t.test('the server accepts bodies that fit the document, rejects others, and every response fits', async (t) => {
    const book = { title: 'Ash', price: 10 };
    const send = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: unknown) => {
      const creates = url.startsWith('/books.bulk') ? several : post!;
      const operation = { POST: creates, PATCH: patch!, DELETE: remove! }[method];
      const answer = await app.inject({ method, url, ...(payload !== undefined && { payload: payload as object }) });
      const { statusCode } = answer;
      const what = `${method} ${url} ${JSON.stringify(payload)}: ${statusCode} ${answer.body}`;
      if (payload !== undefined) t.equal(fits(document, bodyOf(operation), payload), statusCode !== 400, what);
      const declared = answerOf(operation, String(statusCode));
      t.ok(Object.hasOwn(operation.responses, statusCode), what);
      if (answer.body !== '' && !url.includes('fields=')) t.ok(fits(document, declared, answer.json()), what);
      return statusCode;
    };
    t.equal(await send('POST', '/books', book), 201);
    for (const wrong of [{}, { title: 5 }]) t.equal(await send('POST', '/books', wrong), 400);
    t.equal(await send('POST', '/books.bulk', [book, { title: 'Birch' }, { title: 'closed' }]), 201);
    t.equal(await send('POST', '/books.bulk?expand=publisher', [book]), 201);
    t.equal(await send('POST', '/books.bulk', []), 201);
    for (const wrong of [[book, book, book, book], [null], [{}], {}, book, [[book]], [{ title: 5 }]]) {
      t.equal(await send('POST', '/books.bulk', wrong), 400);
    }
    t.equal(await send('PATCH', '/books', [{ id: 1, price: 3 }, { id: 2 }]), 200);
    t.equal(await send('PATCH', '/books?expand=publisher', [{ id: 1 }]), 200);
    t.equal(await send('PATCH', '/books?fields=title', [{ id: 1 }]), 200);
    t.equal(await send('PATCH', '/books', []), 200);
    for (const wrong of [{ id: 1 }, [{}], [{ id: 'x' }], [{ id: 1, price: -1 }], [{ id: 1 }, { id: 2 }, { id: 3 }]]) {
      t.equal(await send('PATCH', '/books', wrong), 400);
    }
    t.equal(await send('PATCH', '/books', [{ id: 999 }]), 404);
    t.equal(await send('PATCH', '/books', [{ id: 4, title: 'open' }]), 401, 'nobody is logged in');
    t.equal(await send('DELETE', '/books?pk=1,999'), 404);
    for (const query of ['', '?pk=', '?pk=1,1', '?pk=1,2,3']) t.equal(await send('DELETE', `/books${query}`), 400);
    t.equal(await send('DELETE', '/books?pk=1,2'), 204);
  });
});

function bodyOf({ requestBody }: Operation): unknown {
  return (requestBody as { content: Record<string, { schema: unknown }> }).content['application/json']!.schema;
}

function answerOf({ responses }: Operation, status: string): unknown {
  const { content, $ref } = responses[status] as { content?: Record<string, { schema: unknown }>; $ref?: string };
  return $ref === undefined ? content?.['application/json']?.schema : { $ref: '#/components/schemas/Error' };
}

/** Tells if a value fits a schema of a document. */
function fits(document: Document, schema: unknown, value: unknown): boolean {
  const inlined = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(inlined);
    if (typeof node !== 'object' || node === null) return node;
    const whole = '$ref' in node ? resolve(document, node) : node;
    return Object.fromEntries(Object.entries(whole).map(([name, child]) => [name, inlined(child)]));
  };
  return Schema.Check(inlined(schema) as never, value);
}
