/** References that create the records that are not there yet, by a unique field of theirs. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { many, ModelViewSet, nested, readShape, refs, Router, scoped, writeShape } from '../../../src/index.ts';
import { recordQueries } from '../../query/record-queries.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { errorAtStart, testApp } from '../../support/library.ts';

let clock = 0;

const Tag = defineEntity({
  name: 'Tag',
  filters: { open: { name: 'open', cond: { secret: false }, default: true } },
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20).unique(),
    secret: p.boolean().default(false),
    made: p.integer().onCreate(() => ++clock),
  },
});

const Country = defineEntity({
  name: 'Country',
  properties: { id: p.integer().primary(), code: p.string().unique(), name: p.string() },
});

const Page = defineEntity({
  name: 'Page',
  properties: {
    id: p.integer().primary(),
    number: p.integer(),
    article: () => p.manyToOne(Article),
    tags: () => p.manyToMany(Tag),
  },
});

const Article = defineEntity({
  name: 'Article',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(20).unique(),
    tags: () => p.manyToMany(Tag),
    pages: () => p.oneToMany(Page).mappedBy('article'),
    countries: () => p.manyToMany(Country),
  },
});

const read = readShape(Article, ['title'], { tags: many('tags.name', { orderBy: 'name' }) });
const page = writeShape(Page, ['number'], { tags: refs('tags.name', { create: true }) });
const write = writeShape(Article, ['title'], {
  tags: refs('tags.name', { create: true, max: 5 }),
  pages: nested(page),
});

class ArticleViewSet extends ModelViewSet(Article, { read, write, lookupField: 'title', bulk: 5 }) {}

class ShortViewSet extends ModelViewSet(Article, {
  read,
  write,
  referencePermissions: { tags: [scoped(Tag, () => ({ name__startswith: 's' }))] },
}) {}

forEachDatabase(t, { entities: [Tag, Country, Page, Article] }, async (t, orm) => {
  const app = await testApp(t, orm, [
    new Router().register('articles', ArticleViewSet).register('short', ShortViewSet),
  ]);
  const send = (method: 'POST' | 'PATCH' | 'PUT', url: string, payload: object) => app.inject({ method, url, payload });
  const stored = async (): Promise<string[]> => {
    const tags = await orm.em.fork().find(Tag, {}, { filters: false, orderBy: { name: 'asc' } });
    return tags.map(({ name }) => name);
  };
  t.beforeEach(async () => {
    await orm.schema.clear();
    const em = orm.em.fork();
    em.create(Tag, { name: 'tea' });
    em.create(Tag, { name: 'hidden', secret: true });
    await em.flush();
  });

  t.test('records that are not there are created, with their defaults', async (t) => {
    const created = await send('POST', '/articles', { title: 'Ash', tags: ['wood', 'tea', 'leaf', 'wood'] });
    t.strictSame([created.statusCode, created.json()], [201, { title: 'Ash', tags: ['leaf', 'tea', 'wood'] }]);
    t.strictSame(await stored(), ['hidden', 'leaf', 'tea', 'wood']);
    const wood = await orm.em.fork().findOneOrFail(Tag, { name: 'wood' });
    t.equal(wood.secret, false);
    t.ok(wood.made > 0);
    const changed = await send('PATCH', '/articles/Ash', { tags: ['oak', 'wood'] });
    t.strictSame(changed.json(), { title: 'Ash', tags: ['oak', 'wood'] });
    t.strictSame(await stored(), ['hidden', 'leaf', 'oak', 'tea', 'wood'], 'nothing is deleted');
  });

  t.test('all of them by one statement', async (t) => {
    const recorded = recordQueries(orm);
    await send('POST', '/articles', { title: 'Ash', tags: ['a', 'b', 'c', 'd'] });
    recorded.stop();
    t.equal(recorded.inserts().filter((text) => /\btag\b/.test(text) && !/article/.test(text)).length, 1);
  });

  t.test('references created by children and by several records', async (t) => {
    const pages = [
      { number: 1, tags: ['one', 'tea'] },
      { number: 2, tags: ['two', 'one'] },
    ];
    const both = await send('POST', '/articles', [
      { title: 'Ash', tags: ['new', 'two'], pages },
      { title: 'Bay', tags: ['new'] },
    ]);
    t.equal(both.statusCode, 201, both.body);
    t.strictSame(await stored(), ['hidden', 'new', 'one', 'tea', 'two']);
  });

  t.test('a request that fails creates nothing', async (t) => {
    const long = 'x'.repeat(21);
    const refused = await send('POST', '/articles', { title: 'Ash', tags: ['new', long] });
    t.equal(refused.statusCode, 400);
    t.match(refused.json(), { details: [{ path: '/tags/1' }] });
    t.equal(
      (await send('POST', '/articles', { title: 'Ash', tags: ['a', 'b', 'c', 'd', 'e', 'f'] })).statusCode,
      400,
      'too many',
    );
    await send('POST', '/articles', { title: 'Ash' });
    t.equal((await send('POST', '/articles', { title: 'Ash', tags: ['new'] })).statusCode, 409);
    t.strictSame(await stored(), ['hidden', 'tea']);
  });

  t.test('a hidden record is neither created nor referenced', async (t) => {
    const refused = await send('POST', '/articles', { title: 'Ash', tags: ['hidden', 'new'] });
    t.equal(refused.statusCode, 400);
    t.match(refused.json(), { details: [{ path: '/tags/0', message: 'must be the name of an existing Tag' }] });
    t.strictSame(await stored(), ['hidden', 'tea']);
  });

  t.test('scopes and object permissions apply to the new records', async (t) => {
    t.equal((await send('POST', '/short', { title: 'Ash', tags: ['sun'] })).statusCode, 201);
    const refused = await send('POST', '/short', { title: 'Bay', tags: ['sky', 'moon'] });
    t.equal(refused.statusCode, 400);
    t.match(refused.json(), { details: [{ path: '/tags/1' }] });
    t.strictSame(await stored(), ['hidden', 'sun', 'tea']);
  });

  t.test('requests that create the same records at once share them', async (t) => {
    const names = ['one', 'two', 'three', 'four'];
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => {
        const tags = index % 2 === 0 ? names : names.toReversed();
        return send('POST', '/articles', { title: `Article ${index}`, tags: [...tags, `own ${index}`] });
      }),
    );
    t.strictSame(
      answers.map(({ statusCode }) => statusCode),
      answers.map(() => 201),
      answers.find(({ statusCode }) => statusCode !== 201)?.body ?? '',
    );
    t.equal((await stored()).length, 2 + names.length + 12);
  });
});

t.test('declarations that do not fit', async (t) => {
  const orm = await openSqlite(t, { entities: [Tag, Country, Page, Article] });
  class CountriesViewSet extends ModelViewSet(Article, {
    read,
    write: writeShape(Article, ['title'], { countries: refs('countries.code', { create: true }) }),
  }) {}
  t.equal(
    await errorAtStart(t, orm, CountriesViewSet),
    'CountriesViewSet: refs(\'countries.code\') cannot create a Country, which needs "name" as well; give them a default, or leave out "create"',
  );
  t.throws(
    () => writeShape(Article, ['title'], { tags: refs('tags', { create: true }) }),
    /refs\('tags'\) with "create" must name a unique field/,
  );
  t.throws(() => refs('tags.name', { create: 1 as never }), /option "create" must be true or false/);
});
