import type { MikroORM } from '@mikro-orm/core';
import { CursorPagination, ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import fastify, { type FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { fullText, updateFullText } from '../src/index.ts';
import { Article, entities, GENERATOR } from './support/articles.ts';

const search = fullText<Article>(['title^2', 'body']);

class ArticleViewSet extends ModelViewSet(Article, {
  read: readShape(Article, ['id', 'title', 'topic']),
  write: writeShape(Article, ['title', 'body', 'topic']),
  searchFields: fullText(['title^2', 'body']),
  filterFields: { topic: 'topic' },
  orderingFields: { id: 'id' },
  exports: ['ndjson'],
  summary: { group: ['topic'] },
  pageSize: 50,
}) {}

class CursorViewSet extends ModelViewSet(Article, {
  read: readShape(Article, ['id', 'title']),
  searchFields: fullText(['title^2', 'body']),
  pagination: CursorPagination,
}) {}

async function open(t: Test, orm: MikroORM): Promise<FastifyInstance> {
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm, secret: 'a secret of more than thirty-two bytes' });
  const router = new Router();
  router.register('articles', ArticleViewSet);
  router.register('feed', CursorViewSet);
  await app.register(router.plugin);
  await app.ready();
  return app;
}

interface Listed {
  readonly count: number;
  readonly results: readonly { readonly id: number }[];
  readonly next_cursor?: string | null;
}

async function ask(app: FastifyInstance, query: Record<string, string>, path = '/articles') {
  const answer = await app.inject({ url: path, query });
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${answer.body}`);
  return answer.json<Listed>();
}

async function found(app: FastifyInstance, text: string): Promise<number[]> {
  const { results, count } = await ask(app, { search: text });
  const ids = results.map(({ id }) => id);
  if (count !== ids.length) throw new Error(`count ${count}, but ${ids.length} records`);
  return ids;
}

const sorted = (ids: readonly number[]): number[] => ids.toSorted((a, b) => a - b);

forEachDatabase(t, { entities, orm: GENERATOR, onLibSql: true }, async (t, orm) => {
  await updateFullText(orm, Article, search);
  const em = orm.em.fork();
  const texts: [string, string | null, string?][] = [
    ['Green tea', 'Tea of green leaves, from the garden.', 'tea'],
    ['Black tea', 'Strong. Green is something else.', 'tea'],
    ['The garden', 'Green grass, a well-known shed, and one tea table.', 'garden'],
    ['Élan vital', "Caf\u00e9 au lait; O'Brien drinks it at example.com/tea", 'other'],
    ['Nothing', null, 'other'],
    ['concatenate', 'teapot', 'other'],
  ];
  for (const [title, body, topic = 'none'] of texts) {
    em.create(Article, { title, body, topic, secret: '' });
    await em.flush();
  }
  const app = await open(t, orm);

  t.test('every word must match a complete word of any field', async (t) => {
    t.same(sorted(await found(app, 'tea')), [1, 2, 3, 4]);
    t.same(sorted(await found(app, 'TEA green')), [1, 2, 3]);
    t.same(await found(app, 'tea table'), [3]);
    t.same(await found(app, 'cat'), []);
    t.same(await found(app, 'black nothing'), []);
  });

  t.test('the words of a phrase must be adjacent, and excluded words must not match', async (t) => {
    t.same(await found(app, '"green tea"'), [1]);
    t.same(await found(app, '"tea green"'), []);
    t.same(await found(app, 'tea -green'), [4]);
    t.same(sorted(await found(app, 'tea -"green tea"')), [2, 3, 4]);
    t.same(await found(app, 'well-known'), [3]);
    t.same(await found(app, "O'Brien"), [4]);
    t.same(await found(app, 'example'), [4]);
  });

  t.test('accents count, case does not', async (t) => {
    t.same(await found(app, 'café'), [4]);
    t.same(await found(app, 'cafe\u0301'), [4]);
    t.same(await found(app, 'CAFÉ lait'), [4]);
    t.same(await found(app, 'cafe'), []);
    t.same(await found(app, 'élan'), [4]);
  });

  t.test('the best match comes first, unless the request sorts', async (t) => {
    t.same((await found(app, 'green')).at(0), 1);
    t.same(await found(app, 'black'), [2]);
    t.same(
      (await ask(app, { search: 'green', sort: '-id' })).results.map(({ id }) => id),
      [3, 2, 1],
    );
  });

  t.test('pages by number and by cursor show each record once', async (t) => {
    const all = await found(app, 'tea');
    const pages: number[] = [];
    for (let page = 1; page <= 4; page++) {
      const { results, count } = await ask(app, { search: 'tea', page: String(page), page_size: '1' });
      t.equal(count, 4);
      pages.push(...results.map(({ id }) => id));
    }
    t.same(pages, all);
    const shown: number[] = [];
    let query: Record<string, string> = { search: 'tea', page_size: '1' };
    for (let page = 0; page < 4; page++) {
      const { results, next_cursor: cursor } = await ask(app, query, '/feed');
      shown.push(...results.map(({ id }) => id));
      t.equal(cursor === null, page === 3);
      if (cursor === null || cursor === undefined) break;
      query = { search: 'tea', page_size: '1', cursor };
      const other = await app.inject({ url: '/feed', query: { ...query, search: 'green' } });
      t.equal(other.statusCode, 400, 'a place among other ranks');
    }
    t.same(shown, all);
  });

  t.test('filters, summaries and exports use the search', async (t) => {
    t.same(sorted((await ask(app, { search: 'tea', topic: 'tea' })).results.map(({ id }) => id)), [1, 2]);
    const summary = await app.inject({ url: '/articles/summary', query: { search: 'tea', group: 'topic' } });
    t.equal(summary.statusCode, 200, summary.body);
    t.match(summary.body, '"topic":"garden"');
    t.notMatch(summary.body, '"count":6');
    const exported = await app.inject({ url: '/articles.ndjson', query: { search: 'tea' } });
    t.same(
      exported.body
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: number }).id),
      await found(app, 'tea'),
    );
  });

  t.test('writes are found at once', async (t) => {
    const made = await app.inject({ method: 'POST', url: '/articles', payload: { title: 'Zebra', body: 'stripes' } });
    t.equal(made.statusCode, 201, made.body);
    const { id } = made.json<{ id: number }>();
    t.same(await found(app, 'zebra stripes'), [id]);
    await app.inject({ method: 'PATCH', url: `/articles/${id}`, payload: { title: 'Horse' } });
    t.same(await found(app, 'zebra'), []);
    t.same(await found(app, 'horse'), [id]);
    await app.inject({ method: 'DELETE', url: `/articles/${id}` });
    t.same(await found(app, 'horse'), []);
  });
});
