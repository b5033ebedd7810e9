/** Columns that hold a list of values: `p.array()`, arrays of an enum, arrays of other types. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, QuerySet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Basket = defineEntity({
  name: 'Basket',
  properties: {
    id: p.integer().primary(),
    words: p.array().nullable(),
    marks: p.array((text) => Number(text)).nullable(),
    colors: p.enum(['red', 'null', 'NULL', 'a,b']).array().nullable(),
    names: p.string().length(3).array().nullable(),
    counts: p.integer().array().nullable(),
    flags: p.boolean().array().nullable(),
    serials: p.uuid().array().nullable(),
    moments: p.datetime(3).array().nullable(),
    totals: p.bigint().array().nullable(),
  },
});
const FIELDS = ['words', 'marks', 'colors', 'names', 'counts', 'flags', 'serials', 'moments', 'totals'] as const;

class BasketViewSet extends ModelViewSet(Basket, {
  read: readShape(Basket, ['id', ...FIELDS]),
  write: writeShape(Basket, [...FIELDS]),
}) {}

const LOST = [
  'null',
  'NULL',
  '',
  ' lead',
  'trail ',
  '  ',
  'a,\nb',
  '"\t"',
  '\u0001',
  '\\',
  '"',
  "'",
  '{}',
  '{"a"}',
  '[1:1]={x}',
];

forEachDatabase(t, { entities: [Basket] }, async (t, orm, database) => {
  const app = await testApp(t, orm, [new Router().register('baskets', BasketViewSet)]);
  const post = (payload: object) => app.inject({ method: 'POST', url: '/baskets', payload });

  t.test('every text of a list is stored as it was sent', async (t) => {
    for (const words of [[], LOST, ...LOST.map((word) => [word])]) {
      const created = await post({ words });
      t.strictSame(created.json().words, words, created.body);
      const url = `/baskets/${created.json().id}`;
      await app.inject({ method: 'PATCH', url, payload: { words: ['x'] } });
      const patched = await app.inject({ method: 'PATCH', url, payload: { words } });
      t.strictSame(patched.json().words, words, patched.body);
    }
  });

  t.test('a program stores and finds the same lists', async (t) => {
    const em = orm.em.fork();
    const basket = em.create(Basket, { words: LOST });
    await em.flush();
    const again = await orm.em.fork().findOneOrFail(Basket, { id: basket.id });
    t.strictSame(again.words, LOST);
    again.words = ['null'];
    await orm.em.fork().nativeUpdate(Basket, { id: basket.id }, { words: again.words });
    t.strictSame((await orm.em.fork().findOneOrFail(Basket, { id: basket.id })).words, ['null']);
    if (database !== 'postgresql') return;
    for (const [words, count] of [
      [['null'], 1],
      [[' null'], 0],
    ] as const) {
      const found = QuerySet.of(orm.em.fork(), Basket).matching({ id: basket.id, words: { $contains: [...words] } });
      t.equal(await found.count(), count, words[0]);
    }
  });

  t.test('an element of another type returns 400 with its path', async (t) => {
    const wrong: readonly (readonly [field: string, value: unknown, path: string])[] = [
      ['words', ['a', 5], '/words/1'],
      ['words', [null], '/words/0'],
      ['words', 'a', '/words'],
      ['marks', ['x'], '/marks/0'],
      ['marks', [1, '5'], '/marks/1'],
      ['colors', ['red', 'blue'], '/colors/1'],
      ['names', ['abc', 'abcd'], '/names/1'],
      ['counts', [1.5], '/counts/0'],
      ['counts', [2 ** 31], '/counts/0'],
      ['flags', ['true'], '/flags/0'],
      ['serials', ['x'], '/serials/0'],
      ['moments', ['2026-02-30T00:00:00Z'], '/moments/0'],
      ['totals', ['9223372036854775808'], '/totals/0'],
    ];
    for (const [field, value, path] of wrong) {
      const { statusCode, body } = await post({ [field]: value });
      t.equal(statusCode, 400, `${field} ${body}`);
      t.strictSame(
        (JSON.parse(body) as { details: { path: string }[] }).details.map((detail) => detail.path),
        [path],
        body,
      );
    }
  });

  t.test('a NULL in a list that a program stored is null', { skip: database === 'sqlite' }, async (t) => {
    const em = orm.em.fork();
    const basket = em.create(Basket, { words: ['a', null], marks: [1, null], flags: [null] } as never);
    await em.flush();
    const { words, marks, flags } = (await app.inject(`/baskets/${basket.id}`)).json();
    t.strictSame({ words, marks, flags }, { words: ['a', null], marks: [1, null], flags: [null] });
  });
});

t.test('the schema of a list has the type of its elements', async (t) => {
  const { properties } = writeShape(Basket, [...FIELDS]).schema;
  const items = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, (schema as { items?: unknown }).items]),
  );
  t.match(items, {
    words: { type: 'string' },
    marks: { type: 'number' },
    colors: { type: 'string', enum: ['red', 'null', 'NULL', 'a,b'] },
    names: { type: 'string', maxLength: 3 },
    counts: { type: 'integer', maximum: 2 ** 31 - 1 },
    flags: { type: 'boolean' },
    serials: { type: 'string', format: 'uuid' },
    moments: { type: 'string', format: 'date-time' },
    totals: { type: 'string' },
  });
});
