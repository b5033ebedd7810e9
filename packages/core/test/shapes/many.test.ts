import { defineEntity, p } from '@mikro-orm/core';
import type { MikroORM } from '@mikro-orm/sqlite';
import t from 'tap';
import { Type } from 'typebox';
import { ModelViewSet, type OutputOf, Router } from '../../src/index.ts';
import { computed } from '../../src/shapes/read/read-field.ts';
import { many } from '../../src/shapes/read/many.ts';
import { readShape } from '../../src/shapes/read/read-shape.ts';
import { openSqlite } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Writer = defineEntity({
  name: 'Writer',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    agent: () => p.manyToOne(Writer).nullable(),
    clients: () => p.oneToMany(Writer).mappedBy('agent'),
    poems: () => p.oneToMany(Poem).mappedBy('writer'),
    secrets: () => p.oneToMany(Poem).mappedBy('writer').hidden(),
    pairs: () => p.oneToMany(Pair).mappedBy('writer'),
  },
});

const Poem = defineEntity({
  name: 'Poem',
  properties: {
    id: p.bigint().primary(),
    title: p.string(),
    draft: p.string().hidden().nullable(),
    notes: p.json<object>().nullable(),
    written: p.datetime().nullable(),
    writer: () => p.manyToOne(Writer),
    words: () => p.manyToMany(Word),
  },
});

const Word = defineEntity({
  name: 'Word',
  properties: { text: p.string().primary(), poems: () => p.manyToMany(Poem).mappedBy('words') },
});

/** A key of two columns. */
const Pair = defineEntity({
  name: 'Pair',
  properties: { writer: () => p.manyToOne(Writer).primary(), word: () => p.manyToOne(Word).primary() },
});

/** Compiles only where both types are the same. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
function same<A, B>(_same: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false): void {}

t.test('the types of arrays follow from the shapes and paths', async () => {
  const shape = readShape(Writer, ['id'], {
    poems: many(
      readShape(Poem, ['id', 'written'], {
        words: many('words'),
        loud: computed(Type.String(), ['title'], ({ title }) => title.toUpperCase()),
      }),
      { orderBy: ['-written', 'writer__name'], limit: 3 },
    ),
    titles: many('poems.title', { orderBy: '-title' }),
    dates: many('poems.written'),
    ids: many('poems'),
    agents: many('clients.agent.name'),
    best: many(readShape(Poem, ['title']), { from: 'poems', limit: 1 }),
    agent: readShape(Writer, ['name'], { clients: many(readShape(Writer, ['name'])) }),
  });
  same<
    OutputOf<typeof shape>,
    {
      id: number;
      poems: { id: string; written: string | null; words: string[]; loud: string }[];
      titles: string[];
      dates: (string | null)[];
      ids: string[];
      agents: (string | null)[];
      best: { title: string }[];
      agent: { name: string; clients: { name: string }[] } | null;
    }
  >(true);
});

t.test('a relation that is not to many, a shape of another entity and an invalid order do not compile', async (t) => {
  const poem = readShape(Poem, ['title']);
  const refused: [() => unknown, RegExp][] = [
    [
      () =>
        readShape(Writer, [], {
          // @ts-expect-error -- the name is no relation
          verses: many(poem),
        }),
      /Writer has no property "verses"/,
    ],
    [
      () =>
        readShape(Writer, [], {
          // @ts-expect-error -- the relation is to one
          agent: many(readShape(Writer, ['id'])),
        }),
      /Writer\.agent does not lead to many records; .* clients, poems/,
    ],
    [
      () =>
        readShape(Writer, [], {
          // @ts-expect-error -- the shape is of another entity
          poems: many(readShape(Word, ['text'])),
        }),
      /many\(\) of Poem takes a readShape\(\) of it, got one of Word/,
    ],
    [
      () =>
        readShape(Writer, [], {
          // @ts-expect-error -- no relation either
          best: many(poem, { from: 'poem' }),
        }),
      /"poem" names no field: .* did you mean "poems"\?/,
    ],
    [
      () =>
        readShape(Writer, [], {
          // @ts-expect-error -- the relation of `from` has another entity
          best: many(poem, { from: 'clients' }),
        }),
      /many\(\) of Writer takes a readShape\(\) of it, got one of Poem/,
    ],
    [
      () =>
        readShape(Writer, [], {
          // @ts-expect-error -- the path does not begin with a relation to many
          names: many('agent.name'),
        }),
      /Writer\.agent does not lead to many records/,
    ],
    [
      () =>
        readShape(Writer, [], {
          // @ts-expect-error -- no field of the related entity
          names: many('poems.titel'),
        }),
      /did you mean "title"\?/,
    ],
    [
      () =>
        readShape(Writer, [], {
          // @ts-expect-error -- many values of each related record
          words: many('poems.words.text'),
        }),
      /Poem\.words\.text leads to many records/,
    ],
    [
      () =>
        readShape(Writer, [], {
          // @ts-expect-error -- the path names the relation
          names: many('poems.title', { from: 'poems' }),
        }),
      /"from" must be left out beside a path/,
    ],
    [
      () => readShape(Writer, [], { pairs: many('pairs') }),
      /many\(\) of Pair: its primary key is not one column; name a/,
    ],
    // @ts-expect-error -- a relation to many has no value
    [() => readShape(Writer, ['poems']), /Writer\.poems leads to many records/],
    // @ts-expect-error -- not a number
    [() => many(poem, { limit: '3' }), /"limit" must be a positive integer, got "3"/],
    [() => many(poem, { limit: 0 }), /"limit" must be a positive integer, got 0/],
    // @ts-expect-error -- no name
    [() => many(poem, { orderBy: 5 }), /"orderBy" must be a name or a list of names, got 5/],
    // @ts-expect-error -- no such option
    [() => many(poem, { order: 'title' }), /unknown option "order"/],
    // @ts-expect-error -- neither a shape nor a path
    [() => many(5), /"source" must be a readShape\(\) of the related records or a path, first, got 5/],
  ];
  for (const [make, message] of refused) t.throws(make, message);
});

t.test('errors that need the metadata are found when the view is registered', async (t) => {
  const orm: MikroORM = (await openSqlite(t, { entities: [Writer, Poem, Word, Pair] })) as MikroORM;
  const poem = readShape(Poem, ['title']);
  const refused = [
    // @ts-expect-error -- misspelt
    [readShape(Writer, [], { poems: many(poem, { orderBy: 'titel' }) }), /"titel" names no field/],
    // @ts-expect-error -- an order by many values
    [readShape(Writer, [], { poems: many(poem, { orderBy: 'words__text' }) }), /cannot be ordered by "words.text"/],
    [
      readShape(Writer, [], { poems: many(poem, { orderBy: 'notes' }) }),
      /cannot be ordered by "notes": it is of type json/,
    ],
    [readShape(Writer, [], { secrets: many(poem) }), /"secrets" is declared hidden/],
    // @ts-expect-error -- a column that is declared hidden
    [readShape(Writer, [], { drafts: many('poems.draft') }), /"draft" is declared hidden/],
    [
      readShape(Writer, [], { pairs: many('pairs.word') }),
      /Writer\.pairs cannot be shown: the primary key of Pair is not one column/,
    ],
    [
      Type.Object({ poems: Type.String() }),
      /Writer\.poems leads to many records: its schema must be a Type\.Array\(\)/,
    ],
    [Type.Object({ poems: Type.Array(Type.Integer()) }), /"id" is a string in JSON, but its schema says integer/],
  ] as const;
  for (const [read, message] of refused) {
    class WriterViewSet extends ModelViewSet(Writer, { read: read as never }) {}
    await t.rejects(testApp(t, orm, [new Router().register('writers', WriterViewSet)]), message);
  }
});

t.test('a schema written by hand has the names of the entity, including relations to many', async () => {
  ModelViewSet(Writer, { read: Type.Object({ name: Type.String(), poems: Type.Array(Type.String()) }) });
  // @ts-expect-error -- no property of the entity
  ModelViewSet(Writer, { read: Type.Object({ verses: Type.Array(Type.String()) }) });
  // @ts-expect-error -- no body holds one without a write shape
  ModelViewSet(Writer, { read: readShape(Writer, ['id']), write: Type.Object({ poems: Type.Array(Type.String()) }) });
});

t.test('children that were not loaded are an error, not an empty list', async (t) => {
  const orm = await openSqlite(t, { entities: [Writer, Poem, Word, Pair] });
  const em = orm.em.fork();
  const writer = em.create(Writer, { name: 'Ada' });
  await em.flush();
  const shape = readShape(Writer, ['name'], { poems: many('poems.title') });
  const projection = shape.bind(orm.getMetadata().get(Writer), orm.em.getPlatform());
  t.throws(
    () => projection.readEntity(writer),
    /"poems" cannot be read from the entity: .* await the view's loadRelated\(\) first/,
  );
});

t.test('a shape as the second argument fails with its correct place', (t) => {
  const shape = readShape(Poem, ['id']);
  t.throws(() => (many as (...given: unknown[]) => unknown)('poems', shape), {
    message:
      'many(): the readShape() must be the first argument: many(shape); the relation "poems" is the field\'s name, or the option "from"',
  });
  t.throws(() => (many as (...given: unknown[]) => unknown)(shape, shape), {
    message: 'many(): the readShape() must be the first argument: many(shape)',
  });
  t.end();
});
