/** The lookups of columns that hold lists, compared with a model in JavaScript by random values. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, QuerySet, readShape, Router } from '../../src/index.ts';
import { errorAtStart, testApp } from '../support/library.ts';
import { forEachDatabase, openSqlite } from '../support/databases.ts';

const Box = defineEntity({
  name: 'Box',
  properties: {
    id: p.integer().primary(),
    labels: p.array(),
    notes: () => p.oneToMany(Note).mappedBy('box'),
  },
});
const KINDS = ['red', 'green', 'a,b', 'x"y'] as const;
const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary(),
    tags: p.array().nullable(),
    sizes: p.integer().array().nullable(),
    heats: p.array((text) => Number(text)),
    keys: p.bigint().array(),
    kinds: p.enum(KINDS).array(),
    data: p.json<unknown>().nullable(),
    box: () => p.manyToOne(Box),
  },
});
type NoteOf = InferEntity<typeof Note>;
type ListName = 'tags' | 'sizes' | 'heats' | 'keys' | 'kinds';

class NoteViewSet extends ModelViewSet(Note, {
  read: readShape(Note, ['id']),
  pagination: null,
  filterFields: {
    tags: 'tags__contains',
    any_tag: 'tags__overlaps',
    sizes: 'sizes__contains',
    any_size: 'sizes__overlaps',
    heats: 'heats__contains',
    any_heat: 'heats__overlaps',
    keys: 'keys__contains',
    any_key: 'keys__overlaps',
    kinds: 'kinds__contains',
    any_kind: 'kinds__overlaps',
    untagged: 'tags__isnull',
    labels: 'box__labels__contains',
  },
  jsonLogicFields: ['tags', 'sizes', 'kinds', 'box.labels'],
}) {}
class BoxViewSet extends ModelViewSet(Box, {
  read: readShape(Box, ['id']),
  pagination: null,
  filterFields: { tags: 'notes__tags__contains', any_tag: 'notes__tags__overlaps' },
}) {}

const PARTS = [
  ',',
  '"',
  '\\',
  ' ',
  "'",
  'a',
  'b',
  '{',
  '}',
  '[',
  ']',
  '%',
  '_',
  'é',
  '😀',
  '\n',
  '\t',
  'null',
  'NULL',
  ';',
  '\\u002c',
];
const random = (below: number): number => Math.floor(Math.random() * below);
const some = <Item>(items: readonly Item[]): Item => items[random(items.length)]!;
const textOf = (): string => Array.from({ length: random(4) }, () => some(PARTS)).join('');
const listOf = <Item>(make: () => Item): Item[] => Array.from({ length: random(4) }, make);

const TEXTS = ['', 'a', 'b', 'a,b', ',', '"', 'a,b,a', '"a"', 'x,a,y', ...Array.from({ length: 20 }, textOf)];
const VALUES = {
  tags: TEXTS,
  sizes: [0, -1, 1, 12, 2_147_483_647],
  heats: [0, 1.5, -2, 1e21, 0.1],
  keys: [0n, 1n, 9_007_199_254_740_993n],
  kinds: KINDS,
} as const;

/** The records whose list has all of some values, or any. NULL has none. */
function expected(notes: readonly NoteOf[], name: ListName, lookup: string, asked: readonly unknown[]): number[] {
  const holds = (list: readonly unknown[]): boolean =>
    lookup === 'contains' ? asked.every((value) => list.includes(value)) : asked.some((value) => list.includes(value));
  return notes.flatMap((note) => {
    const list = note[name] as readonly unknown[] | null;
    return list !== null && holds(list) ? [note.id] : [];
  });
}

forEachDatabase(t, { entities: [Box, Note], onLibSql: true }, async (t, orm) => {
  // Before any list is stored: the library replaces how MikroORM writes them.
  const app = await testApp(t, orm, [new Router().register('notes', NoteViewSet).register('boxes', BoxViewSet)]);
  const em = orm.em.fork();
  for (let id = 1; id <= 5; id++) em.create(Box, { id, labels: listOf(() => some(TEXTS)) });
  const notes: NoteOf[] = Array.from({ length: 120 }, (_, index) => {
    const pick = <Name extends ListName>(name: Name): (typeof VALUES)[Name][number][] =>
      listOf(() => some<(typeof VALUES)[Name][number]>(VALUES[name] as never));
    return em.create(Note, {
      id: index + 1,
      tags: index % 10 === 0 ? null : pick('tags'),
      sizes: index % 7 === 0 ? null : pick('sizes'),
      heats: pick('heats'),
      keys: pick('keys'),
      kinds: pick('kinds'),
      data: null,
      box: em.getReference(Box, 1 + (index % 5)),
    });
  });
  await em.flush();
  const idsOf = async (url: string): Promise<number[]> => {
    const answer = await app.inject(url);
    t.equal(answer.statusCode, 200, `${url} ${answer.body}`);
    return answer.json<{ id: number }[]>().map(({ id }) => id);
  };
  const encoded = (values: readonly unknown[]): string =>
    values.map((value) => encodeURIComponent(String(value))).join(',');
  const allIds = notes.map(({ id }) => id);
  const PARAMETERS = {
    tags: ['tags', 'any_tag'],
    sizes: ['sizes', 'any_size'],
    heats: ['heats', 'any_heat'],
    keys: ['keys', 'any_key'],
    kinds: ['kinds', 'any_kind'],
  } as const;

  await t.test('contains and overlaps find the same records as a model in JavaScript', async (t) => {
    const all = QuerySet.of(orm.em.fork(), Note);
    for (const name of Object.keys(VALUES) as ListName[]) {
      for (const lookup of ['contains', 'overlaps'] as const) {
        for (let count = 0; count < 25; count++) {
          const asked = listOf(() => some<unknown>(VALUES[name]));
          const found = await all.filter({ [`${name}__${lookup}`]: asked }).entities();
          const ids = expected(notes, name, lookup, asked);
          const what = `${name} ${lookup} ${asked.map(String).join(' | ')}`;
          t.strictSame(
            found.map(({ id }) => id),
            ids,
            what,
          );
          const others = await all.exclude({ [`${name}__${lookup}`]: asked }).count();
          t.equal(others, notes.length - ids.length, `all but those of ${what}`);
          // In a query string an empty text counts as absent.
          const parameter = PARAMETERS[name][lookup === 'contains' ? 0 : 1];
          const query = encoded(asked) === '' ? '' : `${parameter}=${encoded(asked)}`;
          t.strictSame(await idsOf(`/notes?${query}`), query === '' ? allIds : ids, what);
        }
      }
    }
  });

  await t.test('JSON Logic compares with one element, and with several by "and" and "or"', async (t) => {
    const ask = (rule: object): Promise<number[]> => idsOf(`/notes?filter=${encodeURIComponent(JSON.stringify(rule))}`);
    for (const name of ['tags', 'sizes', 'kinds'] as const) {
      const field = { var: name };
      for (let count = 0; count < 15; count++) {
        const asked = [some<unknown>(VALUES[name]), some<unknown>(VALUES[name])];
        const rules = asked.map((value) => ({ in: [value, field] }));
        t.strictSame(await ask({ and: rules }), expected(notes, name, 'contains', asked));
        t.strictSame(await ask({ or: rules }), expected(notes, name, 'overlaps', asked));
        const without = notes.filter(({ id }) => !expected(notes, name, 'overlaps', asked).includes(id));
        t.strictSame(
          await ask({ '!': { or: rules } }),
          without.map(({ id }) => id),
        );
      }
    }
    t.strictSame(
      await ask({ '==': [{ var: 'tags' }, null] }),
      notes.filter(({ tags }) => tags === null).map(({ id }) => id),
    );
    for (const rule of [
      { in: [1, { var: 'tags' }] },
      { in: ['a', { var: 'sizes' }] },
      { in: ['blue', { var: 'kinds' }] },
      { in: [null, { var: 'tags' }] },
      { in: [['a'], { var: 'tags' }] },
      { in: [{ var: 'tags' }, ['a']] },
      { '==': [{ var: 'tags' }, 'a'] },
    ]) {
      const answer = await app.inject(`/notes?filter=${encodeURIComponent(JSON.stringify(rule))}`);
      t.equal(answer.statusCode, 400, JSON.stringify(rule));
    }
  });

  await t.test('through relations to one and to many', async (t) => {
    const boxes = await orm.em.fork().find(Box, {}, { orderBy: { id: 1 } });
    for (const text of TEXTS) {
      if (text === '') continue;
      const parameter = encodeURIComponent(text);
      const owners = new Set(boxes.filter(({ labels }) => labels.includes(text)).map(({ id }) => id));
      t.strictSame(
        await idsOf(`/notes?labels=${parameter}`),
        notes.filter(({ box }) => owners.has(box.id)).map(({ id }) => id),
        text,
      );
      const holding = notes.filter(({ tags }) => tags?.includes(text)).map(({ box }) => box.id);
      t.strictSame(
        await idsOf(`/boxes?tags=${parameter}`),
        [...new Set(holding)].toSorted((a, b) => a - b),
        text,
      );
    }
  });

  await t.test('a value that no element can have returns 400 or matches no record', async (t) => {
    for (const query of [
      'sizes=x',
      'sizes=1,,2',
      'any_size=1.5',
      'kinds=blue',
      'keys=1e3',
      'heats=NaN',
      'tags=a&tags=b',
    ]) {
      t.equal((await app.inject(`/notes?${query}`)).statusCode, 400, query);
    }
    const all = QuerySet.of(orm.em.fork(), Note);
    t.equal(await all.filter({ sizes__contains: [1, 2 ** 40] }).count(), 0, 'no element is so large');
    t.equal(
      await all.filter({ sizes__overlaps: [1, 2 ** 40] }).count(),
      expected(notes, 'sizes', 'overlaps', [1]).length,
    );
    for (const value of ['a', null, ['a', null], [1], undefined]) {
      t.throws(() => all.filter({ tags__contains: value as never }), String(value));
    }
  });

  await t.test('conditions of MikroORM with $contains and $overlap', async (t) => {
    const all = QuerySet.of(orm.em.fork(), Note);
    for (let count = 0; count < 20; count++) {
      const asked = [some(TEXTS), some(TEXTS)];
      for (const [operator, lookup] of [
        ['$contains', 'contains'],
        ['$overlap', 'overlaps'],
      ] as const) {
        const found = await all.matching({ tags: { [operator]: asked } }).entities();
        t.strictSame(
          found.map(({ id }) => id),
          expected(notes, 'tags', lookup, asked),
        );
        const others = await all.matching({ $not: { tags: { [operator]: asked } } }).count();
        const tagged = notes.filter(({ tags }) => tags !== null).length;
        t.equal(others, tagged - found.length, 'NULL matches neither a condition nor its opposite');
        const boxes = await QuerySet.of(orm.em.fork(), Box)
          .matching({ notes: { tags: { [operator]: asked } } })
          .count();
        const holding = expected(notes, 'tags', lookup, asked).map((id) => 1 + ((id - 1) % 5));
        t.equal(boxes, new Set(holding).size);
      }
    }
  });

  await t.test('the document has the elements and the meaning', async (t) => {
    const list = app.viewset.operations.find(({ action, view }) => action === 'list' && view.name === 'NoteViewSet')!;
    const schemaOf = (name: string): object => list.queryParameters.find((each) => each.name === name)!.schema;
    t.strictSame(schemaOf('tags'), {
      type: 'array',
      items: { type: 'string' },
      description: 'Tags, contains all of these',
    });
    t.match(schemaOf('any_size'), { items: { type: 'integer' }, description: 'Sizes, contains any of these' });
    t.match(schemaOf('kinds'), { items: { enum: [...KINDS] } });
    t.match(schemaOf('untagged'), { type: 'boolean' });
  });
});

t.test('a list has no other lookups, and other JSON columns have none of these', async (t) => {
  const message = async (lookup: string): Promise<string | undefined> =>
    errorAtStart(
      t,
      await openSqlite(t, { entities: [Box, Note] }),
      class extends ModelViewSet(Note, {
        read: readShape(Note, ['id']),
        filterFields: { x: lookup as 'tags__isnull' },
      }) {},
    );
  t.match(await message('tags__exact'), /which has no "exact"; it has: contains, overlaps, isnull/);
  t.match(await message('data__contains'), /is of type json, which has no "contains"; it has: isnull/);
});

/** What must compile, and what must not: tsc is the test. */
export const typed = (all: QuerySet<NoteOf>): unknown => [
  all.filter({ tags__contains: ['a'], sizes__overlaps: [1] as const, kinds__contains: ['red'], tags__isnull: true }),
  // @ts-expect-error an element of another type
  all.filter({ sizes__contains: ['a'] }),
  // @ts-expect-error a list is compared with a list
  all.filter({ tags__contains: 'a' }),
  // @ts-expect-error no enum value
  all.filter({ kinds__overlaps: ['blue'] }),
  // @ts-expect-error a list has no order
  all.filter({ tags__gt: ['a'] }),
  // @ts-expect-error a text overlaps nothing
  QuerySet.of(all.em, Box).filter({ id__overlaps: [1] }),
];
