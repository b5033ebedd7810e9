import t, { type Test } from 'tap';
import { ImproperlyConfigured } from '../../src/errors/errors.ts';
import { QueryParameterFilter } from '../../src/filters/query-parameter-filter.ts';
import { forEachDatabase } from '../support/databases.ts';
import { entities, fillCatalog, ids, items, query, target } from './catalog.ts';

const filterFields = {
  min_price: 'price__gte',
  max_price: 'price__lte',
  name: 'name',
  stock: 'stock__exact',
  brand: 'brand__name__icontains',
  brand_id: 'brand',
  kind: 'kind',
  kinds: 'kind__in',
  active: 'active',
  unbranded: 'brand__isnull',
  stocked: 'stock__range',
  serial: 'serial',
  not_stock: 'stock__ne',
  made_after: 'made__gt',
};

forEachDatabase(t, { entities }, async (t, orm) => {
  await fillCatalog(orm);
  const filter = new QueryParameterFilter(target(orm, { filterFields }));
  const found = async (text: string) => await ids(filter.apply(items(orm), query(text)));
  const refuse = (t: Test, text: string, expected: object) =>
    t.throws(
      () => filter.apply(items(orm), query(text)),
      { statusCode: 400, code: 'invalid_usage', ...expected },
      text,
    );

  t.test('every parameter filters by its lookup, and all are combined by AND', async (t) => {
    t.same(await found('min_price=12.5'), [2, 3]);
    t.same(await found('max_price=10'), [1, 4, 5]);
    t.same(await found('min_price=6&max_price=13'), [1, 2]);
    t.same(await found('name=Cup'), [4]);
    t.same(await found('name=cup'), [], 'exact is exact');
    t.same(await found('brand=éL'), [1, 2]);
    t.same(await found('brand_id=2'), [3, 4]);
    t.same(await found('active=false'), [4]);
    t.same(await found('unbranded=true'), [5]);
    t.same(await found('unbranded=false'), [1, 2, 3, 4]);
    t.same(await found('kinds=tea,ware'), [1, 2, 3, 4, 5]);
    t.same(await found('stocked=3,7'), [1, 3, 5]);
    t.same(await found('serial=9007199254740993'), [3], 'beyond what a double tells apart');
    t.same(await found('not_stock=0'), [1, 3, 4, 5]);
    t.same(await found('made_after=2024-01-03T00:00:00Z'), [4]);
    t.same(await found(''), [1, 2, 3, 4, 5]);
  });

  t.test('an exact lookup given twice means one of', async (t) => {
    t.same(await found('name=Cup&name=Spoon'), [4, 5]);
    t.same(await found('stock=0&stock=3&stock=3'), [2, 3]);
    t.same(await found('kind=tea&kind=ware'), [1, 2, 3, 4, 5]);
    t.same(await found('name=Cup&name='), [4], 'an empty one is absent');
    t.same(await found('serial=9007199254740991&serial=9007199254740993'), [1, 3]);
  });

  t.test('any other lookup sent twice returns 400', async (t) => {
    refuse(t, 'min_price=1&min_price=2', { message: 'Query parameter "min_price" must be given only once' });
    refuse(t, 'kinds=tea&kinds=ware', { message: /"kinds" must be given only once/ });
    refuse(t, 'not_stock=1&not_stock=2', {});
  });

  t.test('an empty value counts as absent', async (t) => {
    t.same(await found('min_price=&name=&unbranded=&kinds='), [1, 2, 3, 4, 5]);
  });

  t.test('a value that does not fit returns 400 with the parameter', async (t) => {
    refuse(t, 'min_price=cheap', { details: [{ in: 'query', path: '/min_price' }] });
    for (const text of ['stock=1.5', 'stock=01', 'stock=99999999999', 'stock=a&stock=1', 'active=yes', 'kind=coffee']) {
      refuse(t, text, { message: new RegExp(`"${text.split('=')[0]}" must `) });
    }
    for (const text of [
      'kinds=tea,coffee',
      'stocked=1',
      'stocked=1,2,3',
      'unbranded=1',
      'brand_id=x',
      'name=a%00',
      'made_after=soon',
    ]) {
      refuse(t, text, {});
    }
  });

  t.test('one response names every parameter that does not fit', async (t) => {
    refuse(t, 'min_price=a&name=Cup&stock=b&active=c', {
      details: [{ path: '/min_price' }, { path: '/stock' }, { path: '/active' }],
    });
  });

  t.test('every parameter is declared with a schema and a description', async (t) => {
    const declared = Object.fromEntries(filter.parameters.map(({ name, schema }) => [name, schema]));
    t.same(Object.keys(declared), Object.keys(filterFields));
    t.match(declared, {
      min_price: { type: 'number', description: 'Price, at least' },
      stock: { type: 'integer' },
      brand: { type: 'string', description: /^Brand name, contains/ },
      active: { type: 'boolean' },
      unbranded: { type: 'boolean' },
      kind: { enum: ['tea', 'ware'] },
      kinds: { type: 'array', items: { enum: ['tea', 'ware'] } },
      made_after: { type: 'string', format: 'date-time', description: 'Made, after this' },
    });
  });

  t.test('a lookup that does not exist or does not fit fails at start', async (t) => {
    const make = (lookup: string) => () => new QueryParameterFilter(target(orm, { filterFields: { cost: lookup } }));
    t.throws(make('prcie__gte'), ImproperlyConfigured);
    t.throws(make('prcie__gte'), { message: /ItemViewSet: filterFields "cost".*"price"/ });
    t.throws(make('price__gte2'), { message: /gte/ });
    t.throws(make('price__icontains'), ImproperlyConfigured);
    t.throws(make('brand__owner'), ImproperlyConfigured);
    t.throws(make(''), ImproperlyConfigured);
  });
});
