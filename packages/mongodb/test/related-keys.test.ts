/** Lists of large collections compare documents with the keys of related records, and answer what lists of SQLite answer. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { CursorPagination, ModelViewSet, readShape, Router } from '@viewset/core';
import { openMongo, openSqlite, skipMongo } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { numbers } from '../../core/test/support/numbers.ts';
import { MIN_DOCUMENTS } from '../src/backend/related-keys.ts';

const Country = defineEntity({
  name: 'Country',
  properties: { id: p.integer().primary(), name: p.string().length(20).nullable() },
});
const Maker = defineEntity({
  name: 'Maker',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20).nullable(),
    rank: p.integer(),
    country: () => p.manyToOne(Country).nullable(),
    items: () => p.oneToMany(Item).mappedBy('maker'),
  },
});
const Tag = defineEntity({
  name: 'Tag',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20),
    items: () => p.manyToMany(Item).mappedBy('tags'),
  },
});
const Item = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20),
    maker: () => p.manyToOne(Maker).nullable(),
    tags: () => p.manyToMany(Tag),
    parts: () => p.oneToMany(Part).mappedBy('item'),
  },
});
const Part = defineEntity({
  name: 'Part',
  properties: { id: p.integer().primary(), name: p.string().length(20), item: () => p.manyToOne(Item) },
});
const ENTITIES = [Country, Maker, Tag, Item, Part];

const filterFields = {
  maker: 'maker__name',
  not_maker: 'maker__name__ne',
  makers: 'maker__name__in',
  like: 'maker__name__icontains',
  rank: 'maker__rank__gte',
  no_name: 'maker__name__isnull',
  country: 'maker__country__name',
  not_country: 'maker__country__name__ne',
  no_country: 'maker__country__name__isnull',
  tag: 'tags__name',
  no_tag: 'tags__name__isnull',
  part: 'parts__name__startswith',
  name: 'name__startswith',
} as const;
const options = {
  read: readShape(Item, ['id', 'name'], { maker: 'maker.name', country: 'maker.country.name' }),
  filterFields,
  jsonLogicFields: ['maker.name', 'maker.rank', 'tags.name'],
  searchFields: ['name', 'maker__name'],
  orderingFields: { maker: 'maker__name', rank: 'maker__rank', country: 'maker__country__name', name: 'name' },
  exports: ['csv'],
} as const;
class ItemViewSet extends ModelViewSet(Item, options) {}
class CursorViewSet extends ModelViewSet(Item, {
  ...options,
  pagination: CursorPagination,
  pageSize: 400,
  maxPageSize: 400,
}) {}
class MakerViewSet extends ModelViewSet(Maker, {
  read: readShape(Maker, ['id', 'name']),
  filterFields: { item: 'items__name', tag: 'items__tags__name' },
}) {}

async function filled(t: Test, orm: MikroORM): Promise<FastifyInstance> {
  const em = orm.em.fork();
  const countries = ['X', 'Y', null].map((name) => em.create(Country, { name }));
  const makers = Array.from({ length: 40 }, (_, index) =>
    em.create(Maker, {
      name: index % 7 === 0 ? null : `M${index % 11}`,
      rank: index % 5,
      country: index % 4 === 0 ? null : countries[index % 3]!,
    }),
  );
  const tags = ['red', 'green', 'blue'].map((name) => em.create(Tag, { name }));
  await em.flush();
  for (let index = 0; index < MIN_DOCUMENTS + 200; index++) {
    const item = em.create(Item, {
      name: `I${index % 13}`,
      maker: index % 9 === 0 ? null : makers[(index * 7) % 40]!,
      tags: tags.filter((_, place) => (index >> place) % 3 === 0),
    });
    if (index % 10 === 0) em.create(Part, { name: `P${index % 3}`, item });
  }
  await em.flush();
  const router = new Router()
    .register('items', ItemViewSet)
    .register('cursors', CursorViewSet)
    .register('makers', MakerViewSet);
  return testApp(t, orm, [router], { options: { secret: 's'.repeat(32) } });
}

t.test('the same lists on MongoDB as on SQLite', { skip: skipMongo() }, async (t) => {
  const sqlite = await filled(t, await openSqlite(t, { entities: ENTITIES }));
  const mongoOrm = await openMongo(t, { entities: ENTITIES, orm: { driverOptions: { monitorCommands: true } } });
  const mongo = await filled(t, mongoOrm);
  let sent: { name: string; pipeline: readonly object[] }[] = [];
  const client = (mongoOrm.em.getConnection() as unknown as Connection).getClient();
  client.on('commandStarted', ({ commandName, command }) => {
    const { pipeline = [] } = command as { pipeline?: object[] };
    sent.push({ name: `${commandName} ${String(command[commandName])}`, pipeline });
  });
  const same = async (url: string, headers: Record<string, string> = {}): Promise<void> => {
    const [expected, found] = [await sqlite.inject({ url, headers }), await mongo.inject({ url, headers })];
    t.equal(found.statusCode, 200, `${url} ${found.body.slice(0, 200)}`);
    t.strictSame(found.body, expected.body, url);
  };
  const QUESTIONS = [
    'maker=M3',
    'not_maker=M3',
    'makers=M3,M4',
    'like=m1',
    'rank=3',
    'no_name=true',
    'no_name=false',
    'country=X',
    'not_country=X',
    'no_country=true',
    'no_country=false',
    'tag=red',
    'no_tag=true',
    'part=P1',
    'search=M3',
    'filter={"!":{"==":[{"var":"maker.name"},"M3"]}}',
    'filter={"or":[{"==":[{"var":"tags.name"},"red"]},{">":[{"var":"maker.rank"},3]}]}',
  ];
  const SORTS = ['', 'maker', '-maker', 'country,-rank', '-country,name', 'rank,maker'];

  t.test('filters, single and combined, in every order', async () => {
    const random = numbers(7);
    for (const [index, question] of QUESTIONS.entries()) {
      const other = QUESTIONS[Math.floor(random() * 14)]!;
      const query = question.split('=')[0] === other.split('=')[0] ? question : `${question}&${other}`;
      const sort = SORTS[index % SORTS.length]!;
      await same(`/items?${encodeURI(question)}&sort=${sort}&page=${1 + (index % 3)}`);
      if (query !== question) await same(`/items?${encodeURI(query)}&page_size=3`);
    }
    for (const sort of SORTS) await same(`/items?sort=${sort}&page=30`);
    for (const question of ['item=I4', 'tag=red', 'item=I4&tag=blue']) await same(`/makers?${question}`);
  });

  t.test('exports, which go on from batch to batch', async () => {
    for (const sort of ['maker', '-country,name']) await same(`/items?sort=${sort}`, { accept: 'text/csv' });
    await same('/items?sort=-maker&rank=2', { accept: 'text/csv' });
  });

  t.test('pages by cursor', async (t) => {
    for (const sort of ['-maker', 'country,-rank', 'rank,maker']) {
      const pages = await Promise.all([sqlite, mongo].map((app) => allPages(app, `/cursors?sort=${sort}`)));
      t.strictSame(pages[1], pages[0], sort);
    }
  });

  t.test('only shown records are looked up by documents', async (t) => {
    for (const [url, commands] of [
      ['/items?maker=M3', ['aggregate maker', 'aggregate item']],
      ['/items?sort=maker', ['aggregate maker', 'aggregate item']],
      ['/items?sort=-maker&tag=red&country=X', ['aggregate maker', 'aggregate item']],
      ['/items/1', ['aggregate item']],
    ] as const) {
      sent = [];
      await mongo.inject(url);
      t.strictSame(
        sent.map(({ name }) => name).map((name) => name.replace(/ tag$/, ' maker')),
        commands,
        url,
      );
      if (commands.length === 1) continue;
      const stages = sent.at(-1)!.pipeline.map((stage) => Object.keys(stage)[0]);
      const lookup = stages.indexOf('$lookup');
      t.ok(lookup === -1 || lookup > stages.indexOf('$limit'), `${url} ${stages.join()}`);
    }
  });
});

interface Connection {
  getClient(): {
    on(
      event: 'commandStarted',
      listener: (started: { commandName: string; command: Record<string, unknown> }) => void,
    ): void;
  };
}

async function allPages(app: FastifyInstance, url: string): Promise<unknown[]> {
  const records: unknown[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: { results: unknown[]; next_cursor?: string | null } = (
      await app.inject(`${url}&cursor=${cursor}`)
    ).json();
    records.push(...page.results);
    cursor = page.next_cursor ?? null;
  }
  return records;
}
