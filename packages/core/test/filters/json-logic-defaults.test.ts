/** Without `jsonLogicFields`, JSON Logic asks only what every read shape of the view shows: no hidden field can be guessed by it. */
import t from 'tap';
import { Type } from 'typebox';
import { computed, ModelViewSet, readShape, Router } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY, Publisher, testApp } from '../support/library.ts';

const filterFields = {
  title: 'title',
  min_pages: 'pages__gte',
  priceless: 'price__isnull',
  publisher: 'publisher',
  by: 'publisher__name__icontains',
} as const;
const publisher = readShape(Publisher, ['id', 'name']);

class UnpagedViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title', 'pages', 'price'], { publisher }),
  filterFields,
}) {}
class BriefViewSet extends ModelViewSet(Book, {
  read: {
    default: readShape(Book, ['id', 'title', 'pages', 'publisher']),
    list: readShape(Book, ['id', 'title', 'publisher']),
  },
  filterFields,
}) {}
class RenamedViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id'], {
    name: 'title',
    house: 'publisher.name',
    is_long: computed(Type.Boolean(), ['pages'], ({ pages }) => (pages ?? 0) > 200),
  }),
  filterFields,
}) {}
class StaffViewSet extends ModelViewSet(Book, {
  read: { default: readShape(Book, ['id', 'title']), staff: readShape(Book, ['id', 'title', 'pages', 'price']) },
  filterFields,
}) {
  override readShapeFor() {
    return 'staff' as const;
  }
}
class NothingViewSet extends ModelViewSet(Book, { read: readShape(Book, ['id']), filterFields }) {}
class ExplicitViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id']),
  filterFields,
  jsonLogicFields: ['price'],
}) {}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  await fillLibrary(orm);
  const router = new Router()
    .register('whole', UnpagedViewSet)
    .register('brief', BriefViewSet)
    .register('renamed', RenamedViewSet)
    .register('staff', StaffViewSet)
    .register('nothing', NothingViewSet)
    .register('said', ExplicitViewSet);
  const app = await testApp(t, orm, [router]);
  const fields = ['title', 'pages', 'price', 'publisher', 'publisher.name'];
  const allowed = async (path: string): Promise<string[]> => {
    const found: string[] = [];
    for (const field of fields) {
      const filter = JSON.stringify({ '!=': [{ var: field }, null] });
      const { statusCode } = await app.inject({ url: `/${path}`, query: { filter } });
      if (statusCode === 200) found.push(field);
      else t.equal(statusCode, 400);
    }
    return found;
  };

  t.test("a field that a role's shape hides is not an allowed JSON Logic field", async (t) => {
    t.same(await allowed('whole'), fields);
    t.same(await allowed('brief'), ['title', 'publisher']);
    t.same(await allowed('renamed'), ['title', 'publisher.name']);
    t.same(await allowed('staff'), ['title']);
    t.same(await allowed('nothing'), []);
    t.same(await allowed('said'), ['price'], 'unless the view says so by name');
  });

  t.test('the operation plan has the same fields', async (t) => {
    const operation = app.viewset.operations.find(({ path, action }) => path === '/nothing' && action === 'list');
    t.notOk(operation?.queryParameters.some(({ name }) => name === 'filter'));
  });
});
