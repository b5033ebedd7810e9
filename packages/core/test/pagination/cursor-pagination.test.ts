import { defineEntity, p, type InferEntity, type MikroORM } from '@mikro-orm/core';
import t from 'tap';
import { InvalidUsage } from '../../src/errors/errors.ts';
import { CursorPagination, type CursorEnvelope } from '../../src/pagination/cursor-pagination.ts';
import type { OrderName } from '../../src/query/language/lookup-name.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { idOnly, query } from '../filters/catalog.ts';
import { type DatabaseName, forEachDatabase } from '../support/databases.ts';

const Place = defineEntity({
  name: 'Place',
  properties: { id: p.integer().primary(), name: p.string().nullable() },
});

/** Every type that a list can be ordered by, with few distinct values: ties and NULLs everywhere. */
const Event = defineEntity({
  name: 'Event',
  properties: {
    id: p.integer().primary(),
    at: p.datetime(6).nullable(),
    day: p.date().nullable(),
    big: p.bigint(),
    price: p.decimal('string').precision(20).scale(6).nullable(),
    ratio: p.double(),
    title: p.string().nullable(),
    done: p.boolean(),
    key: p.uuid(),
    kind: p.enum(['b', 'a'] as const),
    place: () => p.manyToOne(Place).nullable(),
  },
});

const COUNT = 41;
const secret = 'a secret of thirty-two bytes ...';
const paginator = new CursorPagination({ name: 'EventViewSet', secret });

type EventOrder = OrderName<InferEntity<typeof Event>>;

const NAMES = ['at', 'day', 'big', 'price', 'ratio', 'title', 'done', 'key', 'kind', 'place', 'place__name'] as const;

const ORDERS: readonly EventOrder[][] = [
  [],
  ['-id'],
  ...NAMES.map((name): EventOrder[] => [name]),
  ...NAMES.map((name): EventOrder[] => [`-${name}`]),
  ['done', '-at', 'price'],
  ['-title', 'price', '-big'],
  ['place__name', '-title', '-id'],
  ['-place__name', '-place', 'ratio'],
];

forEachDatabase(t, { entities: [Place, Event], onLibSql: true }, async (t, orm, database) => {
  await fill(orm, database);
  const events = (...order: EventOrder[]) => QuerySet.of(orm.em.fork(), Event).orderBy(...order);
  const read = async <E extends object>(queryset: QuerySet<E>, text: string, by = paginator) =>
    await by.paginate(queryset, idOnly(queryset), query(text));

  for (const order of ORDERS) {
    t.test(`order ${order.join(', ') || 'by default'}: every record once, forwards and backwards`, async (t) => {
      const queryset = events(...order);
      const all = await queryset.rows(idOnly(queryset));
      t.equal(new Set(all).size, COUNT);
      for (const size of [1, 7, 41]) {
        const forwards = await walk((text) => read(queryset, text), 'next_cursor', size);
        t.same(forwards.pages.flat(), all, `pages of ${size}, forwards`);
        const backwards = await walk((text) => read(queryset, text), 'previous_cursor', size, forwards.lastStart);
        t.same(
          [...backwards.pages.toReversed().flat(), ...(forwards.pages.at(-1) ?? [])],
          all,
          `pages of ${size}, backwards`,
        );
      }
    });
  }

  t.test('the envelope of the first, a middle and the last page', async (t) => {
    const first = await read(events(), 'page_size=20');
    t.match(first, { next: true, previous: false, next_cursor: String, previous_cursor: null });
    t.same(Object.keys(first), ['next', 'previous', 'next_cursor', 'previous_cursor', 'results']);
    const second = await read(events(), `page_size=20&cursor=${first.next_cursor}`);
    t.match(second, { next: true, previous: true, next_cursor: String, previous_cursor: String });
    const third = await read(events(), `page_size=20&cursor=${second.next_cursor}`);
    t.match(third, { next: false, previous: true, next_cursor: null, previous_cursor: String });
    t.same(third.results, [41]);
    t.same((await read(events(), `page_size=20&cursor=${third.previous_cursor}`)).results, second.results);
    const back = await read(events(), `page_size=20&cursor=${second.previous_cursor}`);
    t.same(back.results, first.results);
    t.match(back, { next: true, previous: false, next_cursor: String, previous_cursor: null });
    t.same((await read(events(), `page_size=20&cursor=${back.next_cursor}`)).results, second.results);
  });

  t.test('a last page that is full has no next', async (t) => {
    t.match(await read(events(), 'page_size=41'), { next: false, previous: false, next_cursor: null });
    t.match(await read(events().none(), ''), { next: false, previous: false, results: [] });
  });

  t.test('the size may change from page to page, and is capped', async (t) => {
    const first = await read(events(), 'page_size=2');
    t.same((await read(events(), `page_size=3&cursor=${first.next_cursor}`)).results, [3, 4, 5]);
    const capped = new CursorPagination({ pageSize: 2, maxPageSize: 4, secret });
    t.same((await read(events(), '', capped)).results, [1, 2]);
    t.same((await read(events(), 'page_size=100', capped)).results, [1, 2, 3, 4]);
  });

  t.test('a page needs one query', async (t) => {
    const calls: string[] = [];
    for (const name of ['rows', 'first', 'page', 'count', 'exists', 'entities', 'entity'] as const) {
      const method = QuerySet.prototype[name] as (...args: never[]) => unknown;
      const counted = function (this: QuerySet<object>, ...args: never[]): unknown {
        calls.push(name);
        return method.apply(this, args);
      };
      t.capture(QuerySet.prototype, name, counted as never);
    }
    await read(events(), 'page_size=2');
    t.same(calls, ['rows']);
  });

  t.test('records that are added or deleted between pages neither repeat nor hide others', async (t) => {
    const em = orm.em.fork();
    await em.begin();
    const within = () => QuerySet.of(em, Event);
    const first = await read(within(), 'page_size=5');
    await em.nativeDelete(Event, { id: { $in: [2, 5] } });
    const second = await read(within(), `page_size=5&cursor=${first.next_cursor}`);
    t.same(second.results, [6, 7, 8, 9, 10], 'the record that the cursor points to may be gone');
    await em.nativeDelete(Event, { id: { $gte: 6 } });
    const empty = await read(within(), `page_size=5&cursor=${first.next_cursor}`);
    t.match(empty, { next: false, previous: true, next_cursor: null, previous_cursor: String, results: [] });
    const last = await read(within(), `page_size=5&cursor=${empty.previous_cursor}`);
    t.match(last, { next: false, previous: false, results: [1, 3, 4] }, 'behind an empty page is the end of the list');
    await em.nativeDelete(Event, { id: { $lte: 5 } });
    const none = await read(within(), `page_size=5&cursor=${second.previous_cursor}`);
    t.match(none, { next: true, previous: false, next_cursor: String, previous_cursor: null, results: [] });
    t.match(await read(within(), `cursor=${none.next_cursor}`), { next: false, previous: false, results: [] });
    await em.rollback();
  });

  t.test('a cursor keeps to its list, its order and its secret', async (t) => {
    const cursor = (await read(events('title'), 'page_size=2')).next_cursor;
    const refused = {
      statusCode: 400,
      message: 'Query parameter "cursor" must be a cursor that this list gave out for the same order',
      details: [{ in: 'query', path: '/cursor' }],
    };
    await t.resolves(read(events('title'), `cursor=${cursor}`));
    await t.resolves(read(events('title').filter({ done: true }), `cursor=${cursor}`), 'filters may change');
    await t.rejects(read(events(), `cursor=${cursor}`), refused);
    await t.rejects(read(events('-title'), `cursor=${cursor}`), refused);
    await t.rejects(read(events('title', '-id'), `cursor=${cursor}`), refused);
    await t.rejects(read(events('price'), `cursor=${cursor}`), refused);
    await t.rejects(read(QuerySet.of(orm.em.fork(), Place), `cursor=${cursor}`), refused);
    for (const options of [{ name: 'Other', secret }, { secret }, { name: 'EventViewSet', secret: `${secret}.` }]) {
      await t.rejects(read(events('title'), `cursor=${cursor}`, new CursorPagination(options)), refused);
    }
    for (const text of ['x', `${cursor}A`, String(cursor).slice(1), 'null', '%25', '1', 'é', 'A'.repeat(8000)]) {
      await t.rejects(read(events('title'), `cursor=${text}`), refused);
    }
  });

  t.test('a cursor that does not fit and a size that does not are both named', async (t) => {
    const expected = { name: 'InvalidUsage', details: [{ path: '/cursor' }, { path: '/page_size' }] };
    await t.rejects(read(events(), 'cursor=x&page_size=0'), expected);
    await t.rejects(read(events(), 'cursor=x&cursor=y'), { message: /given only once/ });
    t.throws(() => paginator.check(query('page_size=0')), InvalidUsage);
    t.same((await read(events(), 'cursor=&page_size=2')).results, [1, 2], 'an empty one is absent');
  });
});

/** Follows one of the two cursors to its end. */
async function walk(
  read: (text: string) => Promise<CursorEnvelope<number>>,
  follow: 'next_cursor' | 'previous_cursor',
  size: number,
  start: string | null = null,
): Promise<{ pages: number[][]; lastStart: string | null }> {
  const pages: number[][] = [];
  let cursor = start;
  let lastStart: string | null = null;
  for (let turn = 0; turn <= COUNT; turn++) {
    if (follow === 'previous_cursor' && cursor === null) break;
    const page = await read(`page_size=${size}${cursor === null ? '' : `&cursor=${cursor}`}`);
    pages.push([...page.results]);
    lastStart = page.previous_cursor;
    cursor = page[follow];
    if (cursor === null) break;
  }
  return { pages, lastStart };
}

async function fill(orm: MikroORM, database: DatabaseName): Promise<void> {
  const em = orm.em.fork();
  const places = [1, 2, 3].map((id) => em.create(Place, { id, name: id === 3 ? null : `Place ${3 - id}` }));
  const ids = Array.from({ length: COUNT }, (_, index) => index + 1);
  for (const id of ids) {
    em.create(Event, {
      id,
      at: id % 5 === 0 ? null : new Date(Date.UTC(2024, 0, 1, 0, 0, 0, id % 3)),
      day: id % 7 === 0 ? null : `2024-01-0${(id % 3) + 1}`,
      big: 9_007_199_254_740_990n + BigInt(id % 6),
      price: id % 6 === 0 ? null : `12345678901234.10000${id % 4}`,
      ratio: 0.1 * (id % 4),
      title: id % 4 === 0 ? null : ['é', 'E', 'a', '"\\%', ''][id % 5]!,
      done: id % 2 === 0,
      key: `00000000-0000-4000-8000-0000000000${10 + (id % 9)}`,
      kind: id % 3 === 0 ? 'a' : 'b',
      place: places[id % 4] ?? null,
    });
  }
  await em.flush();
  // What MikroORM does not write: numbers beyond all others, and what a Date of JavaScript cannot hold.
  if (database === 'mongodb') {
    for (const [rest, ratio] of [Infinity, -Infinity, NaN].entries()) {
      await em.nativeUpdate(Event, { id: { $in: ids.filter((id) => id % 5 === rest) } }, { ratio });
    }
    return;
  }
  const isPostgreSql = database === 'postgresql';
  const [most, least, none] = isPostgreSql ? [`'infinity'`, `'-infinity'`, `'nan'`] : ['9e999', '-9e999', '0'];
  const ratio = `case id % 5 when 0 then ${most} when 1 then ${least} when 2 then ${none} else ratio end`;
  await em.getConnection().execute(`update event set ratio = ${ratio}`);
  if (isPostgreSql) await em.getConnection().execute(`update event set at = at + (id % 3) * interval '1 microsecond'`);
}
