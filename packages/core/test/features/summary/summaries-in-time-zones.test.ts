/** Groups by days, weeks, months and years of a time zone, compared with the calendar of Intl. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, readShape, Router } from '../../../src/index.ts';
import { offsetChanges, timeZoneName } from '../../../src/fields/time-zone.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { errorAtStart, testApp } from '../../support/library.ts';

const Visit = defineEntity({
  name: 'Visit',
  properties: {
    id: p.integer().primary(),
    at: p.datetime().length(3),
    left_at: p.datetime().length(3).nullable(),
    day: p.date().nullable(),
    next: () => p.manyToOne(Visit).nullable(),
  },
});
const entities = [Visit];

const PERIODS = ['day', 'week', 'month', 'year'] as const;
const read = readShape(Visit, ['id', 'at', 'left_at', 'day'], { next: readShape(Visit, ['id', 'at']) });
const group = [
  ...PERIODS.map((period) => `at:${period}` as const),
  ...PERIODS.map((period) => `left_at:${period}` as const),
  'next.at:day',
  'day:week',
] as const;
const maxGroups = 100_000;

/** With changes by half an hour, at midnight, at noon, of a whole day, and within one month. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'Europe/Dublin',
  'America/New_York',
  'America/St_Johns',
  'America/Sao_Paulo',
  'Africa/Cairo',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Chatham',
];

/** What Intl says about the local day, and the period that has it. */
function startOf(period: (typeof PERIODS)[number], time: Date, timeZone: string): string {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  const [year, month, day] = format.format(time).split('-').map(Number) as [number, number, number];
  const local = new Date(Date.UTC(year, month - 1, day));
  if (period === 'week') local.setUTCDate(local.getUTCDate() - ((local.getUTCDay() + 6) % 7));
  if (period === 'month' || period === 'year') local.setUTCDate(1);
  if (period === 'year') local.setUTCMonth(0);
  return local.toISOString().slice(0, 10);
}

/** The times around each change of the clocks, around local midnights, and some others. */
function timesOf(zone: string): Date[] {
  const [from, to] = [Date.UTC(1972, 0, 1), Date.UTC(2021, 0, 1)];
  const changes = offsetChanges(zone).filter(({ fromMs }) => fromMs > from && fromMs < to);
  const around = changes.flatMap(({ fromMs }) => [
    fromMs - 1,
    fromMs,
    fromMs + 1,
    fromMs - 3_600_001,
    fromMs + 3_600_000,
  ]);
  const midnights = changes.flatMap(({ fromMs, offsetMs }) => {
    const midnight = Math.floor((fromMs + offsetMs) / 86_400_000) * 86_400_000 - offsetMs;
    return [midnight - 1, midnight, midnight + 86_400_000 - 1, midnight + 86_400_000];
  });
  const spread = Array.from({ length: 200 }, (_, index) => from + index * 7_777_777_777 * 0.99);
  return [...new Set([...around, ...midnights, ...spread.map(Math.floor)])].map((time) => new Date(time));
}

function countsOf(keys: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const key of keys.toSorted()) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}

type Row = { readonly group: Readonly<Record<string, string | null>>; readonly count: number };

forEachDatabase(t, { entities, onLibSql: true }, async (t, orm) => {
  const views = ZONES.map((timeZone) => {
    return class extends ModelViewSet(Visit, { read, summary: { group, maxGroups, timeZone } }) {};
  });
  class ByRequest extends ModelViewSet(Visit, {
    read,
    summary: { group, maxGroups, timeZone: (request) => String(request.headers['x-zone']) },
  }) {}
  const router = new Router().register('by-request', ByRequest);
  for (const [index, View] of views.entries()) router.register(`visits-${index}`, View);
  const app = await testApp(t, orm, [router]);
  const store = async (times: readonly Date[]): Promise<void> => {
    await orm.schema.refresh();
    const em = orm.em.fork();
    await em.insertMany(
      Visit,
      times.map((at, index) => ({ id: index + 1, at, left_at: null, day: null, next: null })),
    );
  };

  for (const [index, zone] of ZONES.entries()) {
    t.test(`the calendar of ${zone}`, async (t) => {
      const times = timesOf(zone);
      await store(times);
      for (const period of PERIODS) {
        const answer = await app.inject(`/visits-${index}/summary?group=at:${period}`);
        t.equal(answer.statusCode, 200, answer.body);
        const rows: Row[] = answer.json().results;
        const found = Object.fromEntries(rows.map((row) => [row.group[`at:${period}`]!, row.count]));
        t.strictSame(found, countsOf(times.map((time) => startOf(period, time, zone))), period);
      }
    });
  }

  t.test('times at the ends of the calendar have a day of the calendar in every zone', async (t) => {
    await store([
      new Date('0001-01-01T00:00:00Z'),
      new Date('0001-01-01T23:59:59.999Z'),
      new Date('9999-12-31T00:00:00Z'),
      new Date('9999-12-31T23:59:59.999Z'),
    ]);
    const rows = async (zone: string, period: string) => {
      const answer = await app.inject({
        url: `/by-request/summary?group=at:${period}`,
        headers: { 'x-zone': zone },
      });
      t.equal(answer.statusCode, 200, `${zone} ${period}`);
      return (answer.json().results as Row[]).map((row) => [row.group[`at:${period}`], row.count]);
    };
    t.same(await rows('Asia/Tokyo', 'day'), [
      ['0001-01-01', 1],
      ['0001-01-02', 1],
      ['9999-12-31', 2],
    ]);
    t.same(await rows('America/New_York', 'day'), [
      ['0001-01-01', 2],
      ['9999-12-30', 1],
      ['9999-12-31', 1],
    ]);
    for (const zone of ['UTC', 'Asia/Tokyo', 'America/New_York', 'Pacific/Kiritimati']) {
      t.same(await rows(zone, 'week'), [
        ['0001-01-01', 2],
        ['9999-12-27', 2],
      ]);
      t.same(await rows(zone, 'month'), [
        ['0001-01-01', 2],
        ['9999-12-01', 2],
      ]);
      t.same(await rows(zone, 'year'), [
        ['0001-01-01', 2],
        ['9999-01-01', 2],
      ]);
    }
  });

  t.test('each request may have its own zone; null is a group; a date has no zone', async (t) => {
    await store([new Date('2026-03-31T22:30:00Z'), new Date('2026-04-05T22:30:00Z')]);
    const em = orm.em.fork();
    await em.nativeUpdate(Visit, { id: 1 }, { day: '2026-03-31', next: 2 });
    const rows = async (zone: string, name: string) => {
      const answer = await app.inject({ url: `/by-request/summary?group=${name}`, headers: { 'x-zone': zone } });
      t.equal(answer.statusCode, 200, answer.body);
      return (answer.json().results as Row[]).map((row) => [row.group[name], row.count]);
    };
    t.same(await rows('UTC', 'at:month'), [
      ['2026-03-01', 1],
      ['2026-04-01', 1],
    ]);
    t.same(await rows('Europe/Berlin', 'at:month'), [['2026-04-01', 2]]);
    t.same(await rows('europe/berlin', 'at:week'), [
      ['2026-03-30', 1],
      ['2026-04-06', 1],
    ]);
    t.same(await rows('Europe/Berlin', 'left_at:day'), [[null, 2]]);
    t.same(await rows('Europe/Berlin', 'next.at:day'), [
      ['2026-04-06', 1],
      [null, 1],
    ]);
    t.same(await rows('Pacific/Auckland', 'day:week'), [
      ['2026-03-30', 1],
      [null, 1],
    ]);
    const wrong = await app.inject({ url: '/by-request/summary?group=at:day', headers: { 'x-zone': "'; drop" } });
    t.equal(wrong.statusCode, 500);
    t.same(await rows('Asia/Kolkata', 'at:day'), await rows('Asia/Calcutta', 'at:day'));
    const few = await app.inject({ url: '/by-request/summary?group=day:week', headers: { 'x-zone': 'Nowhere' } });
    t.equal(few.statusCode, 200, 'the zone is not read for other groups');
  });
});

t.test('zones are checked at start', async (t) => {
  const orm = await openSqlite(t, { entities });
  const refused = (summary: object) => {
    class Visits extends ModelViewSet(Visit, { read, summary }) {}
    return errorAtStart(t, orm, Visits);
  };
  t.match(
    await refused({ group: ['at:day'], timeZone: 'Europe/Berln' }),
    /option "timeZone" must be the IANA name of a time zone, .*got "Europe\/Berln"; did you mean "Europe\/Berlin"\?/,
  );
  for (const timeZone of ['CST', '+01:00', 'Europe', "Europe/Berlin' --", '']) {
    t.match(await refused({ group: ['at:day'], timeZone }), /timeZone/, timeZone);
  }
  t.match(await refused({ group: ['at:day'], timeZone: 1 }), /"timeZone" must be the IANA name .* or a function/);
  t.match(await refused({ group: ['day:week'], timeZone: 'Europe/Berlin' }), /no effect/);
  t.equal(await refused({ group: ['at:day'], timeZone: 'Europe/Berlin' }), undefined);
  t.equal(timeZoneName('america/new_york'), 'America/New_York');
});

t.test('zones have their present names, which every database knows', (t) => {
  for (const [name, expected] of [
    ['asia/kolkata', 'Asia/Kolkata'],
    ['Asia/Calcutta', 'Asia/Kolkata'],
    ['Europe/Kiev', 'Europe/Kyiv'],
    ['America/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
    ['Asia/Saigon', 'Asia/Ho_Chi_Minh'],
    ['US/Eastern', 'America/New_York'],
    ['Etc/UTC', 'UTC'],
  ] as const) {
    t.equal(timeZoneName(name), expected);
  }
  t.end();
});

t.test('the document names the zone', async (t) => {
  const orm = await openSqlite(t, { entities });
  class Visits extends ModelViewSet(Visit, { read, summary: { group: ['at:day'], timeZone: 'Asia/Tokyo' } }) {}
  const app = await testApp(t, orm, [new Router().register('visits', Visits)]);
  const plan = app.viewset.operations.find(({ action }) => action === 'summary')!;
  const description = plan.queryParameters.find(({ name }) => name === 'group')!.schema as { description?: string };
  t.match(description.description, /in Asia\/Tokyo$/);
});

t.test('the offsets of every zone are those of Intl', async (t) => {
  for (const zone of Intl.supportedValuesOf('timeZone').filter((_, index) => index % 40 === 0)) {
    const changes = offsetChanges(zone);
    const local = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
    for (const { fromMs, offsetMs } of changes.slice(1)) {
      const wall = new Date(fromMs + offsetMs).toISOString().slice(0, 19).replace('T', ' ');
      t.equal(local.format(new Date(fromMs)), wall, zone);
    }
  }
});
