/** Relations to many by keys of every kind, through tables of every kind, to columns of every kind. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { Type } from 'typebox';
import { computed, many, ModelViewSet, readShape, Router } from '../../src/index.ts';
import { forEachDatabase, SQL_DATABASES } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Place = defineEntity({
  name: 'Place',
  embeddable: true,
  properties: { city: p.string(), zip: p.string().nullable() },
});

/** The key is a bigint, which a number cannot hold. */
const Shelf = defineEntity({
  name: 'Shelf',
  properties: {
    key: p.bigint().primary(),
    label: p.string().unique(),
    boxes: () => p.oneToMany(Box).mappedBy('shelf'),
    labels: () => p.oneToMany(Label).mappedBy('shelfLabel'),
  },
});

/** The key is a UUID; a box may stand in another. */
const Box = defineEntity({
  name: 'Box',
  properties: {
    uuid: p.uuid().primary(),
    name: p.string(),
    weight: p.integer().nullable(),
    twice: p
      .integer()
      .nullable()
      .formula((columns) => `${columns['weight']} * 2`),
    place: () => p.embedded(Place).nullable(),
    shelf: () => p.manyToOne(Shelf).nullable(),
    outer: () => p.manyToOne(Box).nullable(),
    inner: () => p.oneToMany(Box).mappedBy('outer'),
    codes: () => p.manyToMany(Code).pivotEntity(() => Coding),
    next: () => p.manyToMany(Box),
    previous: () => p.manyToMany(Box).mappedBy('next'),
  },
});

/** The key is a text. */
const Code = defineEntity({
  name: 'Code',
  properties: { code: p.string().length(10).primary(), boxes: () => p.manyToMany(Box).mappedBy('codes') },
});

/** A table between with an entity of its own, whose key has two columns. */
const Coding = defineEntity({
  name: 'Coding',
  properties: {
    box: () => p.manyToOne(Box).primary(),
    code: () => p.manyToOne(Code).primary(),
    since: p.integer().default(1),
  },
});

/** Refers to a unique column that is no primary key. */
const Label = defineEntity({
  name: 'Label',
  properties: {
    id: p.integer().primary(),
    text: p.string(),
    shelfLabel: () => p.manyToOne(Shelf).targetKey('label').nullable(),
  },
});

const BIG = 9007199254740993n;
const FIRST = '00000000-0000-4000-8000-000000000001';
const SECOND = '00000000-0000-4000-8000-000000000002';
const THIRD = '00000000-0000-4000-8000-000000000003';

// MongoDB has no formulas, and no keys of two fields.
forEachDatabase(t, { entities: [Place, Shelf, Box, Code, Coding, Label], only: SQL_DATABASES }, async (t, orm) => {
  const em = orm.em.fork();
  const shelf = em.create(Shelf, { key: BIG, label: 'top' });
  em.create(Shelf, { key: BIG + 1n, label: 'next to it, as a number' });
  const [a, b] = ['a', "b'"].map((code) => em.create(Code, { code }));
  const first = em.create(Box, { uuid: FIRST, name: 'first', weight: 3, shelf, place: { city: 'Ulm', zip: null } });
  const second = em.create(Box, { uuid: SECOND, name: 'second', shelf, outer: first });
  const third = em.create(Box, { uuid: THIRD, name: 'third', weight: 1, outer: first });
  em.create(Label, { text: 'red', shelfLabel: shelf });
  await em.flush();
  em.create(Coding, { box: first, code: a! });
  em.create(Coding, { box: first, code: b! });
  em.create(Coding, { box: third, code: b! });
  first.next.add(second, third);
  await em.flush();

  class ShelfViewSet extends ModelViewSet(Shelf, {
    read: readShape(Shelf, ['label'], {
      keys: many('boxes'),
      boxes: many(
        readShape(Box, ['name', 'twice', 'place'], {
          city: 'place.city',
          heavy: computed(Type.Boolean(), ['weight'], ({ weight }) => (weight ?? 0) > 2),
        }),
        { orderBy: ['weight', '-name'] },
      ),
      cities: many('boxes.place.city', { orderBy: '-name' }),
      red: many('labels.text'),
      back: many('labels.shelfLabel.key'),
    }),
  }) {}
  class BoxViewSet extends ModelViewSet(Box, {
    read: readShape(Box, ['name'], {
      codes: many('codes.code', { orderBy: '-code' }),
      inner: many(readShape(Box, ['name'], { inner: many('inner.name'), codes: many('codes') })),
      next: many('next.name', { orderBy: 'name', limit: 1 }),
      previous: many('previous.name'),
      shelf: readShape(Shelf, ['label'], { boxes: many('boxes.name', { orderBy: '-name' }) }),
    }),
    ordering: ['name'],
    pagination: null,
  }) {}
  class CodeViewSet extends ModelViewSet(Code, {
    read: readShape(Code, ['code'], {
      boxes: many(readShape(Box, ['uuid', 'shelf']), { orderBy: '-shelf__label', limit: 1 }),
    }),
    pagination: null,
  }) {}
  class WrittenViewSet extends ModelViewSet(Shelf, {
    read: Type.Object({
      label: Type.String(),
      boxes: Type.Array(Type.Object({ name: Type.String(), codes: Type.Array(Type.String()) })),
    }),
    pagination: null,
  }) {}
  const router = new Router()
    .register('written', WrittenViewSet)
    .register('shelves', ShelfViewSet)
    .register('boxes', BoxViewSet);
  const app = await testApp(t, orm, [router.register('codes', CodeViewSet)]);
  const get = async (url: string): Promise<unknown> => (await app.inject(url)).json();

  t.test(
    'bigint keys are distinguished beyond the precision of numbers, and a key need not be in the shape',
    async (t) => {
      t.strictSame(await get('/shelves'), {
        count: 2,
        next: false,
        previous: false,
        results: [
          {
            label: 'top',
            keys: [FIRST, SECOND],
            boxes: [
              { name: 'first', twice: 6, place: { city: 'Ulm', zip: null }, city: 'Ulm', heavy: true },
              { name: 'second', twice: null, place: null, city: null, heavy: false },
            ],
            cities: [null, 'Ulm'],
            red: ['red'],
            back: [String(BIG)],
          },
          { label: 'next to it, as a number', keys: [], boxes: [], cities: [], red: [], back: [] },
        ],
      });
    },
  );

  t.test(
    'UUIDs and texts as keys, an entity between with a composite key, and relations of an entity to itself',
    async (t) => {
      const top = { label: 'top', boxes: ['second', 'first'] };
      t.strictSame(await get('/boxes'), [
        {
          name: 'first',
          codes: ["b'", 'a'],
          inner: [
            { name: 'second', inner: [], codes: [] },
            { name: 'third', inner: [], codes: ["b'"] },
          ],
          next: ['second'],
          previous: [],
          shelf: top,
        },
        { name: 'second', codes: [], inner: [], next: [], previous: ['first'], shelf: top },
        { name: 'third', codes: ["b'"], inner: [], next: [], previous: ['first'], shelf: null },
      ]);
      t.strictSame(await get('/codes'), [
        { code: 'a', boxes: [{ uuid: FIRST, shelf: String(BIG) }] },
        // NULL comes first in a descending order.
        { code: "b'", boxes: [{ uuid: THIRD, shelf: null }] },
      ]);
    },
  );

  t.test('a schema written by hand: arrays of objects and of keys', async (t) => {
    t.strictSame(await get('/written'), [
      {
        label: 'top',
        boxes: [
          { name: 'first', codes: ['a', "b'"] },
          { name: 'second', codes: [] },
        ],
      },
      { label: 'next to it, as a number', boxes: [] },
    ]);
  });
});
