/** Unique values that pass from one record of a request to another: positions that are swapped, rotated and shifted. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import {
  eventsFeature,
  ModelViewSet,
  nested,
  readShape,
  Router,
  type RecordWrite,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Seat = defineEntity({ name: 'Seat', properties: { id: p.integer().primary(), name: p.string().length(20) } });
const Spot = defineEntity({
  name: 'Spot',
  embeddable: true,
  properties: { row: p.integer().nullable(), column: p.integer().nullable() },
});
const List = defineEntity({
  name: 'List',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20).unique(),
    items: () => p.oneToMany(Item).mappedBy('list').orderBy({ position: 'asc' }),
  },
});
const Item = defineEntity({
  name: 'Item',
  uniques: [
    { properties: ['list', 'position'] },
    { properties: ['list', 'grade'] },
    { properties: ['spot_row', 'spot_column'] as never[] },
  ],
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20),
    position: p.integer(),
    /** A text of digits, a rule of the database says. */
    code: p.string().length(4).nullable().unique(),
    slug: p.string().length(4).unique(),
    rank: p.integer().nullable().unique(),
    grade: p.enum(['a', 'b', 'c']).nullable(),
    weight: p.decimal('string').precision(10).scale(2).nullable().unique(),
    key: p.uuid().nullable().unique(),
    day: p.date().nullable().unique(),
    at: p.datetime().length(3).nullable().unique(),
    spot: () => p.embedded(Spot).nullable(),
    seat: () => p.oneToOne(Seat).owner().nullable(),
    list: () => p.manyToOne(List),
  },
});
/** Its unique columns are not nullable, and rules of the database leave few values. */
const Tight = defineEntity({
  name: 'Tight',
  properties: {
    id: p.integer().primary(),
    place: p.integer().unique(),
    digits: p.string().length(6).unique(),
    size: p.smallint().unique(),
    flag: p.boolean().unique(),
    version: p.integer().version().default(1),
  },
});

type ItemRecord = InferEntity<typeof Item>;
const FIELDS = [
  'name',
  'position',
  'code',
  'slug',
  'rank',
  'grade',
  'weight',
  'key',
  'day',
  'at',
  'spot',
  'seat',
] as const;
const readItem = readShape(Item, ['id', 'position', 'slug', 'rank']);

class ItemViewSet extends ModelViewSet(Item, {
  read: readItem,
  write: writeShape(Item, [...FIELDS, 'list']),
  bulk: 100,
  emits: ['updated'],
}) {}
class ListViewSet extends ModelViewSet(List, {
  read: readShape(List, ['id', 'name']),
  write: writeShape(List, ['name'], { items: nested(writeShape(Item, FIELDS), { update: true, max: 100 }) }),
  bulk: 100,
}) {}
/** Each name says what the hook makes of the change. */
class HookedViewSet extends ModelViewSet(Item, {
  read: readItem,
  write: writeShape(Item, [...FIELDS, 'list']),
  bulk: 100,
}) {
  override async performUpdate(request: FastifyRequest, item: ItemRecord, data: { name?: string; position?: number }) {
    if (data.name === 'stay') return super.performUpdate(request, item, { name: 'stay' });
    return super.performUpdate(request, item, data);
  }
}
/** Its hook flushes the record itself, and gives it the position that its name tells. */
class FlushingViewSet extends ModelViewSet(Item, {
  read: readItem,
  write: writeShape(Item, [...FIELDS, 'list']),
  bulk: 100,
}) {
  override async performUpdate(request: FastifyRequest, item: ItemRecord, data: { name?: string; position?: number }) {
    request.em.assign(item, { position: Number(data.name ?? data.position) });
    await request.em.flush();
    return super.performUpdate(request, item, data.name === undefined ? data : {});
  }
}
class TightViewSet extends ModelViewSet(Tight, {
  read: readShape(Tight, ['id', 'place', 'digits', 'size']),
  write: writeShape(Tight, ['place', 'digits', 'size', 'flag']),
  bulk: 100,
}) {}

const entities = [Seat, Spot, List, Item, Tight];

forEachDatabase(t, { entities, onLibSql: true }, async (t, orm, database) => {
  if (database === 'postgresql') {
    await orm.em
      .getConnection()
      .execute('alter table item add constraint digits check (code similar to $$[0-9]+$$)'.replaceAll('$$', "'"));
    await orm.em.getConnection().execute('alter table tight add check (place > 0 and place < 5), add check (size < 4)');
    await orm.em.getConnection().execute("alter table tight add check (digits similar to '[0-9]{6}')");
  }
  const told: RecordWrite[] = [];
  const app = await testApp(
    t,
    orm,
    [
      new Router()
        .register('items', ItemViewSet)
        .register('lists', ListViewSet)
        .register('hooked', HookedViewSet)
        .register('tight', TightViewSet)
        .register('flushing', FlushingViewSet),
    ],
    {
      before: (child) => {
        child.viewset.addFeature(eventsFeature(async (writes) => void told.push(...writes)));
      },
    },
  );
  type Row = Record<string, unknown> & { id: number };
  const rows = async (): Promise<Map<number, Row>> => {
    const all = await orm.em.fork().findAll(Item, { orderBy: { id: 1 } });
    return new Map(all.map((item) => [item.id, { rank: null, ...(JSON.parse(JSON.stringify(item)) as Row) }]));
  };
  const send = async (method: 'PATCH' | 'PUT' | 'POST', url: string, payload: object) => {
    const answer = await app.inject({ method, url, payload });
    return { status: answer.statusCode, body: answer.json<{ details?: { path: string }[] }>() };
  };
  /** Two lists of three items: 11, 12, 13 and 21, 22, 23, in positions 1, 2, 3. */
  t.beforeEach(async () => {
    await orm.schema.clear();
    const em = orm.em.fork();
    for (const number of [1, 2]) {
      const list = em.create(List, { id: number, name: `list ${number}` });
      for (const position of [1, 2, 3]) {
        const id = number * 10 + position;
        em.create(Item, {
          id,
          name: `item ${id}`,
          position,
          list,
          code: String(id),
          slug: `s${id}`,
          rank: id,
          grade: (['a', 'b', 'c'] as const)[position - 1]!,
          weight: `${id}.50`,
          key: `00000000-0000-4000-8000-0000000000${id}`,
          day: `20${id}-01-01`,
          at: new Date(Date.UTC(2000 + id, 1, 1)),
          spot: { row: number, column: position },
          seat: em.create(Seat, { id, name: `seat ${id}` }),
        });
      }
    }
    await em.flush();
    if (database === 'postgresql') {
      await orm.em
        .getConnection()
        .execute("select setval('list_id_seq', 1000), setval('item_id_seq', 1000), setval('tight_id_seq', 1000)");
    }
    told.length = 0;
  });

  /** Changes records, and expects exactly these changes of all that is stored. */
  const changes = async (t: Test, method: 'PATCH' | 'PUT', url: string, payload: object, expected: readonly Row[]) => {
    const before = await rows();
    const { status, body } = await send(method, url, payload);
    t.equal(status, 200, JSON.stringify(body));
    for (const change of expected) before.set(change.id, { ...before.get(change.id), ...change });
    t.strictSame([...(await rows()).values()], [...before.values()]);
  };

  await t.test('a bulk update swaps, rotates and shifts positions', async (t) => {
    const swap = [
      { id: 11, position: 2 },
      { id: 12, position: 1 },
    ];
    await changes(t, 'PATCH', '/items', swap, swap);
    t.strictSame(
      told.map(({ record }) => record as { id: number; position: number }).map(({ id, position }) => [id, position]),
      [
        [11, 2],
        [12, 1],
      ],
      'plugins learn of the end alone',
    );
    t.strictSame(
      told.map(({ before }) => before!['position']),
      [1, 2],
    );
    const rotated = [
      { id: 11, position: 3 },
      { id: 12, position: 2 },
      { id: 13, position: 1 },
    ];
    await changes(t, 'PATCH', '/items', rotated, rotated);
    for (const order of [
      [11, 12, 13],
      [13, 12, 11],
    ]) {
      const shifted = order.map((id) => ({
        id,
        position: rotated.find((each) => each.id === id)!.position + order[0]!,
      }));
      await changes(t, 'PATCH', '/items', shifted, shifted);
      const back = rotated.map((each) => ({ ...each }));
      await changes(t, 'PATCH', '/items', back, back);
    }
    const up = [
      { id: 13, position: 2 },
      { id: 12, position: 3 },
      { id: 11, position: 4 },
      { id: 21, position: 2 },
      { id: 22, position: 1 },
    ];
    await changes(t, 'PATCH', '/items', up, up);
  });

  const EXCHANGED: readonly (readonly [field: string, first: unknown, second: unknown, stored?: readonly unknown[]])[] =
    [
      ['slug', 's12', 's11'],
      ['code', '12', '11'],
      ['rank', 12, 11],
      ['grade', 'b', 'a'],
      ['weight', '12.50', '11.50', database === 'sqlite' ? ['12.5', '11.5'] : undefined],
      ['key', `00000000-0000-4000-8000-000000000012`, `00000000-0000-4000-8000-000000000011`],
      ['day', '2012-01-01', '2011-01-01'],
      ['at', '2012-02-01T00:00:00.000Z', '2011-02-01T00:00:00.000Z'],
      ['seat', 12, 11],
      ['spot', { row: 1, column: 2 }, { row: 1, column: 1 }],
    ].map((each) => each as never);
  for (const [field, first, second] of EXCHANGED) {
    await t.test(`two records exchange their values of "${field}"`, async (t) => {
      const sent = [
        { id: 11, [field]: first },
        { id: 12, [field]: second },
      ];
      const before = await rows();
      const expected = [
        { id: 11, [field]: before.get(12)![field] },
        { id: 12, [field]: before.get(11)![field] },
      ];
      await changes(t, 'PATCH', '/items', sent, expected);
      await changes(
        t,
        'PATCH',
        '/lists/1',
        { items: [{ id: 11, [field]: second }, { id: 12, [field]: first }, { id: 13 }] },
        [
          { id: 11, [field]: before.get(11)![field] },
          { id: 12, [field]: before.get(12)![field] },
        ],
      );
      if (field === 'grade' || field === 'spot') return;
      const other = field === 'seat' ? 21 : before.get(21)![field];
      const { status, body } = await send('PATCH', '/items', [
        { id: 11, [field]: first },
        { id: 12, [field]: other },
      ]);
      t.equal(status, 409);
      t.equal(body.details?.map(({ path }) => path).join(' '), `/1/${field}`);
    });
  }

  await t.test('records exchange values of several keys at once', async (t) => {
    const both = [
      { id: 11, position: 2, slug: 's12', grade: 'b' },
      { id: 12, position: 3, slug: 's11', grade: 'a' },
      { id: 13, position: 1, slug: 'free' },
    ];
    const columns = [
      { id: 11, seat: 12, rank: 13, code: '12' },
      { id: 12, seat: 13, rank: 11, code: '11' },
      { id: 13, seat: 11, rank: 12, code: '14' },
    ];
    await changes(t, 'PATCH', '/items', columns, columns);
    await changes(t, 'PATCH', '/items', both, both);
    const back = [
      { id: 11, position: 1, slug: 's11', grade: 'a' },
      { id: 12, position: 2, slug: 's12', grade: 'b' },
      { id: 13, position: 3, slug: 's13' },
    ];
    await changes(t, 'PATCH', '/hooked', back, back);
  });

  await t.test('records exchange their parents', async (t) => {
    for (const path of ['/items', '/hooked']) {
      const [one, two] = path === '/items' ? [2, 1] : [1, 2];
      const moved = [
        { id: 11, list: one },
        { id: 21, list: two },
        { id: 12, list: one },
        { id: 22, list: two },
      ];
      await changes(t, 'PATCH', path, moved, moved);
    }
  });

  await t.test('children exchange positions in a request with new and deleted children', async (t) => {
    const before = await rows();
    const { status, body } = await send('PATCH', '/lists/1', {
      items: [
        { id: 13, position: 2 },
        { id: 12, position: 1 },
        { name: 'new', slug: 'new', position: 3 },
      ],
    });
    t.equal(status, 200, JSON.stringify(body));
    const after = await rows();
    t.equal(after.has(11), false);
    t.equal(after.get(12)!['position'], 1);
    t.equal(after.get(13)!['position'], 2);
    const made = [...after.values()].find(({ name }) => name === 'new')!;
    t.equal(made['position'], 3);
    for (const id of [21, 22, 23]) t.strictSame(after.get(id), before.get(id));
  });

  await t.test('several parents and their children exchange values in one request', async (t) => {
    const { status, body } = await send('PATCH', '/lists', [
      { id: 1, name: 'list 2', items: [{ id: 11, position: 2 }, { id: 12, position: 1 }, { id: 13 }] },
      { id: 2, name: 'list 1', items: [{ id: 21, position: 3 }, { id: 22 }, { id: 23, position: 1 }] },
    ]);
    t.equal(status, 200, JSON.stringify(body));
    const after = await rows();
    t.strictSame(
      [...after.values()].map(({ position }) => position),
      [2, 1, 3, 3, 2, 1],
    );
    const lists = await orm.em.fork().findAll(List, { orderBy: { id: 1 } });
    t.strictSame(
      lists.map(({ name }) => name),
      ['list 2', 'list 1'],
    );
  });

  await t.test('NULL gives its place up, and takes one', async (t) => {
    const first = [
      { id: 11, rank: 12 },
      { id: 12, rank: null },
    ];
    await changes(t, 'PATCH', '/items', first, first);
    const second = [
      { id: 11, rank: null },
      { id: 12, rank: 12 },
      { id: 13, rank: null },
    ];
    await changes(t, 'PATCH', '/items', second, second);
  });

  await t.test('hooks of each record run once, in order, and decide', async (t) => {
    const swap = [
      { id: 11, position: 2 },
      { id: 12, position: 3 },
      { id: 13, position: 1 },
    ];
    await changes(t, 'PATCH', '/hooked', swap, swap);
    const before = await rows();
    const stays = await send('PATCH', '/hooked', [
      { id: 11, position: 3 },
      { id: 12, position: 2, name: 'stay' },
    ]);
    t.equal(stays.status, 409, 'the place of a record that stays is taken');
    t.strictSame(await rows(), before);
    await changes(
      t,
      'PATCH',
      '/hooked',
      [
        { id: 12, position: 50, name: 'stay' },
        { id: 11, position: 40 },
      ],
      [
        { id: 12, name: 'stay' },
        { id: 11, position: 40 },
      ],
    );
  });

  await t.test('a hook that leaves a record where it was gets its value back', async (t) => {
    // 13 gets the place of 12, which gets that of 11, which stays.
    const before = await rows();
    const refused = await send('PATCH', '/hooked', [
      { id: 13, position: 2 },
      { id: 12, position: 1 },
      { id: 11, position: 9, name: 'stay' },
    ]);
    t.equal(refused.status, 409);
    t.strictSame(await rows(), before);
  });

  await t.test('a value that another record has is a conflict, with details, and nothing is written', async (t) => {
    const before = await rows();
    const cases: [string, object, string][] = [
      [
        '/items',
        [
          { id: 11, position: 2 },
          { id: 12, position: 3 },
        ],
        '/1/position',
      ],
      [
        '/items',
        [
          { id: 11, slug: 's12' },
          { id: 12, slug: 's21' },
        ],
        '/1/slug',
      ],
      [
        '/items',
        [
          { id: 11, rank: 12 },
          { id: 12, rank: 11 },
          { id: 13, rank: 11 },
        ],
        '/2/rank',
      ],
      [
        '/items',
        [
          { id: 11, position: 2 },
          { id: 12, position: 1 },
          { id: 21, slug: 's13' },
        ],
        '/2/slug',
      ],
      ['/lists/1', { items: [{ id: 11, position: 2 }, { id: 12, position: 2 }, { id: 13 }] }, '/items/0/position'],
      ['/lists/1', { items: [{ id: 11, slug: 's12' }, { id: 12, slug: 's22' }, { id: 13 }] }, '/items/1/slug'],
      [
        '/lists/1',
        {
          items: [
            { id: 11, position: 2 },
            { id: 12, position: 1 },
            { name: 'n', slug: 'n', position: 2 },
          ],
        },
        '/items/2/position',
      ],
    ];
    for (const [url, payload, place] of cases) {
      const { status, body } = await send('PATCH', url, payload);
      t.equal(status, 409, JSON.stringify(payload));
      t.strictSame(body.details?.map(({ path }) => path).join(' '), place);
      t.strictSame(await rows(), before);
    }
  });

  await t.test('columns that are never NULL, and rules of the database', async (t) => {
    const em = orm.em.fork();
    em.create(Tight, { id: 1, place: 1, digits: '000001', size: 1, flag: true });
    em.create(Tight, { id: 2, place: 2, digits: '000002', size: 2, flag: false });
    await em.flush();
    for (const [first, second] of [
      [{ place: 2 }, { place: 1 }],
      [{ digits: '000002' }, { digits: '000001' }],
      [{ size: 2 }, { size: 1 }],
    ]) {
      const { status, body } = await send('PATCH', '/tight', [
        { id: 1, ...first },
        { id: 2, ...second },
      ]);
      t.equal(status, 200, JSON.stringify(body));
    }
    const after = await orm.em.fork().findAll(Tight, { orderBy: { id: 1 } });
    t.match(after, [
      { place: 2, digits: '000002', size: 2, version: 4 },
      { place: 1, digits: '000001', size: 1, version: 4 },
    ]);
    // A boolean has no third value.
    const { status, body } = await send('PATCH', '/tight', [
      { id: 1, flag: false },
      { id: 2, flag: true },
    ]);
    t.equal(status, 409);
    t.equal(body.details?.length, 2);
  });

  await t.test('short texts, of which few are free', async (t) => {
    const em = orm.em.fork();
    const list = await em.findOneOrFail(List, 1);
    const ids = Array.from({ length: 9 }, (_, index) => 101 + index);
    for (const id of ids) em.create(Item, { id, name: 'short', position: id, list, slug: String(id - 100) });
    await em.flush();
    for (let round = 0; round < 10; round++) {
      const slugs = ids.map((_, index) => String(((index + round + 1) % 9) + 1));
      const sent = ids.map((id, index) => ({ id, slug: slugs[index]! }));
      await changes(t, 'PATCH', '/items', sent, sent);
    }
  });

  await t.test('a hook that flushes itself', async (t) => {
    await changes(
      t,
      'PATCH',
      '/flushing',
      [
        { id: 11, position: 2 },
        { id: 12, position: 1 },
      ],
      [
        { id: 11, position: 2 },
        { id: 12, position: 1 },
      ],
    );
    const before = [...(await rows()).values()];
    const { status, body } = await send('PATCH', '/flushing', [{ id: 13, name: '1' }]);
    t.equal(status, 409, JSON.stringify(body));
    t.strictSame([...(await rows()).values()], before);
    t.equal(body.details, undefined, 'the body does not have the value');
  });

  await t.test('random orders of random records', async (t) => {
    const ids = [11, 12, 13];
    for (let turn = 0; turn < 25; turn++) {
      const before = await rows();
      const chosen = ids.filter(() => Math.random() < 0.8);
      const field = (['position', 'slug', 'rank'] as const)[turn % 3]!;
      const values = chosen.map((id) => before.get(id)![field]);
      const mixed = values
        .map((value) => ({ value, order: Math.random() }))
        .toSorted((one, other) => one.order - other.order);
      const sent = chosen
        .map((id, index) => ({ id, [field]: mixed[index]!.value }))
        .toSorted(() => Math.random() - 0.5);
      if (sent.length === 0) continue;
      await changes(t, 'PATCH', turn % 2 === 0 ? '/items' : '/hooked', sent, sent);
      const all = ids.map((id) => sent.find((each) => each.id === id) ?? { id });
      await changes(t, 'PATCH', '/lists/1', { items: all }, []);
    }
  });
});

/** Its relation refers to another column than the primary key, whose values look like primary keys. */
const Door = defineEntity({
  name: 'Door',
  properties: { id: p.integer().primary(), number: p.integer().unique() },
});
const Key = defineEntity({
  name: 'Key',
  properties: {
    id: p.integer().primary(),
    door: () => p.manyToOne(Door).targetKey('number').nullable().unique(),
  },
});
class KeyViewSet extends ModelViewSet(Key, {
  read: readShape(Key, ['id'], { door: 'door.number' }),
  write: writeShape(Key, [], { door: 'door.number' }),
  bulk: 10,
}) {}

forEachDatabase(t, { entities: [Door, Key], only: ['sqlite', 'postgresql'] }, async (t, orm) => {
  const app = await testApp(t, orm, [new Router().register('keys', KeyViewSet)]);
  const em = orm.em.fork();
  // The doors 1 and 2 have the numbers 2 and 3, and so on.
  for (const id of [1, 2, 3]) await em.insert(Door, { id, number: id + 1 });
  for (const id of [1, 2, 3]) await em.insert(Key, { id, door: id + 1 });
  const list = async () => (await app.inject('/keys')).json<{ results: object[] }>().results;

  // MikroORM 7.2 writes such a relation wrongly. Newer versions exchange it.
  await t.test(
    'a relation by another column than the primary key is exchanged, or refused and left as it is',
    async (t) => {
      let before = await list();
      for (const [first, second] of [
        [3, 2],
        [4, 3],
      ]) {
        const payload = [
          { id: 1, door: first },
          { id: 2, door: second },
        ];
        const answer = await app.inject({ method: 'PATCH', url: '/keys', payload });
        t.ok([200, 409].includes(answer.statusCode), answer.body);
        const stored = await list();
        if (answer.statusCode === 409) t.strictSame(stored, before);
        else t.strictSame(stored.slice(0, 2), payload);
        before = stored;
      }
    },
  );
});
