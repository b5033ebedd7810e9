/** `GET …/summary`: which records and fields it tells of, and what it refuses. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import t from 'tap';
import {
  action,
  computed,
  IsAuthenticated,
  many,
  ModelViewSet,
  Permission,
  type PermissionView,
  type QuerySet,
  readShape,
  Router,
} from '../../../src/index.ts';
import { recordQueries } from '../../query/record-queries.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { errorAtStart, testApp } from '../../support/library.ts';
import { Type } from 'typebox';

const Customer = defineEntity({
  name: 'Customer',
  filters: { kept: { name: 'kept', cond: { gone: false }, default: true } },
  properties: {
    id: p.integer().primary(),
    country: p.string().length(2),
    gone: p.boolean().default(false),
    orders: () => p.oneToMany(Order).mappedBy('customer'),
  },
});
const Order = defineEntity({
  name: 'Order',
  filters: { alive: { name: 'alive', cond: { deleted: false }, default: true } },
  properties: {
    id: p.integer().primary(),
    status: p.string().length(10),
    owner: p.string().length(10),
    total: p.decimal().precision(10).scale(2),
    margin: p.decimal('number').precision(10).scale(2).nullable(),
    data: p.json().nullable(),
    deleted: p.boolean().default(false),
    created_at: p.datetime(),
    customer: () => p.manyToOne(Customer).nullable().deleteRule('set null'),
  },
});
type OrderRecord = InferEntity<typeof Order>;
const entities = [Customer, Order];

/** Hides the orders of others. */
class IsProjectOwner extends Permission {
  override scope({ user }: FastifyRequest, view: PermissionView) {
    return this.records<OrderRecord>(view, user === null ? {} : { owner: user.role!.name });
  }
}
const read = readShape(Order, ['id', 'status', 'total', 'margin', 'created_at'], {
  customer: readShape(Customer, ['id', 'country']),
});
const brief = readShape(Order, ['id', 'status', 'total']);
const summary = {
  group: ['status', 'customer', 'customer.country', 'created_at:month'],
  values: { total: ['sum', 'avg'], margin: ['max'], created_at: ['max'] },
} as const;
const options = {
  read,
  filterFields: { status: 'status', min_total: 'total__gte' },
  searchFields: ['status'],
  orderingFields: { total: 'total' },
  permissionClasses: [IsProjectOwner],
} as const;

class Orders extends ModelViewSet(Order, { ...options, summary }) {}
class FewGroups extends ModelViewSet(Order, { ...options, summary: { group: ['status'], maxGroups: 2 } }) {}
class Members extends ModelViewSet(Order, {
  ...options,
  permissionClasses: [IsAuthenticated],
  summary: { values: { total: ['sum'] } },
}) {}
class Narrowed extends ModelViewSet(Order, { ...options, summary }) {
  override getQueryset(request: FastifyRequest) {
    return super.getQueryset(request).filter({ status__ne: 'draft' });
  }
  override filterQueryset(_request: FastifyRequest, queryset: QuerySet<OrderRecord>) {
    return queryset.filter({ total__lt: '100' });
  }
}
class Firsts extends ModelViewSet(Order, { ...options, pagination: null, summary }) {
  override async filterQueryset(request: FastifyRequest, queryset: QuerySet<OrderRecord>) {
    return (await super.filterQueryset(request, queryset)).slice(0, 1);
  }
}
class ByRole extends ModelViewSet(Order, {
  ...options,
  read: { default: brief, staff: read },
  permissionClasses: [],
  summary,
}) {
  override readShapeFor({ user }: FastifyRequest) {
    return user?.role?.name === 'staff' ? ('staff' as const) : undefined;
  }
}
class Customers extends ModelViewSet(Customer, { read: readShape(Customer, ['id', 'country']) }) {}

async function start(t: Tap, orm: Parameters<typeof testApp>[1]): Promise<FastifyInstance> {
  const em = orm.em.fork();
  const [france, sweden, gone] = [
    em.create(Customer, { id: 1, country: 'FR' }),
    em.create(Customer, { id: 2, country: 'SE' }),
    em.create(Customer, { id: 3, country: 'XX', gone: true }),
  ];
  const rows = [
    {
      status: 'open',
      owner: 'ada',
      total: '10.50',
      margin: 1.5,
      customer: france,
      created_at: new Date('2026-01-31T23:59:59Z'),
    },
    { status: 'open', owner: 'ada', total: '0.10', customer: sweden, created_at: new Date('2026-02-01T00:00:00Z') },
    { status: 'paid', owner: 'bob', total: '0.20', customer: france, created_at: new Date('2026-02-02T00:00:00Z') },
    { status: 'draft', owner: 'bob', total: '500.00', margin: 4, created_at: new Date('2026-02-03T00:00:00Z') },
    { status: 'paid', owner: 'bob', total: '7.00', customer: gone, created_at: new Date('2026-02-04T00:00:00Z') },
    { status: 'paid', owner: 'ada', total: '99.00', deleted: true, created_at: new Date('2026-02-05T00:00:00Z') },
  ];
  for (const [index, row] of rows.entries()) em.create(Order, { id: index + 1, data: null, ...row });
  await em.flush();
  const router = new Router()
    .register('orders', Orders)
    .register('few', FewGroups)
    .register('members', Members)
    .register('narrowed', Narrowed)
    .register('by-role', ByRole)
    .register('firsts', Firsts)
    .register('customers', Customers)
    .register('customers/:customer/orders', Orders);
  return testApp(t, orm, [router]);
}
type Tap = Parameters<typeof testApp>[0];

forEachDatabase(t, { entities, onLibSql: true }, async (t, orm) => {
  const app = await start(t, orm);
  const get = async (url: string, user?: string): Promise<unknown> =>
    (await app.inject({ url, headers: user === undefined ? {} : { 'x-user': user } })).json();
  const refusal = async (url: string, user?: string): Promise<unknown> => {
    const response = await app.inject({ url, headers: user === undefined ? {} : { 'x-user': user } });
    return [response.statusCode, response.json<{ error: string }>().error];
  };

  await t.test('groups have their count and the requested values', async (t) => {
    t.strictSame(await get('/orders/summary?group=status&sum=total'), {
      results: [
        { group: { status: 'draft' }, count: 1, sum: { total: '500.00' } },
        { group: { status: 'open' }, count: 2, sum: { total: '10.60' } },
        { group: { status: 'paid' }, count: 2, sum: { total: '7.20' } },
      ],
    });
    t.strictSame(await get('/orders/summary'), { results: [{ group: {}, count: 5 }] });
    t.strictSame(await get('/orders/summary?avg=total&max=margin,created_at&status=open'), {
      results: [
        {
          group: {},
          count: 2,
          avg: { total: '5.300000' },
          max: { margin: 1.5, created_at: '2026-02-01T00:00:00.000Z' },
        },
      ],
    });
  });
  await t.test('groups of periods and of related fields; NULL is a group, and the last', async (t) => {
    t.strictSame(await get('/orders/summary?group=created_at:month,customer.country'), {
      results: [
        { group: { 'created_at:month': '2026-01-01', 'customer.country': 'FR' }, count: 1 },
        { group: { 'created_at:month': '2026-02-01', 'customer.country': 'FR' }, count: 1 },
        { group: { 'created_at:month': '2026-02-01', 'customer.country': 'SE' }, count: 1 },
        { group: { 'created_at:month': '2026-02-01', 'customer.country': null }, count: 2 },
      ],
    });
  });
  await t.test('names may come one by one', async (t) => {
    const together = await get('/orders/summary?group=status,customer&sum=total');
    t.strictSame(await get('/orders/summary?group=status&group=customer&sum=total'), together);
    t.strictSame(await get('/orders/summary?group=&status=open'), { results: [{ group: {}, count: 2 }] });
  });
  await t.test('without records there are no groups, except the group of all records', async (t) => {
    t.strictSame(await get('/orders/summary?group=status&status=lost'), { results: [] });
    t.strictSame(await get('/orders/summary?sum=total&max=margin&status=lost'), {
      results: [{ group: {}, count: 0, sum: { total: null }, max: { margin: null } }],
    });
  });
  await t.test('scopes, parents, hooks and filters hold as for the list', async (t) => {
    t.strictSame(await get('/orders/summary?sum=total', 'bob'), {
      results: [{ group: {}, count: 3, sum: { total: '507.20' } }],
    });
    t.strictSame(await get('/customers/1/orders/summary?group=status&sum=total'), {
      results: [
        { group: { status: 'open' }, count: 1, sum: { total: '10.50' } },
        { group: { status: 'paid' }, count: 1, sum: { total: '0.20' } },
      ],
    });
    t.strictSame(await get('/narrowed/summary?group=status&sum=total&search=paid'), {
      results: [
        { group: { status: 'open' }, count: 2, sum: { total: '10.60' } },
        { group: { status: 'paid' }, count: 2, sum: { total: '7.20' } },
      ],
    });
    t.same((await app.inject('/customers/3/orders/summary')).statusCode, 404);
    t.same((await app.inject('/members/summary')).statusCode, 401);
    t.strictSame(await get('/orders/summary?search=PAI&min_total=1'), { results: [{ group: {}, count: 1 }] });
  });
  await t.test('a list that is cut off is not summarized beyond its end', async (t) => {
    const log: string[] = [];
    app.log.error = ({ err }: { err: Error }) => void log.push(err.message);
    t.equal((await app.inject('/firsts')).json<object[]>().length, 1);
    t.equal((await app.inject('/firsts/summary')).statusCode, 500);
    t.strictSame(log, ['Firsts: filterQueryset() must not be sliced: the summary would drop the slice']);
  });
  await t.test('related records that a MikroORM filter hides are NULL, also as a group', async (t) => {
    t.strictSame(await get('/orders/summary?group=customer&status=paid'), {
      results: [
        { group: { customer: 1 }, count: 1 },
        { group: { customer: null }, count: 1 },
      ],
    });
  });
  await t.test('a client names no field that the list does not show it', async (t) => {
    t.strictSame(await refusal('/by-role/summary?max=margin'), [
      400,
      'Query parameter "max" does not know the name "margin"; allowed: ',
    ]);
    t.strictSame(await refusal('/by-role/summary?group=customer.country'), [
      400,
      'Query parameter "group" does not know the name "customer.country"; allowed: status',
    ]);
    t.strictSame(await get('/by-role/summary?max=margin', 'staff'), {
      results: [{ group: {}, count: 5, max: { margin: 4 } }],
    });
  });
  await t.test('invalid parameters return a 400 that names each of them', async (t) => {
    const response = await app.inject(
      '/orders/summary?group=statu,status&sum=total,total&min_total=x&page=2&sort=total',
    );
    t.same(response.statusCode, 400);
    t.strictSame(response.json<{ details: object[] }>().details, [
      { in: 'query', path: '/page', message: 'is not known here' },
      { in: 'query', path: '/sort', message: 'is not known here' },
      {
        in: 'query',
        path: '/group',
        message:
          'does not know the name "statu" (did you mean "status"?); allowed: status, customer, customer.country, created_at:month',
      },
      { in: 'query', path: '/sum', message: 'must name "total" only once' },
      { in: 'query', path: '/min_total', message: 'must be a decimal number' },
    ]);
    t.strictSame(await refusal('/orders/summary?group=status,'), [
      400,
      'Query parameter "group" must not have an empty name; allowed: status, customer, customer.country, created_at:month',
    ]);
    t.strictSame(await refusal('/few/summary?group=status'), [
      400,
      'Query parameter "group" makes more than 2 groups; narrow the records by filters',
    ]);
    t.strictSame(await get('/few/summary?group=status', 'ada'), { results: [{ group: { status: 'open' }, count: 2 }] });
  });
  await t.test('the path accepts only GET, and is not a key', async (t) => {
    t.same((await app.inject({ method: 'HEAD', url: '/orders/summary' })).statusCode, 200);
    const { statusCode, headers } = await app.inject({ method: 'DELETE', url: '/orders/summary' });
    t.same([statusCode, headers['allow']], [405, 'GET, HEAD, OPTIONS']);
    const options = await app.inject({ method: 'OPTIONS', url: '/orders/summary' });
    t.same([options.statusCode, options.headers['allow']], [204, 'GET, HEAD, OPTIONS']);
    t.same((await app.inject('/customers/summary')).statusCode, 404, 'a view without the option has no such path');
  });
});

t.test('a summary is one statement, which SQLite ends when it takes too long', async (t) => {
  const orm = await openSqlite(t, { entities });
  const app = await start(t, orm);
  const { texts } = recordQueries(orm);
  await app.inject('/orders/summary?group=status&avg=total&sum=total&status=open');
  t.equal(texts.length, 1);
  t.match(texts[0], /viewset_in_time\(\)/);
  t.notMatch(texts[0], /join/);
});

const Visit = defineEntity({
  name: 'Visit',
  properties: { id: p.integer().primary(), at: p.datetime().columnType('timestamp(3)') },
});
class Visits extends ModelViewSet(Visit, {
  read: readShape(Visit, ['id', 'at']),
  summary: { group: ['at:month'] },
}) {}

forEachDatabase(t, { entities: [Visit], orm: { timezone: '+02:00' }, only: ['postgresql'] }, async (t, orm) => {
  const em = orm.em.fork();
  em.create(Visit, { id: 1, at: new Date('2026-01-31T23:30:00Z') });
  await em.flush();
  await em.getConnection().execute(`insert into "visit" values (2, '0044-03-15 14:00 BC')`);
  const app = await testApp(t, orm, [new Router().register('visits', Visits)]);
  t.strictSame(
    (await app.inject('/visits/summary?group=at:month')).json(),
    {
      results: [
        { group: { 'at:month': '-000043-03-01' }, count: 1 },
        { group: { 'at:month': '2026-01-01' }, count: 1 },
      ],
    },
    'months are those of UTC, whatever the zone in which a column holds times',
  );
});

t.test('a declaration that cannot be served fails at start', async (t) => {
  const orm = await openSqlite(t, { entities });
  const shown = readShape(Order, ['id', 'status', 'total', 'data', 'created_at', 'deleted'], {
    customer: 'customer.id',
    title: computed(Type.String(), ['owner'], ({ owner }) => owner),
  });
  const message = (given: unknown, others: object = {}) =>
    errorAtStart(
      t,
      orm,
      class BookViewSet extends ModelViewSet(Order, { read: shown, summary: given, ...others } as never) {},
    );
  const MISTAKES: readonly (readonly [given: unknown, message: string])[] = [
    [
      { groups: ['status'] },
      'BookViewSet.summary: unknown option "groups"; did you mean "group"? Known options: group, values, maxGroups, timeZone',
    ],
    [
      { group: ['statu'] },
      'BookViewSet: summary.group "statu": Order: "statu" names no field: Order has no property "statu"; did you mean "status"? It has: id, status, owner, total, margin, data, deleted, created_at, customer',
    ],
    [{ group: ['total'] }, 'BookViewSet: summary.group "total": "total" is of type decimal, which cannot be grouped'],
    [{ group: ['data'] }, 'BookViewSet: summary.group "data": "data" is of type json, which cannot be grouped'],
    [
      { group: ['owner'] },
      'BookViewSet: summary.group "owner": no read shape of "list" has "owner", and a summary may show only fields that the list shows',
    ],
    [
      { group: ['customer.country'] },
      'BookViewSet: summary.group "customer.country": no read shape of "list" has "customer.country", and a summary may show only fields that the list shows',
    ],
    [
      { group: ['created_at:hour'] },
      'BookViewSet: summary.group "created_at:hour": "created_at" has no period "hour"; known: day, week, month, year',
    ],
    [
      { group: ['status:day'] },
      'BookViewSet: summary.group "status:day": "status" is of type string; only dates and times can be grouped by day',
    ],
    [
      { values: { status: ['sum'] } },
      'BookViewSet: summary.values "status": "status" is of type string, which has no sum',
    ],
    [
      { values: { status: ['min'] } },
      'BookViewSet: summary.values "status": "status" is of type string, which has no min',
    ],
    [
      { values: { created_at: ['avg'] } },
      'BookViewSet: summary.values "created_at": "created_at" is of type datetime, which has no avg',
    ],
    [
      { values: { total: ['median'] } },
      'BookViewSet.summary: option "values.total[0]" must be one of sum, avg, min, max, got "median"',
    ],
    [
      { values: { total: 'sum' } },
      'BookViewSet.summary: option "values.total" must be a list of sum, avg, min, max, got "sum"',
    ],
    [
      { values: { total: [] } },
      'BookViewSet.summary: option "values.total" must be a list of sum, avg, min, max, got an array of 0',
    ],
    [{ values: { total: ['sum', 'sum'] } }, 'BookViewSet.summary: option "values.total" must name "sum" only once'],
    [
      { values: ['total'] },
      'BookViewSet.summary: option "values" must be lists of sum, avg, min, max by field, got an array of 1',
    ],
    [{ group: ['status', 'status'] }, 'BookViewSet.summary: option "group" must name "status" only once'],
    [
      { group: ['created_at:day:hour'] },
      'BookViewSet: summary.group "created_at:day:hour": "created_at" has no period "day:hour"; known: day, week, month, year',
    ],
    [{ maxGroups: 0 }, 'BookViewSet.summary: option "maxGroups" must be a whole number above 0, got 0'],
  ];
  for (const [given, expected] of MISTAKES) t.equal(await message(given), expected);
  t.equal(
    await message({}, { operations: ['retrieve'] }),
    'BookViewSet: option "summary" needs the operation "list", which the view does not offer',
  );
  t.equal(
    await message({ values: { total: ['sum'] } }, { filterFields: { sum: 'total' } }),
    'BookViewSet: query parameter "sum" is declared by both a filter and "summary"',
  );
  class Listing extends ModelViewSet(Order, { read: shown, summary: {} }) {
    override list(): Promise<unknown> {
      return Promise.resolve([]);
    }
  }
  class Masking extends ModelViewSet(Order, { read: shown, summary: {} }) {
    override represent(order: OrderRecord) {
      return { ...super.represent(order), total: '0.00' };
    }
  }
  for (const [View, override] of [
    [Listing, 'list'],
    [Masking, 'represent'],
  ] as const) {
    t.equal(
      await errorAtStart(t, orm, View),
      `${View.name}: option "summary" could show what the override of ${override}() hides; narrow the records with getQueryset() or ` +
        'filterQueryset(), and the fields with the read shape',
    );
  }
  class WithAction extends ModelViewSet(Order, { read: shown }) {
    summary = action({}, () => ({ own: true }));
  }
  const app = await testApp(t, orm, [new Router().register('orders', WithAction)]);
  t.strictSame(
    (await app.inject('/orders/summary')).json(),
    { own: true },
    'a view without one has an action of the name',
  );
  class Twice extends ModelViewSet(Order, { read: shown, summary: {} }) {
    summary = action({}, () => ({ own: true }));
  }
  t.match(await errorAtStart(t, orm, Twice), /summary/);
  class ToMany extends ModelViewSet(Customer, {
    read: readShape(Customer, ['id'], { orders: many('orders.total') }),
    summary: { values: { 'orders.total': ['sum'] } } as never,
  }) {}
  t.equal(
    await errorAtStart(t, orm, ToMany),
    'ToMany: summary.values "orders.total": "orders.total" leads to many records, so a record would count several times',
  );
});

t.test('wrong names and aggregates do not compile', async (t) => {
  const good = { values: { total: ['sum'], 'customer.id': ['max'], created_at: ['min'] } } as const;
  class Good extends ModelViewSet(Order, {
    read,
    summary: { ...good, group: ['created_at:week', 'customer.country'] },
  }) {}
  const make = () => [
    // @ts-expect-error a misspelt group
    ModelViewSet(Order, { read, summary: { group: ['statu'] } }),
    // @ts-expect-error a misspelt period
    ModelViewSet(Order, { read, summary: { group: ['created_at:hour'] } }),
    // @ts-expect-error a period of a number
    ModelViewSet(Order, { read, summary: { group: ['margin:day'] } }),
    // @ts-expect-error a misspelt value
    ModelViewSet(Order, { read, summary: { values: { totl: ['sum'] } } }),
    // @ts-expect-error a misspelt aggregate
    ModelViewSet(Order, { read, summary: { values: { total: ['median'] } } }),
    // @ts-expect-error the sum of a point in time
    ModelViewSet(Order, { read, summary: { values: { created_at: ['sum'] } } }),
    // @ts-expect-error the sum of true and false
    ModelViewSet(Order, { read, summary: { values: { deleted: ['sum'] } } }),
    // @ts-expect-error a relation to many
    ModelViewSet(Customer, { read: readShape(Customer, ['id']), summary: { group: ['orders.status'] } }),
    // @ts-expect-error a misspelt option
    ModelViewSet(Order, { read, summary: { groups: ['status'] } }),
  ];
  t.ok(Good);
  t.ok(make);
});
