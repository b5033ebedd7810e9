import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { ImproperlyConfigured, InvalidUsage } from '../../src/errors/errors.ts';
import { SearchFilter } from '../../src/filters/search-filter.ts';
import { QueryParameters } from '../../src/http/parameters.ts';
import { forEachDatabase } from '../support/databases.ts';
import { entities, fillCatalog, ids, items, query, target } from './catalog.ts';

/** No field of an entity asks for the request. */
const request = {} as FastifyRequest;

forEachDatabase(t, { entities }, async (t, orm) => {
  await fillCatalog(orm);

  const found = async (search: string, ...searchFields: string[]) => {
    const filter = new SearchFilter(target(orm, { searchFields }));
    return await ids(await filter.apply(items(orm), new QueryParameters({ search }), request));
  };

  t.test('a search term matches anywhere in a field and ignores case', async (t) => {
    t.same(await found('tea', 'name'), [1, 2, 3]);
    t.same(await found('TEA', 'name'), [1, 2, 3]);
    t.same(await found('poo', 'name'), [5]);
    t.same(await found('coffee', 'name'), []);
  });

  t.test('case is compared by Unicode rules', async (t) => {
    t.same(await found('élan', 'note'), [1]);
    t.same(await found('ÉLAN', 'note'), [1]);
    t.same(await found('ÉLAN', 'brand__name'), [1, 2]);
  });

  t.test('every search term must match at least one of the fields', async (t) => {
    t.same(await found('tea green', 'name'), [1]);
    t.same(await found('green', 'name', 'note'), [1, 5]);
    t.same(await found('spoon black', 'name', 'note'), [5]);
    t.same(await found('spoon tea', 'name', 'note'), []);
  });

  t.test('quotes keep a phrase together', async (t) => {
    t.same(await found('"tea pot"', 'name'), [3]);
    t.same(await found('"pot tea"', 'name'), []);
    t.same(await found("'green tea'", 'name'), [1]);
    t.same(await found("o'neill", 'note'), [2]);
  });

  t.test('%, _ and \\ are ordinary characters', async (t) => {
    t.same(await found('100%', 'note'), [1]);
    t.same(await found('%', 'note'), [1]);
    t.same(await found('_', 'note'), [3]);
    t.same(await found('a_b\\c', 'note'), [3]);
    t.same(await found('\\', 'note'), [3]);
    t.same(await found("'; drop table item; --", 'note'), []);
  });

  t.test('^ matches the start of a field, and = the complete field', async (t) => {
    t.same(await found('tea', '^name'), [3]);
    t.same(await found('cup', '=name'), [4]);
    t.same(await found('cu', '=name'), []);
    t.same(await found('"tea pot"', '=name'), [3]);
    t.same(await found('éLAN', '=brand__name'), [1, 2]);
    t.same(await found('%', '^name'), []);
  });

  t.test('an empty search does not filter', async (t) => {
    for (const nothing of ['', '   ', '""', '"" \'  \'']) t.same(await found(nothing, 'name'), [1, 2, 3, 4, 5]);
  });

  t.test('20 search terms are accepted, and 21 return 400', async (t) => {
    t.same(await found('tea '.repeat(20), 'name', 'note', 'brand__name'), [1, 2, 3]);
    await t.rejects(found('tea '.repeat(21), 'name'), {
      statusCode: 400,
      message: 'Query parameter "search" must not have more than 20 words',
      details: [{ in: 'query', path: '/search', message: 'must not have more than 20 words' }],
    });
  });

  t.test('a search sent twice, or with a NUL, returns 400', async (t) => {
    const filter = new SearchFilter(target(orm, { searchFields: ['name'] }));
    t.throws(() => filter.apply(items(orm), query('search=a&search=b'), request), InvalidUsage);
    t.throws(() => filter.apply(items(orm), query('search=a%00'), request), InvalidUsage);
  });

  t.test('without search fields there is no search parameter in the plan', async (t) => {
    t.same(new SearchFilter(target(orm)).parameters, []);
    const declared = new SearchFilter(target(orm, { searchFields: ['name', '^brand__name'] })).parameters;
    t.match(declared, [
      { name: 'search', schema: { type: 'string', description: /at most 20, .* name or brand\.name$/ } },
    ]);
  });

  t.test('a subclass can change the parameter and the number of terms', async (t) => {
    class Find extends SearchFilter {
      override readonly parameter = 'q';
      override readonly maximumWords = 1;
    }
    const filter = new Find(target(orm, { searchFields: ['name'] }));
    t.same(
      filter.parameters.map(({ name }) => name),
      ['q'],
    );
    t.same(await ids(await filter.apply(items(orm), query('q=cup'), request)), [4]);
    t.throws(() => filter.apply(items(orm), query('q=a+b'), request), {
      message: /"q" must not have more than 1 word/,
    });
  });

  t.test('a search field that does not exist, or is not text, fails at start', async (t) => {
    const make = (field: string) => () => new SearchFilter(target(orm, { searchFields: [field] }));
    t.throws(make('nmae'), ImproperlyConfigured);
    t.throws(make('nmae'), { message: /ItemViewSet: searchFields "nmae".*"name"/ });
    t.throws(make('^brand__nmae'), { message: /searchFields "\^brand__nmae".*"name"/ });
    t.throws(make('stock'), ImproperlyConfigured);
    t.throws(make('@name'), ImproperlyConfigured);
    t.throws(make(''), ImproperlyConfigured);
    t.throws(make('__proto__'), ImproperlyConfigured);
  });
});
