/** Lists that are arrays, whose total stands in a header. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import t from 'tap';
import {
  action,
  CursorPagination,
  LimitOffsetPagination,
  ModelViewSet,
  PageNumberPagination,
  readShape,
  Router,
} from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { errorAtStart, testApp } from '../support/library.ts';
import { fillTags, SHELVES, Tag } from '../support/shelves.ts';

const options = { read: readShape(Tag, ['id', 'name']), filterFields: { owner: 'owner' }, queryMethod: true } as const;

class Numbered extends ModelViewSet(Tag, {
  ...options,
  pagination: PageNumberPagination.with({ totalHeader: 'X-Total-Count', links: true, pageSize: 2 }),
}) {
  newest = action({ answers: 'page' }, async (request, reply) =>
    this.paginate(request, this.getQueryset(request).orderBy('-id'), reply),
  );
  forgetful = action({ answers: 'page' }, async (request: FastifyRequest, _reply: FastifyReply) =>
    this.paginate(request, this.getQueryset(request)),
  );
}
class Ranged extends ModelViewSet(Tag, {
  ...options,
  pagination: LimitOffsetPagination.with({ totalHeader: 'Content-Range', pageSize: 2, maxPageSize: 7 }),
}) {}
class SubclassPages extends LimitOffsetPagination {
  override readonly totalHeader = 'X-Total-Count';
}
class Subclassed extends ModelViewSet(Tag, { ...options, pagination: SubclassPages, count: 'estimated' }) {}

forEachDatabase(t, { entities: SHELVES }, async (t, orm) => {
  t.beforeEach(() => fillTags(orm));
  const router = new Router().register('numbered', Numbered).register('ranged', Ranged).register('sub', Subclassed);
  const app = await testApp(t, orm, [router]);
  const get = async (url: string, method: 'GET' | 'HEAD' = 'GET') => {
    const { statusCode, headers, body } = await app.inject({ method, url });
    const total = headers['x-total-count'] ?? headers['content-range'];
    return {
      status: statusCode,
      total,
      ids: (JSON.parse(body || '[]') as { id: number }[]).map(({ id }) => id),
      headers,
    };
  };

  t.test('a list is an array, and a header has the total', async (t) => {
    t.match(await get('/numbered'), { status: 200, total: '3', ids: [101, 102] });
    t.match(await get('/numbered?page=2'), { total: '3', ids: [103] });
    t.match(await get('/numbered?page=9'), { total: '3', ids: [] });
    t.match(await get('/numbered?owner=Bob'), { total: '1', ids: [103] });
    t.match((await get('/numbered')).headers, { link: /page=2>; rel="last"/ });
    t.match(await get('/numbered', 'HEAD'), { status: 200, total: '3' });
    t.match(await get('/numbered/newest'), { total: '3', ids: [103, 102] });
    t.match(await get('/sub'), { total: '3', ids: [101, 102, 103] });
  });

  t.test('Content-Range has the places of the records', async (t) => {
    t.match(await get('/ranged'), { total: 'items 0-1/3', ids: [101, 102] });
    t.match(await get('/ranged?offset=2'), { total: 'items 2-2/3', ids: [103] });
    t.match(await get('/ranged?offset=5'), { total: 'items */3', ids: [] });
    t.match(await get('/ranged?owner=nobody'), { total: 'items */0', ids: [] });
    t.match(await get('/ranged?limit=1&offset=1'), { total: 'items 1-1/3', ids: [102] });
  });

  t.test('the body of a QUERY has the page', async (t) => {
    const payload = { offset: 1 };
    const { headers, body } = await app.inject({ method: 'QUERY' as 'GET', url: '/ranged', payload });
    t.match([headers['content-range'], body], ['items 1-2/3', /^\[/]);
  });

  t.test('an action without the reply fails instead of leaving the total out', async (t) => {
    t.equal((await app.inject('/numbered/forgetful')).statusCode, 500);
  });

  t.test('the document has the array, its most records and the header', async (t) => {
    const of = (route: string) => {
      const plan = app.viewset.operations.find(({ path, method }) => path === route && method === 'GET')!;
      const { schema, headers } = plan.responses[200]!;
      const { type, maxItems, items } = schema as { type?: string; maxItems?: number; items?: object };
      return { type, maxItems, headers, items, pageMembers: plan.pageMembers };
    };
    t.match(of('/ranged'), {
      type: 'array',
      maxItems: 7,
      items: { properties: { id: {} } },
      headers: { 'content-range': { type: 'string' } },
      pageMembers: {},
    });
    t.match(of('/numbered'), {
      type: 'array',
      maxItems: 100,
      headers: { 'x-total-count': { type: 'integer' }, link: {} },
    });
    t.match(of('/numbered/newest'), { type: 'array', headers: { 'x-total-count': {} } });
  });
});

forEachDatabase(t, { entities: SHELVES, only: ['sqlite'] }, async (t, orm) => {
  t.test('a total that cannot be sent fails at start', async (t) => {
    const message = (given: object) => errorAtStart(t, orm, ModelViewSet(Tag, { ...options, ...given }));
    const pagination = PageNumberPagination.with({ totalHeader: 'X-Total-Count' });
    t.match(await message({ pagination, count: 'none' }), '"totalHeader" needs a count, but "count" is "none"');
    t.match(
      await message({ pagination, envelope: { many: 'tags' } }),
      'with "totalHeader" a list is an array without members, but the envelope has "many" (tags)',
    );
    const named = PageNumberPagination.with({ totalHeader: 'X-Total-Count', names: { results: 'items', page: 'p' } });
    t.match(await message({ pagination: named }), 'but "names" has "results"');
    t.notOk(
      await message({ pagination: PageNumberPagination.with({ totalHeader: 'X-Total-Count', names: { page: 'p' } }) }),
    );
    class Wrong extends PageNumberPagination {
      override readonly totalHeader = 'X-Total' as never;
    }
    t.match(
      await message({ pagination: Wrong }),
      'option "totalHeader" must be one of X-Total-Count, Content-Range, or null',
    );
    t.throws(() => PageNumberPagination.with({ totalHeader: 'x-total-count' as never }), {
      message: /option "totalHeader" must be one of X-Total-Count, Content-Range/,
    });
    t.throws(() => CursorPagination.with({ totalHeader: 'X-Total-Count' } as never), {
      message: /unknown option "totalHeader"/,
    });
  });
});
