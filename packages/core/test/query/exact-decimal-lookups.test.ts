/** Lookups compare decimals by all their digits, also where the database stores them as doubles. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, readShape, Router } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Part = defineEntity({
  name: 'Part',
  embeddable: true,
  properties: { cost: p.decimal('string').precision(40).scale(10).nullable() },
});
const Price = defineEntity({
  name: 'Price',
  properties: {
    id: p.integer().primary(),
    cost: p.decimal('string').precision(40).scale(10).nullable(),
    amount: p.decimal('number').precision(20).scale(4).nullable(),
    inline: () => p.embedded(Part).nullable(),
  },
});
const lookups = ['exact', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'range'] as const;
class PriceViewSet extends ModelViewSet(Price, {
  read: readShape(Price, ['id', 'cost', 'amount']),
  filterFields: {
    ...Object.fromEntries(lookups.map((lookup) => [lookup, lookup === 'exact' ? 'cost' : `cost__${lookup}`])),
    amount: 'amount',
    amount_lte: 'amount__lte',
    inline: 'inline__cost',
    inline_lt: 'inline__cost__lt',
  } as never,
  jsonLogicFields: ['id', 'cost', 'amount'],
  queryMethod: true,
  pagination: null,
}) {}

const STORED = ['-0.1', '0', '0.1', '0.3', '12345678901.2345', '999999999999999', '1000000000000000'];
const SENT = [
  '0.3',
  '0.3000000000',
  '0.30000000000000001',
  '0.29999999999999999',
  '0.1000000000000000055',
  '0.09999999999999999999',
  '-0.10000000000000000001',
  '-0.09999999999999999999',
  '0.00000000000000000000000000000001',
  '-0.00000000000000000000000000000001',
  '12345678901.23450000001',
  '12345678901.23449999999',
  '999999999999999.00000001',
  '999999999999999.9999',
  '1000000000000000.00001',
  `0.${'0'.repeat(400)}1`,
  '1'.repeat(400),
  `-${'1'.repeat(400)}`,
];

/** Units of 10^-500. */
const units = (text: string): bigint => {
  const [integer = '', fraction = ''] = text.split('.');
  return BigInt(integer + fraction.padEnd(500, '0'));
};

const MATCHES: Readonly<Record<string, (stored: bigint, sent: bigint) => boolean>> = {
  exact: (stored, sent) => stored === sent,
  ne: (stored, sent) => stored !== sent,
  lt: (stored, sent) => stored < sent,
  lte: (stored, sent) => stored <= sent,
  gt: (stored, sent) => stored > sent,
  gte: (stored, sent) => stored >= sent,
};

forEachDatabase(t, { entities: [Part, Price], onLibSql: true }, async (t, orm) => {
  const app = await testApp(t, orm, [new Router().register('prices', PriceViewSet)]);
  const em = orm.em.fork();
  for (const cost of STORED) em.create(Price, { cost } as never);
  em.create(Price, { amount: 12_345_678_901_234.123 } as never);
  await em.flush();
  const found = async (query: string): Promise<unknown> => {
    const response = await app.inject(`/prices?${query}`);
    t.equal(response.statusCode, 200, response.body);
    const prices = response.json<{ cost: string | null }[]>();
    return prices.flatMap(({ cost }) => (cost === null ? [] : [units(cost)])).toSorted((a, b) => (a < b ? -1 : 1));
  };
  const stored = STORED.map(units);

  t.test('by all digits', async (t) => {
    for (const sent of SENT) {
      for (const [lookup, matches] of Object.entries(MATCHES)) {
        const expected = stored.filter((each) => matches(each, units(sent)));
        t.strictSame(await found(`${lookup}=${sent}`), expected, `${lookup} ${sent}`);
      }
      t.strictSame(
        await found(`in=0.1,${sent}`),
        stored.filter((each) => [units('0.1'), units(sent)].includes(each)),
      );
      const within = stored.filter((each) => each >= units('0.1') && each <= units(sent));
      t.strictSame(await found(`range=0.1,${sent}`), within, `range to ${sent}`);
      const above = stored.filter((each) => each >= units(sent) && each <= units('12345678901.2345'));
      t.strictSame(await found(`range=${sent},12345678901.2345`), above, `range from ${sent}`);
    }
  });

  t.test('in JSON Logic and in an embeddable', async (t) => {
    const one = orm.em.fork();
    one.create(Price, { inline: { cost: '0.3' } });
    await one.flush();
    const count = async (query: string): Promise<number> => {
      const response = await app.inject(`/prices?${query}`);
      t.equal(response.statusCode, 200, response.body);
      return response.json().length;
    };
    t.equal(await count('inline=0.30000000000000001'), 0);
    t.equal(await count('inline=0.3'), 1);
    t.equal(await count('inline_lt=0.30000000000000001'), 1);
    const logic = (rule: object) => count(`filter=${encodeURIComponent(JSON.stringify(rule))}`);
    t.equal(await logic({ '==': [{ var: 'cost' }, '0.30000000000000001'] }), 0);
    t.equal(await logic({ '<': [{ var: 'cost' }, '0.30000000000000001'] }), 4);
    t.equal(await logic({ '<=': [{ var: 'cost' }, '0.29999999999999999'] }), 3);
  });

  t.test('number literals in JSON Logic and in bodies of QUERY requests, by all digits', async (t) => {
    const fails = (text: string): boolean => !Number.isFinite(Number(text));
    const operators = { exact: '==', ne: '!=', lt: '<', lte: '<=', gt: '>', gte: '>=' };
    const foundBy = async (request: { url: string; method?: 'GET' | 'QUERY'; payload?: string }): Promise<unknown> => {
      const response = await app.inject({ headers: { 'content-type': 'application/json' }, ...request } as never);
      t.equal(response.statusCode, 200, `${request.url} ${request.payload}: ${response.body}`);
      const prices: { cost: string | null }[] = JSON.parse(response.body);
      return prices.flatMap(({ cost }) => (cost === null ? [] : [units(cost)])).toSorted((a, b) => (a < b ? -1 : 1));
    };
    const query = (payload: string) => foundBy({ url: '/prices', method: 'QUERY', payload });
    for (const sent of SENT.filter((text) => !fails(text))) {
      for (const [lookup, operator] of Object.entries(operators)) {
        const expected = stored.filter((each) => MATCHES[lookup]!(each, units(sent)));
        const rule = `{"${operator}":[{"var":"cost"},${sent}]}`;
        t.strictSame(await foundBy({ url: `/prices?filter=${encodeURIComponent(rule)}` }), expected, rule);
        t.strictSame(await query(`{"filter":${rule}}`), expected, rule);
        if (!Number.isInteger(Number(sent))) {
          t.strictSame(await query(`{"${lookup}":${sent}}`), expected, `${lookup} ${sent}`);
        }
      }
      const among = stored.filter((each) => [units('0.1'), units(sent)].includes(each));
      t.strictSame(await query(`{"filter":{"in":[{"var":"cost"},[0.1,${sent}]]}}`), among, `in ${sent}`);
      const between = stored.filter((each) => each > units('0.1') && each < units(sent));
      t.strictSame(await query(`{"filter":{"<":[0.1,{"var":"cost"},${sent}]}}`), between, `below ${sent}`);
    }
  });

  t.test('a number literal with an exponent, and one for a column of whole numbers', async (t) => {
    const logic = async (rule: string) => {
      const response = await app.inject(`/prices?filter=${encodeURIComponent(rule)}`);
      return [response.statusCode, response.json().length ?? response.json().error] as const;
    };
    t.strictSame(await logic('{"==":[{"var":"cost"},1.00000000000000000000e-1]}'), [200, 1]);
    t.strictSame(await logic('{"==":[{"var":"cost"},1.00000000000000000001e-1]}'), [200, 0]);
    t.strictSame(await logic('{"<":[{"var":"id"},3]}'), [200, 2]);
    const [status, message] = await logic('{"<":[{"var":"id"},1.00000000000000000001]}');
    t.equal(status, 400);
    t.match(message, /"id" must be an integer/);
  });

  t.test('a column that is read as a number', async (t) => {
    for (const [query, count] of [
      ['amount=12345678901234.123', 1],
      ['amount=12345678901234.1234', 0],
      ['amount_lte=12345678901234.1229', 0],
      ['amount_lte=12345678901234.123', 1],
    ] as const) {
      const response = await app.inject(`/prices?${query}`);
      t.equal(response.json().length, count, `${query}: ${response.body}`);
    }
  });
});
