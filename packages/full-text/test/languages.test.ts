/** Forms of words, and searches beside conditions on other records. */
import { compare, fieldPath, ModelViewSet, QuerySet, readShape, Router, viewset } from '@viewset/core';
import fastify, { type FastifyInstance } from 'fastify';
import type { MikroORM } from '@mikro-orm/core';
import t, { type Test } from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { fullText, updateFullText } from '../src/index.ts';
import { Article, entities, GENERATOR, Section } from './support/articles.ts';

const search = fullText<Article>(['title', 'body'], { language: 'english' });

class ArticleViewSet extends ModelViewSet(Article, {
  read: readShape(Article, ['id']),
  searchFields: search,
  filterFields: { section: 'section__name' },
  orderingFields: { section: 'section__name' },
  pageSize: 3,
}) {}

async function open(t: Test, orm: MikroORM): Promise<FastifyInstance> {
  const app = fastify();
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  await app.register(new Router().register('articles', ArticleViewSet).plugin);
  await app.ready();
  return app;
}

interface Listed {
  readonly count: number;
  readonly results: readonly { readonly id: number }[];
}

async function ask(app: FastifyInstance, query: Record<string, string>): Promise<{ count: number; ids: number[] }> {
  const answer = await app.inject({ url: '/articles', query });
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${answer.body}`);
  const { count, results } = answer.json<Listed>();
  return { count, ids: results.map(({ id }) => id) };
}

forEachDatabase(t, { entities, orm: GENERATOR, onLibSql: true }, async (t, orm, database) => {
  await updateFullText(orm, Article, search);
  const em = orm.em.fork();
  const sections = ['north', 'south'].map((name) => em.create(Section, { name }));
  await em.flush();
  const add = async (title: string, body = '', section = sections[0]!): Promise<number> => {
    const made = em.create(Article, { title, body, section, topic: 'x', secret: '' });
    await em.flush();
    return made.id;
  };
  const cat = await add('The cat sleeps');
  const cats = await add('Cats', 'are sleeping');
  const app = await open(t, orm);

  t.test('every form of a word finds the others', async (t) => {
    t.same(
      (await ask(app, { search: 'cat' })).ids.toSorted((a, b) => a - b),
      [cat, cats],
    );
    t.same(
      (await ask(app, { search: 'CATS' })).ids.toSorted((a, b) => a - b),
      [cat, cats],
    );
    t.same((await ask(app, { search: 'cats -sleeps' })).ids, []);
  });

  t.test('forms of several words match, but on MongoDB only as they are written', async (t) => {
    const expected = database === 'mongodb' ? [] : [cat, cats];
    t.same(
      (await ask(app, { search: 'cats sleep' })).ids.toSorted((a, b) => a - b),
      expected,
    );
    t.same((await ask(app, { search: 'cat sleeps' })).ids.includes(cat), true);
  });

  t.test('stop words match as documented', async (t) => {
    t.same((await ask(app, { search: 'the' })).ids, database === 'sqlite' ? [cat] : []);
    t.same((await ask(app, { search: 'the cat' })).ids.includes(cat), true);
    t.same((await ask(app, { search: 'the -cat' })).ids, []);
    t.same((await ask(app, { search: '"the the" -dog' })).ids, []);
  });

  t.test('a word that is too long for the index is stored', async (t) => {
    const id = await add('long', `needle ${'x'.repeat(5000)}`);
    t.same((await ask(app, { search: 'needle' })).ids, [id]);
  });

  t.test('a search can be combined with filters and orders of related records, also to many', async (t) => {
    for (let index = 0; index < 1100; index++) {
      em.create(Article, { title: `oak ${index}`, body: '', section: sections[index % 2]!, topic: 'x', secret: '' });
    }
    await em.flush();
    t.equal((await ask(app, { search: 'oaks' })).count, 1100);
    const south = await ask(app, { search: 'oaks', section: 'south' });
    t.equal(south.count, 550);
    t.equal(south.ids.length, 3);
    const again = await ask(app, { search: 'oaks', section: 'south', sort: '-section', page: '2' });
    t.equal(again.count, 550);
    t.equal(again.ids.length, 3);
  });

  t.test('a search runs in a transaction and finds its writes', async (t) => {
    const { ids } = await ask(app, { search: 'cat' });
    t.equal(ids.length, 2);
    await orm.em.fork().transactional(async (inner) => {
      const view = search.forView({
        name: 'Test',
        meta: orm.getMetadata().get(Article),
        em: inner,
        database: QuerySet.of(inner, Article).database,
      });
      inner.create(Article, { title: 'cat in a transaction', body: '', topic: 'x', secret: '' });
      await inner.flush();
      const all = QuerySet.of(inner, Article).where(
        compare(fieldPath(orm.getMetadata().get(Article), 'topic', '.'), 'exact', 'x'),
      );
      const found = await view.search(all, 'cat', { parameter: 'search', maximumWords: 20 }, {} as never);
      t.equal(await found.count(), 3);
      t.equal((await found.entities()).length, 3);
    });
  });
});
