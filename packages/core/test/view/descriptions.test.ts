import t from 'tap';
import { action, ImproperlyConfigured, ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Book, LIBRARY, testApp } from '../support/library.ts';

const read = readShape(Book, ['id', 'title', 'pages']);
const shapes = { read, write: writeShape(Book, ['title']), filterFields: { min_pages: 'pages__gte' } } as const;

forEachDatabase(t, { entities: LIBRARY, only: ['sqlite'] }, async (t, orm) => {
  t.test('a plan has the descriptions of its view', async (t) => {
    class BookViewSet extends ModelViewSet(Book, {
      ...shapes,
      descriptions: { list: 'The newest first.' },
      examples: { create: { body: { title: 'Emma' } } },
      fieldWords: { title: { description: 'As on the cover' } },
      parameterWords: { min_pages: { description: 'This long at least', examples: [100] } },
    }) {
      recent = action({}, () => ({}));
    }
    const app = await testApp(t, orm, [new Router().register('books', BookViewSet)]);
    const plan = (id: string) => app.viewset.operations.find(({ operationId }) => operationId === id)!;
    t.equal(plan('listBooks').documentation.description, 'The newest first.');
    t.same(plan('createBook').documentation.examples, { body: { title: 'Emma' } });
    t.same(plan('createBook').view.fieldWords, { title: { description: 'As on the cover' } });
    for (const id of ['listBooks', 'recentBooks']) {
      const { schema } = plan(id).queryParameters.find(({ name }) => name === 'min_pages')!;
      t.match(schema, { type: 'integer', description: 'This long at least', examples: [100] }, id);
    }
  });

  t.test('descriptions of unknown fields, parameters or operations fail at start', async (t) => {
    // @ts-expect-error -- misspelt
    class WrongField extends ModelViewSet(Book, { ...shapes, fieldWords: { titel: { description: 'x' } } }) {}
    class WrongParameter extends ModelViewSet(Book, { ...shapes, parameterWords: { min_page: {} } }) {}
    const brief = { read, operations: ['list'], examples: { retrieve: {} } } as const;
    class WrongOperation extends ModelViewSet(Book, { ...shapes, summaries: { lits: 'All books' } as object }) {}
    class MissingOperation extends ModelViewSet(Book, {
      ...shapes,
      operations: ['list'],
      descriptions: { update: 'x' },
    }) {}
    class MissingExample extends ModelViewSet(Book, brief) {}
    const start = (View: new () => object) =>
      testApp(t, orm, [new Router().register('books', View as typeof WrongField)]);
    await t.rejects(start(WrongField), ImproperlyConfigured);
    await t.rejects(start(WrongField), { message: /WrongField\.fieldWords.*"titel"; did you mean "title"/ });
    await t.rejects(start(WrongParameter), { message: /WrongParameter\.parameterWords.*did you mean "min_pages"/ });
    await t.rejects(start(WrongOperation), { message: /WrongOperation\.summaries.*"lits"; did you mean "list"/ });
    await t.rejects(start(MissingOperation), { message: /MissingOperation\.descriptions.*"update".*list/ });
    await t.rejects(start(MissingExample), { message: /MissingExample\.examples.*"retrieve".*list/ });
  });
});
