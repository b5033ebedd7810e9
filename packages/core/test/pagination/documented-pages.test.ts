/** The most records of a page stand in its declared response, unless code of the application makes the page. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import {
  CursorPagination,
  LimitOffsetPagination,
  ModelViewSet,
  PageNumberPagination,
  type QuerySet,
  readShape,
  Router,
} from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary(), text: p.string(), deleted_at: p.datetime().nullable() },
});
const read = readShape(Note, ['id', 'text']);

class UsualViewSet extends ModelViewSet(Note, { read, fields: true, queryMethod: true }) {}
class SizedViewSet extends ModelViewSet(Note, { read, pageSize: 3, maxPageSize: 7, envelope: { many: 'notes' } }) {}
class OffsetViewSet extends ModelViewSet(Note, { read, pagination: LimitOffsetPagination.with({ maxPageSize: 20 }) }) {}
class CursorViewSet extends ModelViewSet(Note, { read, pagination: CursorPagination }) {}
class NamedViewSet extends ModelViewSet(Note, {
  read,
  pagination: PageNumberPagination.with({ names: { results: 'items' } }),
}) {}
class UnpagedViewSet extends ModelViewSet(Note, { read, pagination: null }) {}
class PinnedViewSet extends ModelViewSet(Note, { read, pageSize: 1, maxPageSize: 1 }) {
  override async list() {
    const results = [1, 2, 3].map((id) => ({ id, text: 'pinned' }));
    return { count: 3, next: false, previous: false, results };
  }
}
class MixedViewSet extends ModelViewSet(Note, { read, maxPageSize: 10 }) {
  override paginate(request: FastifyRequest, records: QuerySet<InferEntity<typeof Note>>) {
    return super.paginate(request, records);
  }
}

t.test('a page of a built-in paginator has at most its maximum of records', async (t) => {
  const orm = await openSqlite(t, { entities: [Note] });
  const views = {
    usual: UsualViewSet,
    sized: SizedViewSet,
    offset: OffsetViewSet,
    cursor: CursorViewSet,
    named: NamedViewSet,
    whole: UnpagedViewSet,
    pinned: PinnedViewSet,
    mixed: MixedViewSet,
  };
  const router = new Router();
  for (const [name, view] of Object.entries(views)) router.register(name, view);
  const app = await testApp(t, orm, [router], { options: { secret: 's'.repeat(32) } });
  const found = app.viewset.operations
    .filter(({ action }) => action === 'list')
    .map(({ path, method, responses }) => {
      const { properties = {} } = responses[200]!.schema as { properties?: Record<string, { maxItems?: number }> };
      const bounds = Object.entries(properties).flatMap(([name, { maxItems }]) =>
        maxItems === undefined ? [] : [`${name} ${maxItems}`],
      );
      return [`${method} ${path}`, bounds] as const;
    });
  t.strictSame(Object.fromEntries(found), {
    'GET /usual': ['results 100'],
    'QUERY /usual': ['results 100'],
    'GET /sized': ['notes 7'],
    'GET /offset': ['results 20'],
    'GET /cursor': ['results 100'],
    'GET /named': ['items 100'],
    'GET /whole': [],
    'GET /pinned': [],
    'GET /mixed': [],
  });
  t.equal((await app.inject('/pinned')).json<{ results: unknown[] }>().results.length, 3);
});
