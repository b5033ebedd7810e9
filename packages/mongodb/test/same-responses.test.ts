/** MongoDB and PostgreSQL answer generated requests about generated records with the same bytes. */
import type { MikroORM } from '@mikro-orm/core';
import t, { type Test } from 'tap';
import { CursorPagination, ModelViewSet, Router } from '@viewset/core';
import { fillEveryKind, SERIAL } from '../../core/test/fields/every-kind.ts';
import { declared, FILTERS, SORTS } from '../../core/test/view/operations/list-requests.ts';
import { Country, entities, Maker, Product, Tag } from '../../core/test/query/catalog.ts';
import { openMongo, openPostgreSql, skipMongo, skipPostgreSql } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { numbers } from '../../core/test/support/numbers.ts';

const SEED = 0x5eed;
const RECORDS = 60;
const REQUESTS = 150;

type Random = () => number;

function one<Value>(random: Random, values: readonly Value[]): Value {
  return values[Math.floor(random() * values.length)] as Value;
}

const WORDS = [
  'Tea',
  'tea',
  'TEA',
  'É',
  'é',
  'ß',
  'İ',
  'i',
  'I',
  'ı',
  'ſ',
  's',
  'σ',
  'ς',
  '\u212a',
  'k',
  '%',
  '_',
  '\\',
  '.*',
  '$gt',
];

function words(random: Random): string {
  return Array.from({ length: 1 + Math.floor(random() * 3) }, () => one(random, WORDS)).join(one(random, ['', ' ']));
}

/** Few values of each kind, so that records meet in them, and NULL. */
async function fillGenerated(orm: MikroORM): Promise<void> {
  await fillEveryKind(orm);
  const random = numbers(SEED);
  const em = orm.em.fork();
  const makers = [null, ...(await em.find(Maker, {}, { orderBy: { id: 1 } }))];
  const countries = [null, ...(await em.find(Country, {}, { orderBy: { code: 1 } }))];
  const tags = await em.find(Tag, {});
  for (let index = 0; index < RECORDS; index++) {
    const product = em.create(Product, {
      name: words(random),
      note: one(random, [null, '', words(random)]),
      price: one(random, [null, 0.01, 5, 12.5, 99999999.99, 5]),
      cost: one(random, [null, '0.0001', '1.5000', '1234567890123456.5000', '-1.5000']),
      stock: Math.floor(random() * 5),
      shelf: one(random, [null, -1, 0, 1]),
      sold: one(random, [null, 9_007_199_254_740_993n, 9_007_199_254_740_992n, -1n, 0n]),
      weight: one(random, [null, -0.5, 0.1, 1e21]),
      height: one(random, [null, 0.5, 2]),
      active: random() < 0.5,
      color: one(random, [null, 'red', 'green', 'blue'] as const),
      added: one(random, [null, new Date('2024-02-29T12:00:00Z'), new Date('1999-12-31T23:59:59Z')]),
      day: one(random, [null, '2024-02-29', '1970-01-01']),
      opens: one(random, [null, '09:30:00', '12:00:00']),
      serial: one(random, [null, `${SERIAL}3`, `${SERIAL}9`]),
      data: one(random, [null, { a: 1 }, { $gt: '', 'a.b': [null, { $where: 1 }] } as never]),
      maker: one(random, makers),
      origin: one(random, countries),
    } as never);
    if (random() < 0.3) product.tags.add(tags);
  }
  await em.flush();
}

const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  id: [1, 5, 9.5, 40, -1],
  name: ['Tea', 'tea', 'İ', 'TeaTea', '$gt', ''],
  price: [0.01, 5, 12.5, 99999999.99],
  cost: ['0.0001', '1.5', '1234567890123456.5'],
  stock: [0, 1, 2, 3.5],
  active: [true, false],
  added: ['2024-02-29T12:00:00Z', '2024-02-29T12:00:00.0005Z', '2000-01-01'],
  day: ['2024-02-29', '1999-01-01'],
  note: ['', 'Tea'],
  'maker.name': ['North', 'Élan'],
  'maker.country.name': ['França', 'Norge'],
};

function rule(random: Random, depth = 0): object {
  const kind = depth < 3 ? random() : 1;
  if (kind < 0.2) return { '!': rule(random, depth + 1) };
  if (kind < 0.5) {
    return { [one(random, ['and', 'or'])]: [rule(random, depth + 1), rule(random, depth + 1)] };
  }
  const field = one(random, Object.keys(VALUES));
  const values = VALUES[field] as readonly unknown[];
  const asked = { var: field };
  const choice = random();
  if (choice < 0.15) return { [one(random, ['==', '!='])]: [asked, null] };
  if (choice < 0.3) return { in: [asked, [one(random, values), one(random, values)]] };
  const isText = field.endsWith('name');
  if (choice < 0.4 && isText) return { in: [one(random, values), asked] };
  const operators = field === 'active' ? ['==', '!='] : ['==', '!=', '<', '<=', '>', '>='];
  return { [one(random, operators)]: random() < 0.5 ? [asked, one(random, values)] : [one(random, values), asked] };
}

function request(random: Random): string {
  const parts = [random() < 0.5 ? `filter=${encodeURIComponent(JSON.stringify(rule(random)))}` : one(random, FILTERS)];
  if (random() < 0.3 && !parts[0]!.includes('search')) parts.push(`search=${encodeURIComponent(words(random))}`);
  if (random() < 0.7) parts.push(one(random, SORTS));
  return parts.filter((part) => part !== '').join('&');
}

class Numbered extends ModelViewSet(Product, { ...declared, pageSize: 20 }) {}
class ByCursor extends ModelViewSet(Product, { ...declared, pagination: CursorPagination, pageSize: 7 }) {}

t.test('the same responses', { skip: skipMongo() || skipPostgreSql() }, async (t) => {
  const [mongo, postgres] = [
    await server(t, await openMongo(t, { entities })),
    await server(t, await openPostgreSql(t, { entities })),
  ];
  const random = numbers(SEED + 1);
  for (let count = 0; count < REQUESTS; count++) {
    const query = request(random);
    const page = one(random, ['', '&page=2', '&page=3&page_size=5']);
    const url = `/numbered?${query}${page}`;
    const [found, expected] = [await mongo.inject(url), await postgres.inject(url)];
    t.equal(found.body, expected.body, decodeURIComponent(url));
  }
  for (let count = 0; count < 20; count++) {
    const query = request(random);
    t.equal(await walked(mongo, query), await walked(postgres, query), decodeURIComponent(query));
  }
});

type Server = Awaited<ReturnType<typeof testApp>>;

async function server(t: Test, orm: MikroORM): Promise<Server> {
  await fillGenerated(orm);
  const router = new Router().register('numbered', Numbered).register('cursors', ByCursor);
  return testApp(t, orm, [router], { options: { secret: 'a secret that is thirty-two bytes' } });
}

/** All pages by cursor, there and back. */
async function walked(app: Server, query: string): Promise<string> {
  let text = '';
  let cursor: string | null = null;
  for (const direction of ['next_cursor', 'previous_cursor']) {
    do {
      const after: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body, statusCode } = await app.inject(`/cursors?${query}${after}`);
      if (statusCode !== 200) return text + body;
      const page = JSON.parse(body) as Record<string, unknown> & { results: unknown };
      text += JSON.stringify(page.results);
      cursor = (page[direction] as string | null | undefined) ?? null;
      if (text.length > 1e6) throw new Error('It walks in circles');
    } while (cursor !== null);
  }
  return text;
}
