/** The query sets of a view as its routes use them: what is honoured, what is refused, and what stands in a statement. */
import type { InferEntity } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { ModelViewSet, Permission, type PermissionView, readShape, Router, writeShape } from '../../src/index.ts';
import { recordQueries } from './record-queries.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY, testApp } from '../support/library.ts';

const read = readShape(Book, ['id', 'title']);

const SCOPE = /"pages" >=|pages: \{ '\$gte': 200 \}/;

class LongOnly extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<InferEntity<typeof Book>>(view, { pages__gte: 200 });
  }
}

class SlicedViewSet extends ModelViewSet(Book, { read, write: writeShape(Book, ['title']) }) {
  override getQueryset(request: FastifyRequest) {
    return super.getQueryset(request).slice(0, 2);
  }
}

class SlicedListViewSet extends ModelViewSet(Book, { read }) {
  override async filterQueryset(request: FastifyRequest, queryset: ReturnType<SlicedListViewSet['getQueryset']>) {
    return (await super.filterQueryset(request, queryset)).slice(0, 2);
  }
}

class PlainSlicedListViewSet extends ModelViewSet(Book, { read, pagination: null }) {
  override async filterQueryset(request: FastifyRequest, queryset: ReturnType<PlainSlicedListViewSet['getQueryset']>) {
    return (await super.filterQueryset(request, queryset)).slice(0, 2);
  }
}

class SearchedViewSet extends ModelViewSet(Book, { read, searchFields: ['title'] }) {}

class LongViewSet extends ModelViewSet(Book, { read, permissionClasses: [LongOnly] }) {}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm, database) => {
  await fillLibrary(orm);
  const router = new Router()
    .register('sliced', SlicedViewSet)
    .register('sliced-list', SlicedListViewSet)
    .register('plain-sliced-list', PlainSlicedListViewSet)
    .register('searched', SearchedViewSet)
    .register('long', LongViewSet);
  const app = await testApp(t, orm, [router]);

  t.test('a sliced getQueryset() is rejected by every operation, with the name of the view', async (t) => {
    for (const [method, url] of [
      ['GET', '/sliced'],
      ['GET', '/sliced/1'],
      ['PATCH', '/sliced/5'],
      ['DELETE', '/sliced/5'],
    ] as const) {
      const response = await app.inject({ method, url, ...(method === 'PATCH' && { payload: { title: 'x' } }) });
      t.equal(response.statusCode, 500, `${method} ${url}`);
      t.equal(response.json<{ code: string }>().code, 'improperly_configured');
    }
    t.equal(await orm.em.fork().count(Book), 5);
    t.equal(await orm.em.fork().count(Book, { title: 'x' }), 0);
  });

  t.test('a slice in filterQueryset is rejected with a paginator and applied without one', async (t) => {
    t.equal((await app.inject('/sliced-list')).json<{ code: string }>().code, 'improperly_configured');
    t.equal((await app.inject('/plain-sliced-list')).json<unknown[]>().length, 2);
  });

  t.test('a search term is queried once, and not if another term contains it', async (t) => {
    const queries = recordQueries(orm);
    const search = encodeURIComponent('CEDAR cedar dar "ceda" da');
    const found = (await app.inject(`/searched?search=${search}`)).json<{ results: { title: string }[] }>();
    t.strictSame(
      found.results.map(({ title }) => title),
      ['Cedar'],
    );
    queries.stop();
    const [rows] = queries.texts;
    const perScan = rows?.includes('as total') === true ? 2 : 1;
    t.equal(rows!.split(/ like |\$regex/).length - 1, perScan, String(rows));
  });

  t.test('on SQLite a search of many terms blocks the process for a second at most', async (t) => {
    const search = async (words: string) => app.inject(`/searched?search=${encodeURIComponent(words)}`);
    const [few, many] = ['çedar dúne', 'çb çc çd çe çf çg çh çi'];
    t.equal((await search(many)).statusCode, 200);
    // A machine so slow that it needs a minute for whatever it does.
    let clockMs = 0;
    t.intercept(performance, 'now', { value: () => (clockMs += 60_000) });
    t.equal((await search(few)).statusCode, 200);
    const answer = await search(many);
    t.equal(answer.statusCode, database === 'sqlite' ? 503 : 200);
    if (database === 'sqlite') t.equal(answer.json<{ code: string }>().code, 'service_unavailable');
  });

  t.test('a scope is evaluated once', async (t) => {
    for (const url of ['/long', '/long/2']) {
      const queries = recordQueries(orm);
      t.equal((await app.inject(url)).statusCode, 200);
      queries.stop();
      const asked = queries.texts.filter((text) => SCOPE.test(text));
      t.ok(asked.length > 0);
      const perScan = url === '/long' && asked[0]!.includes('count(*)') && asked[0]!.includes('as total') ? 2 : 1;
      for (const text of asked) t.equal(text.split(SCOPE).length - 1, perScan, text);
    }
  });
});
