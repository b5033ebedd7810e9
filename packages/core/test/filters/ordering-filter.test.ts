import t from 'tap';
import { ImproperlyConfigured, InvalidUsage } from '../../src/errors/errors.ts';
import { OrderingFilter } from '../../src/filters/ordering-filter.ts';
import { forEachDatabase } from '../support/databases.ts';
import { entities, fillCatalog, ids, items, query, target } from './catalog.ts';

const orderingFields = { price: 'price', name: 'name', brand: 'brand__name', cost: 'price' };

forEachDatabase(t, { entities }, async (t, orm) => {
  await fillCatalog(orm);
  const filter = new OrderingFilter(target(orm, { orderingFields }));
  const sorted = async (text: string) => await ids(filter.apply(items(orm), query(text)));

  t.test('sorts by the field of the name; a leading minus means descending', async (t) => {
    t.same(await sorted('sort=name'), [2, 4, 1, 5, 3]);
    t.same(await sorted('sort=-name'), [3, 5, 1, 4, 2]);
  });

  t.test('the primary key breaks ties, ascending', async (t) => {
    t.same(await sorted('sort=price'), [4, 5, 1, 2, 3]);
    t.same(await sorted('sort=-price'), [3, 2, 1, 4, 5]);
  });

  t.test('several names sort in their order', async (t) => {
    t.same(await sorted('sort=price,-name'), [5, 4, 1, 2, 3]);
    t.same(await sorted('sort=-brand,-price'), [5, 3, 4, 2, 1]);
    t.same(await sorted('sort=price,cost'), [4, 5, 1, 2, 3], 'two names of one field');
  });

  t.test('across relations, NULLs come last, and first when descending', async (t) => {
    t.same(await sorted('sort=brand,-price'), [2, 1, 3, 4, 5]);
    t.same(await sorted('sort=-brand'), [5, 3, 4, 1, 2]);
  });

  t.test('without sort the order of the view applies, or the primary key', async (t) => {
    t.same(await sorted(''), [1, 2, 3, 4, 5]);
    t.same(await sorted('sort='), [1, 2, 3, 4, 5]);
    t.same(await ids(filter.apply(items(orm).orderBy('-price'), query(''))), [3, 2, 1, 4, 5]);
    t.same(await ids(filter.apply(items(orm).orderBy('-price'), query('sort=name'))), [2, 4, 1, 5, 3]);
  });

  t.test('an unknown name returns 400 with the allowed names', async (t) => {
    t.throws(() => filter.apply(items(orm), query('sort=prcie')), {
      statusCode: 400,
      message:
        'Query parameter "sort" does not know the name "prcie" (did you mean "price"?); allowed: price, name, brand, cost',
    });
    for (const name of [
      'stock',
      'brand__name',
      '__proto__',
      'constructor',
      '--price',
      '+price',
      'price ',
      'PRICE',
      'price;',
    ]) {
      t.throws(
        () => filter.apply(items(orm), query(new URLSearchParams({ sort: name }).toString())),
        InvalidUsage,
        name,
      );
    }
  });

  t.test('an empty or repeated name returns 400', async (t) => {
    for (const text of [',', 'price,', ',price', 'price,,name', '-', 'price,-']) {
      t.throws(
        () => filter.apply(items(orm), query(`sort=${text}`)),
        { message: /empty name; allowed: price, name/ },
        text,
      );
    }
    for (const text of ['price,price', 'price,-price', '-price,name,price']) {
      t.throws(() => filter.apply(items(orm), query(`sort=${text}`)), { message: /must name "price" only once/ }, text);
    }
    t.throws(() => filter.apply(items(orm), query('sort=price&sort=name')), { message: /must be given only once/ });
  });

  t.test('without ordering fields there is no sort parameter in the plan', async (t) => {
    t.same(new OrderingFilter(target(orm)).parameters, []);
    t.match(filter.parameters, [
      { name: 'sort', schema: { type: 'array', items: { enum: ['price', '-price', 'name', '-name'] } } },
    ]);
  });

  t.test('the parameter can be renamed by a subclass', async (t) => {
    class OrderBy extends OrderingFilter {
      override readonly parameter = 'order_by';
    }
    const renamed = new OrderBy(target(orm, { orderingFields }));
    t.match(renamed.parameters, [{ name: 'order_by' }]);
    t.same(await ids(renamed.apply(items(orm), query('order_by=name'))), [2, 4, 1, 5, 3]);
  });

  t.test('a field without an order fails at start', async (t) => {
    const make = (fields: Record<string, string>) => () => new OrderingFilter(target(orm, { orderingFields: fields }));
    t.throws(make({ price: 'prcie' }), { message: /ItemViewSet: orderingFields "price".*"price"/ });
    t.throws(make({ data: 'data' }), ImproperlyConfigured);
    for (const name of ['', '-price', 'a,b']) t.throws(make({ [name]: 'price' }), ImproperlyConfigured, name);
  });
});
