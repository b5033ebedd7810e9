/** What every database answers alike: random words against a model, ranks by weight, and texts that nobody should send. */
import type { MikroORM } from '@mikro-orm/core';
import { ModelViewSet, Permission, type PermissionView, readShape, Router, viewset } from '@viewset/core';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import { forEachDatabase, openPostgreSql, skipPostgreSql } from '../../core/test/support/databases.ts';
import { numbers } from '../../core/test/support/numbers.ts';
import { fullText, updateFullText } from '../src/index.ts';
import { Article, entities, GENERATOR } from './support/articles.ts';

class OfPublicTopic extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<Article>(view, { topic: 'public' });
  }
}

class AllViewSet extends ModelViewSet(Article, {
  read: readShape(Article, ['id']),
  searchFields: fullText(['title^10', 'body']),
  pageSize: 500,
  maxPageSize: 500,
}) {}

class PublicViewSet extends ModelViewSet(Article, {
  read: readShape(Article, ['id']),
  searchFields: fullText(['title^10', 'body']),
  permissionClasses: [OfPublicTopic],
  pageSize: 500,
  maxPageSize: 500,
}) {}

async function open(t: Test, orm: MikroORM): Promise<FastifyInstance> {
  const app = fastify();
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  const router = new Router().register('articles', AllViewSet).register('public', PublicViewSet);
  await app.register(router.plugin);
  await app.ready();
  return app;
}

async function found(app: FastifyInstance, search: string, url = '/articles'): Promise<number[]> {
  const answer = await app.inject({ url, query: { search } });
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${answer.body}`);
  return answer.json<{ results: { id: number }[] }>().results.map(({ id }) => id);
}

const WORDS = ['ash', 'birch', 'cedar', 'elm', 'fir', 'oak', 'pine', 'rowan', 'willow', 'yew'];

interface Model {
  readonly id: number;
  readonly title: string;
  readonly body: string;
  readonly topic: string;
}

/** The naive answer: phrases stand in one of the fields, side by side. */
function expected(articles: readonly Model[], required: readonly string[], excluded: readonly string[]): number[] {
  const has = ({ title, body }: Model, phrase: string): boolean =>
    [title, body].some((text) => ` ${text.toLowerCase().replaceAll(/[^a-z]+/g, ' ')} `.includes(` ${phrase} `));
  return articles
    .filter((one) => required.every((phrase) => has(one, phrase)) && !excluded.some((phrase) => has(one, phrase)))
    .map(({ id }) => id);
}

forEachDatabase(t, { entities, orm: GENERATOR, onLibSql: true }, async (t, orm, database) => {
  await updateFullText(orm, Article, fullText<Article>(['title^10', 'body']));
  const random = numbers(7);
  const pick = (count: number): string[] =>
    Array.from({ length: count }, () => WORDS[Math.floor(random() * WORDS.length)]!);
  const em = orm.em.fork();
  const made: Article[] = [];
  for (let index = 0; index < 120; index++) {
    const [title, body] = [
      pick(1 + (index % 4)).join(' '),
      pick(index % 7)
        .join(index % 3 === 0 ? ', ' : ' ')
        .toUpperCase(),
    ];
    made.push(em.create(Article, { title, body, topic: index % 2 === 0 ? 'public' : 'private', secret: 'hidden' }));
  }
  await em.flush();
  const articles = made.map(({ id, title, body, topic }) => ({ id, title, body: body ?? '', topic }));
  const app = await open(t, orm);

  t.test('random words, phrases and exclusions match the same records as a naive model', async (t) => {
    for (let round = 0; round < 80; round++) {
      const required = Array.from({ length: 1 + Math.floor(random() * 2) }, () =>
        pick(random() < 0.3 ? 2 : 1).join(' '),
      );
      const excluded = Array.from({ length: Math.floor(random() * 2.5) }, () => pick(random() < 0.3 ? 2 : 1).join(' '));
      const text = [...required.map((phrase) => `"${phrase}"`), ...excluded.map((phrase) => `-"${phrase}"`)].join(' ');
      const ids = (await found(app, text)).toSorted((a, b) => a - b);
      t.same(ids, expected(articles, required, excluded), text);
    }
  });

  t.test('records outside of the scope are not found', async (t) => {
    const hidden = new Set(articles.filter(({ topic }) => topic === 'private').map(({ id }) => id));
    const seen = await found(app, 'oak', '/public');
    t.ok(seen.length > 0);
    t.same(
      seen.filter((id) => hidden.has(id)),
      [],
    );
    t.same(await found(app, 'hidden'), [], 'a field that is not searched');
  });

  t.test('a word in a field with a higher weight ranks first', async (t) => {
    const inBody = em.create(Article, { title: 'baobab', body: 'sequoia', topic: 'public', secret: '' });
    await em.flush();
    const inTitle = em.create(Article, { title: 'sequoia', body: 'baobab', topic: 'public', secret: '' });
    await em.flush();
    t.same(await found(app, 'sequoia'), [inTitle.id, inBody.id]);
    t.same(await found(app, 'baobab'), [inBody.id, inTitle.id]);
  });

  t.test('records of equal rank are in the order of their keys', async (t) => {
    const twins = [1, 2, 3].map(() =>
      em.create(Article, { title: 'gemini', body: 'gemini', topic: 'public', secret: '' }),
    );
    await em.flush();
    t.same(
      await found(app, 'gemini'),
      twins.map(({ id }) => id).toSorted((a, b) => a - b),
    );
  });

  t.test('no text causes a server error', async (t) => {
    const texts = [
      '"',
      '""',
      '-',
      '--',
      '-"',
      '*',
      'oak*',
      'oak AND',
      'OR',
      'NOT oak',
      'oak OR elm',
      'NEAR(oak elm)',
      'title:oak',
      '{title}:oak',
      'oak:*',
      'oak & elm',
      '!oak',
      '(oak',
      ')',
      "'",
      "'; drop table article; --",
      '\\',
      '%',
      '_',
      '$oak',
      '🎉',
      '🎉 oak',
      '-oak',
      'the',
      'the of and',
      '\ud800',
      'oak\ud800',
      '\u0301',
      '“oak”',
      'a'.repeat(3000),
      `-${'b'.repeat(3000)} oak`,
      'ﬁr',
      'İstanbul',
      'ß',
      '½',
      '漢字',
      '"oak',
      'oak"',
      '-"oak',
      'oak -"',
      '\u00ad',
      'oak\u200bfir',
      '..',
      'oak<->elm',
      '^oak',
      'oak + elm',
      '<b>oak</b>',
      '&amp;',
    ];
    for (const text of texts) {
      const { statusCode, body } = await app.inject({ url: '/articles', query: { search: text } });
      if (statusCode !== 200) t.equal(statusCode, 200, `${text}: ${body}`);
    }
    t.equal((await app.inject('/articles?search=oak%00')).statusCode, 400);
    t.equal((await app.inject('/articles?search=oak&search=elm')).statusCode, 400);
    t.same(await found(app, '-oak'), []);
    t.same(await found(app, '🎉'), []);
    t.same(await found(app, 'OR'), []);
    t.same(await found(app, 'a'.repeat(3000)), []);
    t.same(await found(app, `-${'b'.repeat(3000)} oak`), await found(app, 'oak'));
    t.same(await found(app, '“oak”'), await found(app, 'oak'));
  });

  t.test('more than twenty words are rejected in every notation', async (t) => {
    const many = Array.from({ length: 10_000 }, (_, index) => `w${index}`);
    for (const text of [many.slice(0, 21).join(' '), `"${many.slice(0, 21).join(' ')}"`, many.slice(0, 21).join('-')]) {
      const answer = await app.inject({ url: '/articles', query: { search: text } });
      t.equal(answer.statusCode, 400);
      t.match(answer.json(), { error: /"search" must not have more than 20 words/ });
    }
    t.same(await found(app, many.slice(0, 20).join(' ')), []);
  });

  t.test('a long text is stored, and its beginning is found', async (t) => {
    const words = Array.from({ length: 60_000 }, (_, index) => `word${index.toString(36)}`).join(' ');
    const long = em.create(Article, { title: 'long', body: `firstword ${words}`, topic: 'public', secret: '' });
    await em.flush();
    t.same(await found(app, 'firstword'), [long.id]);
  });

  t.test('phrases in long texts match as documented', async (t) => {
    const texts = [`${'red ink '.repeat(300)} red unicorn`, `${'ab '.repeat(16_500)} green unicorn`];
    const long = texts.map((body) => em.create(Article, { title: 'phrases', body, topic: 'public', secret: '' }));
    await em.flush();
    const isLimited = database === 'postgresql';
    t.same(await found(app, '"red unicorn"'), isLimited ? [] : [long[0]?.id]);
    t.same(await found(app, '"green unicorn"'), isLimited ? [] : [long[1]?.id]);
    t.same(await found(app, '"red ink" unicorn'), [long[0]?.id]);
    t.same(await found(app, 'green unicorn'), [long[1]?.id]);
  });

  t.test('texts that are not in NFC match only by words without accents', async (t) => {
    const body = 'cafe\u0301 unaccented';
    const made = em.create(Article, { title: 'form', body, topic: 'public', secret: '' });
    await em.flush();
    t.same(await found(app, body), []);
    t.same(await found(app, 'caf\u00e9'), []);
    t.same(await found(app, 'unaccented'), [made.id]);
  });
});

t.test('PostgreSQL uses the index', { skip: skipPostgreSql() }, async (t) => {
  const statements: string[] = [];
  const orm = await openPostgreSql(t, {
    entities,
    orm: { debug: ['query'], logger: (line) => void statements.push(line) },
  });
  await updateFullText(orm, Article, fullText<Article>(['title^10', 'body']));
  const connection = orm.em.getConnection();
  await connection.execute(
    `insert into "article" ("title", "body") select 'oak ' || n, case when n % 500 = 0 then 'rowan' else 'fir' end from generate_series(1, 20000) n`,
  );
  await connection.execute('vacuum analyze "article"');
  const app = await open(t, orm);
  t.equal((await found(app, 'rowan')).length, 40);
  const asked = statements.find((line) => line.includes('websearch_to_tsquery') && line.includes('ts_rank'));
  t.ok(asked, 'the statement of the list');
  const sql = /(select .*)/is.exec(asked ?? '')?.[1] ?? '';
  t.match(sql, /@@ websearch_to_tsquery\('pg_catalog\.simple', /);
  const plan = (await connection.execute(
    `explain select "id" from "article" t0 where (t0."full_text" @@ websearch_to_tsquery('pg_catalog.simple', '"rowan"'))
     order by (ts_rank('{0, 0, 0.1, 1}', t0."full_text", websearch_to_tsquery('pg_catalog.simple', '"rowan"'))::float8) desc, "id" limit 20`,
  )) as unknown as Record<string, string>[];
  t.match(plan.map((row) => Object.values(row)[0]).join('\n'), /Bitmap Index Scan on article_full_text/);
});
