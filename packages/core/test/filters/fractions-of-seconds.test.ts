/** Moments given more finely than a Date of JavaScript, or the column, holds them, compared with a model. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, readShape, Router } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Tick = defineEntity({
  name: 'Tick',
  properties: {
    id: p.integer().primary(),
    at: p.datetime(6).nullable(),
  },
});

class TickViewSet extends ModelViewSet(Tick, {
  read: readShape(Tick, ['id']),
  filterFields: {
    at: 'at',
    ne: 'at__ne',
    gt: 'at__gt',
    gte: 'at__gte',
    lt: 'at__lt',
    lte: 'at__lte',
    in: 'at__in',
    range: 'at__range',
  },
  jsonLogicFields: ['at'],
  maxPageSize: 1000,
  pageSize: 1000,
}) {}

/** Nanoseconds after 31 December 9998, 23:59:58: far from now, doubles hold no microseconds of a millisecond. */
const SECOND = '9998-12-31T23:59:58';
const MICROSECONDS = [0, 1, 999, 1000, 123_000, 123_400, 123_456, 123_457, 123_999, 124_000, 999_000, 999_999];
const FRACTIONS = [
  '',
  '.0',
  '.000001',
  '.0000001',
  '.000000001',
  '.001',
  '.123',
  '.1234',
  '.123400',
  '.1234001',
  '.123456',
  '.1234561',
  '.123456999',
  '.1239999',
  '.123999999',
  '.124',
  '.999',
  '.999999',
  '.9999995',
  '.999999999',
];

const nanoseconds = (fraction: string): number => Number(fraction.slice(1).padEnd(9, '0'));

forEachDatabase(t, { entities: [Tick] }, async (t, orm, database) => {
  // The others keep milliseconds.
  const grain = database === 'postgresql' ? 1 : 1000;
  const stored = new Map(MICROSECONDS.map((micro, index) => [index + 1, Math.floor(micro / grain) * grain * 1000]));
  for (const [id, nano] of stored) {
    const text = `${SECOND}.${String(nano / 1000).padStart(6, '0')}Z`;
    if (database !== 'postgresql') await orm.em.fork().insert(Tick, { id, at: new Date(text) });
    // A Date would lose the microseconds.
    else await orm.em.getConnection().execute('insert into tick (id, at) values (?, ?)', [id, text]);
  }
  await orm.em.fork().insert(Tick, { id: stored.size + 1, at: null });
  const app = await testApp(t, orm, [new Router().register('ticks', TickViewSet)]);
  const ids = async (query: Record<string, string>): Promise<number[]> => {
    const response = await app.inject({ url: '/ticks', query });
    t.equal(response.statusCode, 200, response.body);
    return response.json<{ results: { id: number }[] }>().results.map(({ id }) => id);
  };
  const expected = (holds: (nano: number) => boolean): number[] =>
    [...stored].filter(([, nano]) => holds(nano)).map(([id]) => id);

  t.test('every comparison is with the moment that was given', async (t) => {
    for (const fraction of FRACTIONS) {
      const moment = `${SECOND}${fraction}Z`;
      const given = nanoseconds(fraction);
      t.same(
        await ids({ at: moment }),
        expected((nano) => nano === given),
        `= ${fraction}`,
      );
      t.same(await ids({ ne: moment }), [...expected((nano) => nano !== given), stored.size + 1], `≠ ${fraction}`);
      t.same(
        await ids({ gt: moment }),
        expected((nano) => nano > given),
        `> ${fraction}`,
      );
      t.same(
        await ids({ gte: moment }),
        expected((nano) => nano >= given),
        `≥ ${fraction}`,
      );
      t.same(
        await ids({ lt: moment }),
        expected((nano) => nano < given),
        `< ${fraction}`,
      );
      t.same(
        await ids({ lte: moment }),
        expected((nano) => nano <= given),
        `≤ ${fraction}`,
      );
      const filter = JSON.stringify({ '<': [{ var: 'at' }, moment] });
      t.same(
        await ids({ filter }),
        expected((nano) => nano < given),
        `JSON Logic < ${fraction}`,
      );
      for (const other of ['.123400', '.9999995', '.001']) {
        const end = nanoseconds(other);
        const both = `${moment},${SECOND}${other}Z`;
        t.same(
          await ids({ in: both }),
          expected((nano) => nano === given || nano === end),
          `in ${fraction}, ${other}`,
        );
        t.same(
          await ids({ range: both }),
          expected((nano) => nano >= given && nano <= end),
          `${fraction} … ${other}`,
        );
      }
    }
  });
});
