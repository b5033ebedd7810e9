import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { Type, type TObject } from 'typebox';
import { computed } from '../../src/shapes/read/read-field.ts';
import { count, exists } from '../../src/shapes/read/related-value.ts';
import { readShape, toReadShape, type ReadShape } from '../../src/shapes/read/read-shape.ts';
import { field } from '../../src/shapes/write/renamed-field.ts';
import type { ResolvedData, SentBody, UpdateBody, WritableSchema } from '../../src/shapes/write/write-input.ts';
import { toWriteShape, writeShape, type WriteShape } from '../../src/shapes/write/write-shape.ts';
import { nested, refs } from '../../src/shapes/write/to-many-input.ts';
import { ModelViewSet } from '../../src/view/model-viewset.ts';
import { Author, Book, Chapter } from '../support/shelves.ts';
import { Country, Maker, Specimen } from './specimens.ts';

type Specimen = InferEntity<typeof Specimen>;
type OutputOf<Shape> = Shape extends ReadShape<infer _Entity, infer Output> ? Output : never;
type InputOf<Shape> = Shape extends WriteShape<infer _Entity, infer Input> ? Input : never;

/** Compiles only where both types are the same. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
function same<A, B>(_same: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false): void {}

t.test('the type of the output of a read shape is inferred', async () => {
  const shape = readShape(
    Specimen,
    [
      'id',
      'name',
      'big',
      'bigNumber',
      'price',
      'exact',
      'flag',
      'at',
      'createdAt',
      'day',
      'uuid',
      'bytes',
      'list',
      'kind',
      'level',
      'country',
      'lazyText',
      'point',
    ],
    {
      role: 'maker.name',
      deep: 'maker.country.code',
      label: computed(Type.String(), ['name'], (record) => record.name),
      maker: readShape(Maker, ['id', 'motto']),
      makerId: 'maker',
    },
  );
  same<
    OutputOf<typeof shape>,
    {
      id: number;
      name: string;
      big: string | null;
      bigNumber: number | null;
      price: number | null;
      exact: string | null;
      flag: boolean;
      at: string | null;
      createdAt: string;
      day: string | null;
      uuid: string | null;
      bytes: string | null;
      list: string[] | null;
      kind: 'small' | 'large' | null;
      level: 1 | 2 | null;
      country: string | null;
      lazyText: string | null;
      point: { x: number; y: number } | null;
      role: string | null;
      deep: string | null;
      label: string;
      maker: { id: number; motto: string | null } | null;
      makerId: number | null;
    }
  >(true);
  const nested = readShape(Specimen, [], { maker: readShape(Maker, ['id']) });
  same<OutputOf<typeof nested>, { maker: { id: number } | null }>(true);
  const byHand = toReadShape(Maker, Type.Object({ id: Type.Integer(), name: Type.Optional(Type.String()) }));
  same<OutputOf<typeof byHand>, { id: number; name?: string }>(true);
});

t.test('a computed field sees the fields it names, as the entity holds them, and no others', async () => {
  readShape(Specimen, [], {
    label: computed(Type.Number(), ['at', 'big', 'maker.name', 'maker', 'lazyText'], (record) => {
      same<typeof record.at, Date | null>(true);
      same<typeof record.big, bigint | null>(true);
      same<(typeof record)['maker.name'], string | null>(true);
      same<typeof record.maker, number | null>(true);
      same<typeof record.lazyText, string | null>(true);
      // @ts-expect-error -- not named
      void record.name;
      return 1;
    }),
    // @ts-expect-error -- returns another type than its schema
    wrong: computed(Type.String(), ['name'], () => 5),
    // @ts-expect-error -- must be synchronous
    late: computed(Type.String(), ['name'], async () => 'x'),
  });
});

t.test('the type of the input of a write shape is inferred', async () => {
  const shape = writeShape(Specimen, ['name', 'count', 'flag', 'at', 'big', 'createdAt', 'text'], {
    maker: 'maker.name',
    price: Type.Number({ exclusiveMinimum: 0 }),
    kind: Type.Optional(Type.Literal('small')),
  });
  same<
    InputOf<typeof shape>,
    {
      name: string;
      maker?: string | null;
      price: number;
      kind?: 'small';
      count?: number;
      flag?: boolean;
      at?: string | null;
      big?: string | null;
      createdAt?: string;
      text?: string | null;
    }
  >(true);
  const forced = writeShape(
    Specimen,
    ['name', 'flag'],
    { maker: 'maker.name' },
    { required: ['flag', 'maker'], optional: ['name'] },
  );
  same<InputOf<typeof forced>, { flag: boolean; maker: string | null; name?: string }>(true);
  const keyed = writeShape(Maker, ['id', 'name']);
  same<InputOf<typeof keyed>, { id?: number; name: string }>(true);
  const country = writeShape(Country, ['code', 'name']);
  same<InputOf<typeof country>, { code: string; name: string }>(true);
  const byHand = toWriteShape(Specimen, Type.Object({ name: Type.String() }));
  same<InputOf<typeof byHand>, { name: string }>(true);
});

t.test("the type of a hook's data is that of the entity", async () => {
  type Data = ResolvedData<
    Specimen,
    { name: string; at?: string | null; big?: string | null; maker?: string | null; count?: number }
  >;
  same<Data['name'], string>(true);
  same<Data['at'], Date | null | undefined>(true);
  same<Data['big'], bigint | null | undefined>(true);
  same<Data['count'], number | undefined>(true);
  same<NonNullable<Data['maker']>, InferEntity<typeof Maker>>(true);
});

t.test('a name that does not exist does not compile', async (t) => {
  // @ts-expect-error -- misspelt
  t.throws(() => readShape(Specimen, ['nmae']));
  // @ts-expect-error -- misspelt
  t.throws(() => readShape(Specimen, ['id'], { maker: 'maker.nmae' }));
  // @ts-expect-error -- not a relation
  t.throws(() => readShape(Specimen, ['id'], { maker: 'name.id' }));
  // @ts-expect-error -- misspelt
  t.throws(() => readShape(Specimen, ['id'], { label: computed(Type.String(), ['nmae'], () => '') }));
  // @ts-expect-error -- misspelt
  t.throws(() => writeShape(Specimen, ['nmae']));
  // @ts-expect-error -- misspelt
  t.throws(() => writeShape(Specimen, ['name'], { prcie: Type.Number() }));
  // @ts-expect-error -- misspelt
  t.throws(() => writeShape(Specimen, ['name'], { maker: 'maker.nmae' }));
  // @ts-expect-error -- another relation
  t.throws(() => writeShape(Specimen, ['name'], { maker: 'country.name' }));
  // @ts-expect-error -- not in the shape
  t.throws(() => writeShape(Specimen, ['name'], {}, { required: ['flag'] }));
  // @ts-expect-error -- misspelt
  toWriteShape(Specimen, Type.Object({ nmae: Type.String() }));
});

t.test('the schema of a column decides the type in a read shape', async (t) => {
  const shape = readShape(Specimen, ['id'], {
    json: Type.Object({ a: Type.String() }),
    list: Type.Array(Type.Integer()),
    name: Type.String({ description: 'As in the catalogue' }),
    point: Type.Object({ x: Type.Number() }),
    exact: Type.String(),
  });
  same<
    OutputOf<typeof shape>,
    {
      id: number;
      json: { a: string } | null;
      list: number[] | null;
      name: string;
      point: { x: number } | null;
      exact: string | null;
    }
  >(true);
  const inside = readShape(Specimen, [], { json: Type.Union([Type.Array(Type.String()), Type.Null()]) });
  type Inside = OutputOf<typeof inside>;
  same<[Inside] extends [{ json: string[] | null }] ? true : false, true>(true);
  same<[{ json: string[] | null }] extends [Inside] ? true : false, true>(true);
  // @ts-expect-error -- a text
  readShape(Specimen, ['id'], { name: Type.Integer() });
  // @ts-expect-error -- a time is a text in JSON
  readShape(Specimen, ['id'], { at: Type.Integer() });
  // @ts-expect-error -- kept as a text
  readShape(Specimen, ['id'], { exact: Type.Number() });
  // @ts-expect-error -- hidden
  readShape(Specimen, ['id'], { secret: Type.String() });
  // @ts-expect-error -- a relation
  t.throws(() => readShape(Specimen, ['id'], { maker: Type.Integer() }));
});

t.test('a shape of another entity, a hidden column and a schema of another kind do not compile', async (t) => {
  // @ts-expect-error -- a maker is no country
  readShape(Specimen, ['id'], { maker: readShape(Country, ['name']) });
  // @ts-expect-error -- nothing is nested in a text
  readShape(Specimen, ['id'], { name: readShape(Maker, ['id']) });
  // @ts-expect-error -- hidden
  readShape(Specimen, ['id', 'secret']);
  // @ts-expect-error -- hidden
  readShape(Specimen, ['id'], { shown: 'secret' });
  readShape(Specimen, ['id'], { knows: computed(Type.Boolean(), ['secret'], (record) => record.secret !== null) });
  // @ts-expect-error -- a number
  t.throws(() => writeShape(Specimen, ['name'], { count: Type.String() }));
  // @ts-expect-error -- a time is a text in JSON
  t.throws(() => writeShape(Specimen, ['name'], { at: Type.Optional(Type.Integer()) }) && Type.Never());
  // @ts-expect-error -- a boolean
  t.throws(() => writeShape(Specimen, ['name'], { flag: Type.Literal('yes') }));
  // @ts-expect-error -- the key of a maker is a number
  t.throws(() => writeShape(Specimen, ['name'], { maker: Type.Boolean() }));
  writeShape(Specimen, ['name'], {
    exact: Type.Number(),
    big: Type.Integer(),
    bigNumber: Type.Refine(Type.Integer(), (value) => value > 0),
    flag: Type.Unsafe<boolean>({ type: 'boolean' }),
    count: Type.Union([Type.Literal(1), Type.Literal(2)]),
    json: Type.Object({ a: Type.String() }),
    point: Type.Object({ x: Type.Number(), y: Type.Number() }),
    list: Type.Array(Type.String()),
    kind: Type.Enum(['small', 'large']),
    at: Type.String({ format: 'date-time' }),
  });
});

t.test('a schema written by hand can be held to an entity where it is handed over', async () => {
  function take<Schema extends TObject>(_schema: Schema & WritableSchema<Specimen, Schema>): void {}
  take(Type.Object({ name: Type.String(), maker: Type.Integer() }));
  // @ts-expect-error -- misspelt
  take(Type.Object({ name: Type.String(), prcie: Type.Number() }));
  take(Type.Object({ name: Type.String() }) as TObject);
});

t.test('the type of the input of a write shape with relations to many is inferred', async () => {
  const chapter = writeShape(Chapter, ['heading'], { tags: refs('tags.name') });
  const book = writeShape(Book, ['title', 'tags'], { chapters: nested(chapter) });
  same<InputOf<typeof book>, { title: string; tags?: number[]; chapters?: { heading: string; tags?: string[] }[] }>(
    true,
  );
  const author = writeShape(
    Author,
    [],
    { books: nested(writeShape(Book, ['title']), { update: true }) },
    { required: ['books'] },
  );
  same<InputOf<typeof author>, { books: ({ title: string } | { id: number; title?: string })[] }>(true);
  type Data = ResolvedData<InferEntity<typeof Book>, InputOf<typeof book>>;
  same<NonNullable<Data['tags']>[number]['name'], string>(true);
  same<NonNullable<NonNullable<Data['chapters']>[number]['tags']>[number]['owner'], string | null | undefined>(true);
  // @ts-expect-error -- a misspelt field of the related entity
  t.throws(() => writeShape(Book, [], { tags: refs('tags.nmae') }));
  // @ts-expect-error -- another relation
  t.throws(() => writeShape(Book, [], { tags: refs('chapters') }));
  // @ts-expect-error -- a shape of another entity
  t.throws(() => writeShape(Author, ['name'], { books: nested(chapter) }));
  // @ts-expect-error -- no relation to many
  t.throws(() => writeShape(Book, [], { author: refs('author') }));
});

/** An account with a profile, which refers to the account, and an address, which the account refers to. */
const Account = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    profile: () => p.oneToOne(Profile).mappedBy('account').nullable(),
    address: () => p.oneToOne(Address).owner(),
  },
});
const Profile = defineEntity({
  name: 'Profile',
  properties: {
    id: p.integer().primary(),
    bio: p.string(),
    account: () => p.oneToOne(Account).owner(),
    makers: () => p.manyToMany(Maker),
  },
});
const Address = defineEntity({
  name: 'Address',
  properties: { id: p.bigint('string').primary(), city: p.string(), street: p.string().nullable() },
});

t.test('the types of one nested record are inferred for each method', async () => {
  const profile = writeShape(Profile, ['bio', 'makers']);
  const write = writeShape(Account, ['name'], {
    profile: nested(profile, { update: true }),
    home: field('address', nested(writeShape(Address, ['city', 'street']))),
  });
  type Sent = InputOf<typeof write>;
  same<
    SentBody<Sent>,
    {
      name: string;
      profile?: { bio: string; makers?: number[] } | null;
      home: { city: string; street?: string | null };
    }
  >(true);
  same<
    SentBody<UpdateBody<Sent, 'replace'>>['profile'],
    { bio: string; makers?: number[]; id?: number } | null | undefined
  >(true);
  same<
    SentBody<UpdateBody<Sent, 'change'>>,
    {
      name?: string;
      profile?: { bio?: string; makers?: number[]; id?: number } | null;
      home?: { city?: string; street?: string | null };
    }
  >(true);
  type Data = ResolvedData<InferEntity<typeof Account>, Sent>;
  same<keyof Data, 'name' | 'profile' | 'address'>(true);
  same<NonNullable<NonNullable<Data['profile']>['makers']>[number]['id'], number>(true);
  same<Data['address'], { city: string; street?: string | null }>(true);
  // @ts-expect-error -- a shape of another entity
  t.throws(() => writeShape(Account, ['name'], { address: nested(profile) }));
});

t.test('the types of exists() and count() are inferred, and their relations and lookups are checked', async () => {
  const read = readShape(Book, ['title'], {
    tagged: exists('tags', () => ({ name: 'tea' })),
    tags: count('tags'),
    chapters_with_tea: count('chapters', { tags__name: 'tea' }),
  });
  same<OutputOf<typeof read>, { title: string; tagged: boolean; tags: number; chapters_with_tea: number }>(true);
  const chapter = readShape(Chapter, ['heading'], { siblings: count('book.chapters', { heading__ne: 'One' }) });
  same<OutputOf<typeof chapter>, { heading: string; siblings: number }>(true);
  readShape(Book, [], { tagged: exists('tags', () => null) });
  // @ts-expect-error -- a misspelt relation
  t.throws(() => readShape(Book, [], { tagged: exists('tgas') }));
  // @ts-expect-error -- no relation to many
  t.throws(() => readShape(Book, [], { tagged: count('author') }));
  // @ts-expect-error -- a misspelt field of the related entity
  readShape(Book, [], { tagged: exists('tags', { nmae: 'tea' }) });
  // @ts-expect-error -- a value of another type
  readShape(Book, [], { tagged: exists('tags', () => ({ name: 5 })) });
  ModelViewSet(Book, {
    read,
    filterFields: { tagged: exists('tags', () => ({ name: 'tea' })), min_tags: [count('tags'), 'gte'], title: 'title' },
    orderingFields: { tags: count('tags') },
  });
  // @ts-expect-error -- a boolean has no order
  ModelViewSet(Book, { read, filterFields: { tagged: [exists('tags'), 'gte'] } });
  // @ts-expect-error -- a relation of another entity
  ModelViewSet(Book, { read, orderingFields: { tags: count('books') } });
});

t.test('a field under another name is typed as its property, and hooks see the property', async () => {
  const chapter = writeShape(Chapter, [], { title: 'heading' });
  const book = writeShape(Book, [], {
    name: field('title', Type.Optional(Type.String())),
    labels: refs('tags.name'),
    parts: field('chapters', nested(chapter)),
  });
  type Sent = SentBody<InputOf<typeof book>>;
  same<Pick<Sent, 'name' | 'labels'>, { name?: string; labels?: string[] }>(true);
  same<NonNullable<Sent['parts']>[number]['title'], string>(true);
  same<keyof NonNullable<Sent['parts']>[number], 'title'>(true);
  type Data = ResolvedData<InferEntity<typeof Book>, InputOf<typeof book>>;
  same<keyof Data, 'title' | 'tags' | 'chapters'>(true);
  same<Data['title'], string | undefined>(true);
  same<keyof NonNullable<Data['chapters']>[number], 'heading'>(true);
  same<InputOf<ReturnType<typeof plain>>, { title: string }>(true);
  function plain() {
    return writeShape(Book, ['title']);
  }
  // @ts-expect-error -- misspelt
  t.throws(() => writeShape(Book, [], { name: 'titel' }));
  // @ts-expect-error -- misspelt
  t.throws(() => writeShape(Book, [], { name: field('titel') }));
  // @ts-expect-error -- children of another entity
  t.throws(() => writeShape(Book, [], { parts: field('chapters', nested(writeShape(Book, ['title']))) }));
});

t.test('shapes are values, and those that are made of them are typed', async () => {
  const shared = readShape(Specimen, [], {
    maker: 'maker.name',
    twice: computed(Type.Number(), ['id'], ({ id }) => 2 * id),
  });
  const whole = readShape(Specimen, ['id', 'name']).extend(['flag'], { label: 'name' }).extend(shared);
  type Whole = OutputOf<typeof whole>;
  same<keyof Whole, 'id' | 'name' | 'flag' | 'label' | 'maker' | 'twice'>(true);
  same<Whole['twice'], number>(true);
  same<OutputOf<typeof other>['maker'], Whole['maker']>(true);
  const other = readShape(Specimen, ['uuid']).extend(shared);
  const picked = whole.pick(['id', 'label']);
  same<OutputOf<typeof picked>, { id: number; label: string }>(true);
  const replaced = picked.extend([], { label: 'id' });
  same<OutputOf<typeof replaced>, { id: number; label: number }>(true);
  const omitted = replaced.omit(['id']);
  same<OutputOf<typeof omitted>, { label: number }>(true);
  t.strictSame(Object.keys(omitted.schema.properties), ['label']);

  const write = writeShape(Book, ['title'], { labels: refs('tags.name') });
  const more = write.extend(
    ['isbn'],
    { parts: field('chapters', nested(writeShape(Chapter, ['heading']))) },
    { required: ['isbn'] },
  );
  same<keyof ResolvedData<InferEntity<typeof Book>, InputOf<typeof more>>, 'title' | 'tags' | 'isbn' | 'chapters'>(
    true,
  );
  const part = more.pick(['isbn', 'labels']);
  same<SentBody<InputOf<typeof part>>, { isbn: string | null; labels?: string[] }>(true);
  same<keyof ResolvedData<InferEntity<typeof Book>, InputOf<typeof part>>, 'tags' | 'isbn'>(true);
  const plain = more.omit(['labels', 'parts']).extend(['title'], {}, { optional: ['title'] });
  same<InputOf<typeof plain>, { isbn: string | null; title?: string }>(true);
  // @ts-expect-error -- misspelt
  t.throws(() => whole.pick(['nmae']), { message: /no field "nmae"; did you mean "name"/ });
  // @ts-expect-error -- misspelt
  t.throws(() => whole.extend(['kidn']), { message: /no property "kidn"; did you mean "kind"/ });
  // @ts-expect-error -- misspelt
  t.throws(() => write.omit(['tags']), { message: /no field "tags"; it has: title, labels/ });
  // @ts-expect-error -- a shape of another entity
  t.throws(() => write.extend(writeShape(Chapter, ['heading'])), {
    message: /takes a shape of Book, got one of Chapter/,
  });
});

t.test('a JSON column of the type any can be named in shapes', async (t) => {
  const Loose = defineEntity({
    name: 'Loose',
    // oxlint-disable-next-line typescript/no-explicit-any -- what the test is about
    properties: { id: p.integer().primary(), data: p.json<any>(), pin: p.string().hidden() },
  });
  const shape = readShape(Loose, ['id', 'data'], { info: 'data' });
  same<keyof OutputOf<typeof shape>, 'id' | 'data' | 'info'>(true);
  const described = readShape(Loose, [], { data: Type.Object({ color: Type.String() }) });
  same<keyof OutputOf<typeof described>, 'data'>(true);
  // @ts-expect-error -- hidden
  t.ok(() => readShape(Loose, ['pin']));
  // @ts-expect-error -- the type does not tell that it is an object
  t.ok(() => readShape(Loose, [], { color: 'data.color' }));
});
