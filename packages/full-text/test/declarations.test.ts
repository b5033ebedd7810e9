/** What `fullText()` refuses, and what an application without its index says at the start. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import type { MikroORM as MongoORM } from '@mikro-orm/mongodb';
import {
  type FilterClass,
  ImproperlyConfigured,
  ModelViewSet,
  OrderingFilter,
  readShape,
  Router,
  viewset,
} from '@viewset/core';
import fastify, { type FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { forEachDatabase, openPostgreSql, openSqlite, skipPostgreSql } from '../../core/test/support/databases.ts';
import { fullText, fullTextSchema, updateFullText } from '../src/index.ts';
import { Article, entities, GENERATOR } from './support/articles.ts';

const KeyedSchema = defineEntity({
  name: 'Keyed',
  properties: { id: p.uuid().primary(), title: p.string() },
});
class Keyed extends KeyedSchema.class {}
KeyedSchema.setClass(Keyed);

async function start(
  t: Test,
  orm: MikroORM | object,
  searchFields: unknown,
  filters?: FilterClass[],
): Promise<FastifyInstance> {
  class ArticleViewSet extends ModelViewSet(Article, {
    read: readShape(Article, ['id', 'title']),
    searchFields: searchFields as never,
    ...(filters && { filters }),
  }) {}
  const app = fastify();
  t.teardown(() => app.close());
  await app.register(viewset, { orm: orm as MikroORM });
  await app.register(new Router().register('articles', ArticleViewSet).plugin);
  await app.ready();
  return app;
}

t.test('wrong arguments are refused by name', async (t) => {
  const refused = (make: () => unknown, message: RegExp): void => {
    t.throws(make, ImproperlyConfigured);
    t.throws(make, { message });
  };
  refused(() => fullText<Article>([]), /"fields" must be a list of fields/);
  refused(() => fullText<Article>('title' as never), /"fields" must be a list of fields/);
  refused(() => fullText<Article>(['title^0']), /weights from 1 to 1000/);
  refused(() => fullText<Article>(['title^1.5']), /weights from 1 to 1000/);
  refused(() => fullText<Article>(['title^5000']), /weights from 1 to 1000/);
  refused(() => fullText<Article>(['title', 'title^2']), /"title" is named twice/);
  refused(
    () => fullText<Article>(['title'], { language: 'klingon' as never }),
    /"language" must be one of none, danish/,
  );
  refused(() => fullText<Article>(['title'], { lang: 'english' } as never), /unknown option "lang"/);
  refused(() => fullText<Article>(['title'], { name: 'a"b' }), /"name" must be a name/);
});

t.test('the index of something else than a search is refused', async (t) => {
  const orm = await openSqlite(t, { entities, orm: GENERATOR });
  const message = /option "search" must be the value that fullText\(\) has returned, got an array of 1/;
  t.throws(() => fullTextSchema(orm, Article, ['title'] as never), { message });
  await t.rejects(updateFullText(orm, Article, ['title'] as never), { message });
});

t.test('misspelt fields, and fields of other types or of relations, do not compile', async () => {
  // @ts-expect-error -- no such field
  fullText<Article>(['titel']);
  // @ts-expect-error -- no text
  fullText<Article>(['id']);
  // @ts-expect-error -- of another entity
  fullText<Article>(['section__name']);
  ModelViewSet(Article, {
    read: readShape(Article, ['id']),
    // @ts-expect-error -- no such field
    searchFields: fullText(['titel^2']),
  });
});

t.test('fields that are not text columns of the entity fail at registration', async (t) => {
  const orm = await openSqlite(t, { entities });
  const refused = (field: string, message: RegExp) =>
    t.rejects(start(t, orm, fullText<Article>([field as never])), { message });
  await refused('titel', /ArticleViewSet: .*did you mean "title"/);
  await refused('id', /"id" of Article is of type integer; name text columns/);
  await refused('section__name', /"section__name" of Article leads to another entity/);
  await refused('section', /"section" of Article/);
  await t.rejects(start(t, orm, [fullText<Article>(['title'])] as never), {
    message: /"searchFields" must be a list of texts, or a search such as fullText\(\), got an array of 1/,
  });
});

t.test('FTS5 of SQLite needs an integer key', async (t) => {
  const orm = await openSqlite(t, { entities: [Keyed] });
  t.throws(() => fullTextSchema(orm, Keyed, fullText<Keyed>(['title'])), {
    message: /needs an integer as its primary key/,
  });
});

t.test('a bigint key is accepted, and a view entity has no index', async (t) => {
  const Big = defineEntity({ name: 'Big', properties: { id: p.bigint().primary(), title: p.string() } });
  class BigEntity extends Big.class {}
  Big.setClass(BigEntity);
  const Seen = defineEntity({
    name: 'Seen',
    view: true,
    expression: 'select id, title from big',
    properties: { id: p.integer().primary(), title: p.string() },
  });
  class SeenEntity extends Seen.class {}
  Seen.setClass(SeenEntity);
  const orm = await openSqlite(t, { entities: [BigEntity, SeenEntity] });
  t.equal(fullTextSchema(orm, BigEntity, fullText<BigEntity>(['title'])).length, 5);
  t.throws(() => fullTextSchema(orm, SeenEntity, fullText<SeenEntity>(['title'])), {
    message: /is a view of the database/,
  });
});

t.test('PostgreSQL knows four weights', { skip: skipPostgreSql() }, async (t) => {
  const orm = await openPostgreSql(t, { entities });
  const search = fullText<Article>(['title^5', 'body^4', 'topic^3', 'secret^3']);
  t.equal(fullTextSchema(orm, Article, search).length, 3);
  const Many = defineEntity({
    name: 'Many',
    properties: {
      id: p.integer().primary(),
      a: p.string(),
      b: p.string(),
      c: p.string(),
      d: p.string(),
      e: p.string(),
    },
  });
  class ManyEntity extends Many.class {}
  Many.setClass(ManyEntity);
  const other = await openPostgreSql(t, { entities: [ManyEntity] });
  const five = fullText<ManyEntity>(['a^5', 'b^4', 'c^3', 'd^2', 'e']);
  t.throws(() => fullTextSchema(other, ManyEntity, five), {
    message: /at most 4 different weights; got 5, 4, 3, 2, 1/,
  });
});

t.test('a table in the schema of the ORM has its index there', { skip: skipPostgreSql() }, async (t) => {
  const orm = await openPostgreSql(t, { entities, orm: { schema: 'app' } });
  const search = fullText<Article>(['title']);
  t.match(fullTextSchema(orm, Article, search)[0], 'alter table "app"."article" add column');
  await t.rejects(start(t, orm, search), { message: /the full-text index of Article is missing/ });
  await updateFullText(orm, Article, search);
  const app = await start(t, orm, search);
  const em = orm.em.fork();
  em.create(Article, { title: 'an oak', topic: 'none', secret: '' });
  await em.flush();
  t.equal((await app.inject('/articles?search=oak')).json<{ results: unknown[] }>().results.length, 1);
});

t.test('two searches of a table with a long name have different index names', { skip: skipPostgreSql() }, async (t) => {
  const LongSchema = defineEntity({
    name: 'Long',
    tableName: 'l'.repeat(63),
    properties: { id: p.integer().primary(), title: p.string() },
  });
  class Long extends LongSchema.class {}
  LongSchema.setClass(Long);
  const orm = await openPostgreSql(t, { entities: [Long] });
  await updateFullText(orm, Long, fullText<Long>(['title']));
  await t.resolves(updateFullText(orm, Long, fullText<Long>(['title'], { name: 'title_text' })));
});

t.test('a view without a search filter is rejected', async (t) => {
  const orm = await openSqlite(t, { entities });
  await t.rejects(start(t, orm, fullText<Article>(['title']), [OrderingFilter]), {
    message: /option "searchFields" is read by none of the view's filters/,
  });
});

forEachDatabase(t, { entities, orm: GENERATOR, onLibSql: true }, async (t, orm, database) => {
  const search = fullText<Article>(['title^2', 'body']);
  const filled = orm.em.fork();
  filled.create(Article, { title: 'There before the index', topic: 'none', secret: '' });
  await filled.flush();

  t.test('an application without the index fails at start, and the error says how to create it', async (t) => {
    const message = { sqlite: /create virtual table/, postgresql: /create index/, mongodb: /createIndex/ }[database];
    await t.rejects(start(t, orm, search), { message: /ArticleViewSet: the full-text index of Article is missing/ });
    await t.rejects(start(t, orm, search), { message });
  });

  t.test('the statements create the index, and existing records are found', async (t) => {
    if (database === 'mongodb') await updateFullText(orm, Article, search);
    else for (const sql of fullTextSchema(orm, Article, search)) await orm.em.getConnection().execute(sql);
    await updateFullText(orm, Article, search);
    const app = await start(t, orm, search);
    const { results } = (await app.inject('/articles?search=before')).json<{ results: unknown[] }>();
    t.equal(results.length, 1);
  });

  t.test('an index of other fields, weights or another language is not the one', async (t) => {
    for (const other of [
      fullText<Article>(['title^3', 'body']),
      fullText<Article>(['title^2']),
      fullText<Article>(['title^2', 'body'], { language: 'english' }),
    ]) {
      // SQLite has weights in the query alone.
      const isSame = database === 'sqlite' && other.declaration.fields[0]?.weight === 3;
      if (isSame) {
        await t.resolves(start(t, orm, other));
      } else {
        await t.rejects(start(t, orm, other), { message: /is not the one that the view declares/ });
        const cure = database === 'mongodb' ? /declare the same search in both/ : /give one of them a "name"/;
        await t.rejects(start(t, orm, other), { message: cure });
      }
      // Two instances of an application may do it at once.
      await Promise.all([1, 2, 3].map(() => updateFullText(orm, Article, other)));
      await t.resolves(start(t, orm, other));
    }
  });
});

t.test('on SQLite, the schema generator must ignore the index', async (t) => {
  const search = fullText<Article>(['title']);
  for (const schemaGenerator of [
    {},
    { ignoreTriggers: true },
    { skipTables: [/_full_text/] },
    { skipTables: ['article_full_text'] },
  ]) {
    const orm = await openSqlite(t, { entities, orm: { schemaGenerator } });
    await t.rejects(updateFullText(orm, Article, search), {
      message: /skipTables: \[\/_full_text\/\], ignoreTriggers: true/,
    });
    await t.rejects(start(t, orm, search), { message: /skipTables/ });
  }
  const orm = await openSqlite(t, { entities, orm: GENERATOR });
  await updateFullText(orm, Article, search);
  t.equal(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '');
  await orm.schema.update();
  await t.resolves(start(t, orm, search));
});

forEachDatabase(t, { entities, orm: GENERATOR }, async (t, orm, database) => {
  t.test('tables and columns of the application are not changed', async (t) => {
    const connection = orm.em.getConnection();
    if (database === 'postgresql') {
      await connection.execute('alter table "article" add column "full_text" text');
    } else if (database === 'sqlite') {
      await connection.execute('create table "article_full_text" ("id" integer)');
    } else {
      await (orm as unknown as MongoORM).em.getCollection('article').createIndex({ topic: 'text' });
    }
    const search = fullText<Article>(['title']);
    await t.rejects(start(t, orm, search), { message: /Article cannot have the index: .*choose another "name"/ });
    await t.rejects(updateFullText(orm, Article, search), { message: /choose another "name"/ });
  });
});
