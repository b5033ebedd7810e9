import t from 'tap';
import {
  CursorPagination,
  LimitOffsetPagination,
  ModelViewSet,
  PageNumberPagination,
  readShape,
  Router,
  type ViewSet,
} from '../../src/index.ts';
import { recordQueries } from '../query/record-queries.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY, testApp } from '../support/library.ts';

class Uncounted extends PageNumberPagination {
  override readonly count = 'none';
}

const declared = { read: readShape(Book, ['id', 'title']), pageSize: 2, searchFields: ['title'] } as const;

class ExactViewSet extends ModelViewSet(Book, declared) {}
class NoneViewSet extends ModelViewSet(Book, { ...declared, count: 'none' }) {}
class ByClassViewSet extends ModelViewSet(Book, { ...declared, pagination: Uncounted }) {}
class CountedAgainViewSet extends ModelViewSet(Book, { ...declared, pagination: Uncounted, count: 'exact' }) {}
class OffsetViewSet extends ModelViewSet(Book, { ...declared, pagination: LimitOffsetPagination, count: 'none' }) {}
class EstimatedViewSet extends ModelViewSet(Book, { ...declared, count: 'estimated' }) {}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  await fillLibrary(orm);
  const router = new Router();
  router
    .register('exact', ExactViewSet)
    .register('none', NoneViewSet)
    .register('by-class', ByClassViewSet)
    .register('counted-again', CountedAgainViewSet)
    .register('offsets', OffsetViewSet)
    .register('estimated', EstimatedViewSet);
  const app = await testApp(t, orm, [router]);

  t.test('without a count the envelope has a null count and correct next and previous flags', async (t) => {
    const queries = recordQueries(orm);
    t.teardown(() => queries.stop());
    const flags = async (path: string): Promise<unknown> => {
      const before = queries.texts.length;
      const response = await app.inject(path);
      t.equal(response.statusCode, 200, path);
      t.equal(queries.texts.length - before, 1, `${path}: one statement`);
      t.notMatch(queries.texts.at(-1), /count\(/i);
      const { count, next, previous, results } = response.json<{
        count: null;
        next: boolean;
        previous: boolean;
        results: [];
      }>();
      return [count, next, previous, results.length];
    };
    for (const view of ['/none', '/by-class']) {
      t.strictSame(await flags(view), [null, true, false, 2]);
      t.strictSame(await flags(`${view}?page=2`), [null, true, true, 2]);
      t.strictSame(await flags(`${view}?page=3`), [null, false, true, 1]);
      t.strictSame(await flags(`${view}?page=4`), [null, false, true, 0]);
      t.strictSame(await flags(`${view}?page_size=5`), [null, false, false, 5], 'a full last page');
      t.strictSame(await flags(`${view}?search=a&page_size=3`), [null, false, false, 3]);
    }
    t.strictSame(await flags('/offsets?offset=1&limit=3'), [null, true, true, 3]);
    t.strictSame(await flags('/offsets?offset=2&limit=3'), [null, false, true, 3]);
    t.match((await app.inject('/none')).body, /^\{"count":null,"next":true,/);
  });

  t.test('the option of the view beats the paginator', async (t) => {
    t.equal((await app.inject('/counted-again')).body, (await app.inject('/exact')).body);
  });

  t.test('an estimate of a small table is exact', async (t) => {
    for (const path of ['', '?page=2', '?page=3', '?page=9', '?search=a', '?search=nothing', '?page_size=5']) {
      t.equal((await app.inject(`/estimated${path}`)).body, (await app.inject(`/exact${path}`)).body, path);
    }
  });

  t.test('an invalid count fails at start with the name of the view', async (t) => {
    class WrongViewSet extends ModelViewSet(Book, { ...declared, count: 'maybe' as never }) {}
    class WrongPages extends PageNumberPagination {
      override readonly count = 'maybe' as never;
    }
    class WrongPagesViewSet extends ModelViewSet(Book, { ...declared, pagination: WrongPages }) {}
    class CursorViewSet extends ModelViewSet(Book, { ...declared, pagination: CursorPagination, count: 'exact' }) {}
    const register = (view: new () => ViewSet) =>
      testApp(t, orm, [new Router().register('wrong', view)], { options: { secret: 's'.repeat(32) } });
    await t.rejects(register(WrongViewSet), {
      message: /WrongViewSet .*"count" must be one of exact, estimated, none, got "maybe"/,
    });
    await t.rejects(register(WrongPagesViewSet), { message: /WrongPagesViewSet .*"count"/ });
    await t.rejects(register(CursorViewSet), { message: /CursorViewSet .*"count" must be "none" or nothing/ });
  });
});

t.test('the schema documents how records are counted', async (t) => {
  const count = (options: object) => {
    const { properties } = new PageNumberPagination(options).envelope({}) as unknown as {
      properties: { count: object };
    };
    return properties.count;
  };
  t.match(count({}), { type: 'integer', description: 'The number of records on all pages' });
  t.match(count({ count: 'estimated' }), {
    type: 'integer',
    description: /an estimate where counting is expensive.*exact on the last page/,
  });
  t.match(count({ count: 'none' }), { type: 'null' });
});
