import t from 'tap';
import { LimitOffsetPagination, PageNumberPagination } from '../../src/pagination/counted-pagination.ts';
import type { Paginator } from '../../src/pagination/paginator.ts';
import { entities, fillCatalog, idOnly, items, query } from '../filters/catalog.ts';
import { forEachDatabase } from '../support/databases.ts';

forEachDatabase(t, { entities }, async (t, orm) => {
  await fillCatalog(orm);
  const paginate = async (paginator: Paginator, text: string, queryset = items(orm)) =>
    JSON.parse(JSON.stringify(await paginator.paginate(queryset, idOnly(queryset), query(text)))) as unknown;
  const page = (results: number[], next: boolean, previous: boolean, count = 5) => ({ count, next, previous, results });

  t.test('pages by number', async (t) => {
    const paginator = new PageNumberPagination({ pageSize: 2, maxPageSize: 4 });
    t.same(await paginate(paginator, ''), page([1, 2], true, false));
    t.same(await paginate(paginator, 'page=1'), page([1, 2], true, false));
    t.same(await paginate(paginator, 'page=2'), page([3, 4], true, true));
    t.same(await paginate(paginator, 'page=3'), page([5], false, true));
    t.same(await paginate(paginator, 'page=&page_size='), page([1, 2], true, false));
    t.same(await paginate(paginator, 'page_size=3'), page([1, 2, 3], true, false));
    t.same(await paginate(paginator, 'page=2&page_size=3'), page([4, 5], false, true));
  });

  t.test('a size above the maximum is the maximum', async (t) => {
    const paginator = new PageNumberPagination({ pageSize: 2, maxPageSize: 4 });
    t.same(await paginate(paginator, 'page_size=5'), page([1, 2, 3, 4], true, false));
    t.same(await paginate(paginator, 'page=2&page_size=2147483647'), page([5], false, true));
  });

  t.test('a page past the end is empty, with next false and previous true', async (t) => {
    const paginator = new PageNumberPagination({ pageSize: 2 });
    t.same(await paginate(paginator, 'page=4'), page([], false, true));
    t.same(await paginate(paginator, 'page=2147483647&page_size=100'), page([], false, true));
    t.same(await paginate(paginator, 'page=2', items(orm).none()), page([], false, true, 0));
    t.same(await paginate(paginator, '', items(orm).none()), page([], false, false, 0));
  });

  t.test('a full last page has no next', async (t) => {
    t.same(await paginate(new PageNumberPagination({ pageSize: 5 }), ''), page([1, 2, 3, 4, 5], false, false));
  });

  t.test('the count includes only filtered records', async (t) => {
    const queryset = items(orm).filter({ price__lt: 11 }).orderBy('-price');
    t.same(await paginate(new PageNumberPagination({ pageSize: 2 }), '', queryset), page([1, 4], true, false, 3));
  });

  t.test('paginate gives a result that knows its page', async (t) => {
    const queryset = items(orm);
    const result = await new PageNumberPagination({ pageSize: 2 }).paginate(
      queryset,
      idOnly(queryset),
      query('page=2'),
    );
    t.equal(result.page, 2);
    t.equal(result.page_size, 2);
  });

  t.test('both parameters are named when both do not fit', async (t) => {
    const expected = { name: 'InvalidUsage', details: [{ path: '/page' }, { path: '/page_size' }] };
    await t.rejects(paginate(new PageNumberPagination(), 'page=0&page_size=x'), expected);
    t.throws(() => new PageNumberPagination().check(query('page=0&page_size=x')), expected);
    t.doesNotThrow(() => new PageNumberPagination().check(query('page=1')));
    await t.rejects(paginate(new PageNumberPagination(), 'page=1&page=1'), { message: /given only once/ });
  });

  t.test('pages with other names and sizes by a subclass', async (t) => {
    class BigPages extends PageNumberPagination {
      override readonly pageSize = 3;
      override readonly maxPageSize = 4;
      override readonly pageParameter = 'p';
      override readonly pageSizeParameter = 'n';
    }
    t.same(await paginate(new BigPages(), 'p=2'), page([4, 5], false, true));
    t.same(await paginate(new BigPages(), 'n=100'), page([1, 2, 3, 4], true, false));
    t.same(await paginate(new BigPages({ pageSize: 1 }), ''), page([1], true, false), 'the view says otherwise');
  });

  t.test('pages by limit and offset', async (t) => {
    const paginator = new LimitOffsetPagination({ pageSize: 2, maxPageSize: 4 });
    t.same(await paginate(paginator, ''), page([1, 2], true, false));
    t.same(await paginate(paginator, 'limit=3'), page([1, 2, 3], true, false));
    t.same(await paginate(paginator, 'offset=1'), page([2, 3], true, true));
    t.same(await paginate(paginator, 'limit=3&offset=2'), page([3, 4, 5], false, true));
    t.same(await paginate(paginator, 'offset=0&limit='), page([1, 2], true, false));
    t.same(await paginate(paginator, 'limit=100'), page([1, 2, 3, 4], true, false), 'capped');
    t.same(await paginate(paginator, 'offset=5'), page([], false, true));
    t.same(await paginate(paginator, 'offset=2147483647&limit=2147483647'), page([], false, true));
    const expected = { name: 'InvalidUsage', details: [{ path: '/limit' }, { path: '/offset' }] };
    await t.rejects(paginate(paginator, 'limit=0&offset=-1'), expected);
    t.throws(() => paginator.check(query('limit=0&offset=-1')), expected);
  });
});
