import { defineEntity, p, type EntityManager, type MikroORM } from '@mikro-orm/core';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import fastify from 'fastify';
import t from 'tap';
import { Type, type TObject } from 'typebox';
import { QuerySet } from '../../src/query/queryset.ts';
import { computed } from '../../src/shapes/read/read-field.ts';
import { readShape, toReadShape, type ReadShape } from '../../src/shapes/read/read-shape.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Country, Maker, SPECIMENS, Specimen } from './specimens.ts';

const FULL = {
  name: 'full "ü"',
  anyLength: 'a',
  text: '',
  lower: 'abc',
  count: 5,
  small: -3,
  big: 9007199254740993n,
  bigNumber: 12,
  bigString: '9007199254740993',
  float: 0.5,
  double: 1.25,
  price: 12345678.91,
  exact: '12345678.5',
  bare: '42',
  flag: false,
  at: new Date('2026-01-31T12:34:56.789Z'),
  day: '2024-02-29',
  hour: '23:59:59',
  uuid: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
  json: { a: [1, null, 'x'] },
  bytes: Buffer.from([0, 255, 1]),
  list: ['a', 'b'],
  kind: 'large' as const,
  level: 2 as const,
  lazyText: 'lazy',
  point: { x: 1, y: 2 },
  createdAt: new Date('2026-01-01T00:00:00.001Z'),
};

async function fill(orm: MikroORM): Promise<void> {
  const em = orm.em.fork();
  const country = em.create(Country, { code: 'DE', name: 'Germany' });
  const maker = em.create(Maker, { name: 'Bosch', country });
  const alone = em.create(Maker, { name: 'Alone', motto: 'mine' });
  await em.persist([country, maker, alone]).flush();
  for (const some of [
    { ...FULL, maker, country },
    { name: 'empty', createdAt: FULL.createdAt },
    { name: 'half', maker: alone, createdAt: FULL.createdAt },
  ]) {
    em.create(Specimen, some as never);
    await em.flush();
  }
}

/** The records of a shape, read as rows and as entities. */
async function read<Entity extends object, Output extends object>(em: EntityManager, shape: ReadShape<Entity, Output>) {
  const projection = shape.bind(em.getMetadata().get(shape.entity), em.getPlatform());
  const queryset = QuerySet.of(em, shape.entity).orderBy();
  const rows = await queryset.rows(projection);
  const entities = await queryset.entities({ populate: projection.populate });
  return { rows, fromEntities: entities.map((entity) => projection.readEntity(entity)), projection };
}

const everything = readShape(
  Specimen,
  [
    'id',
    'name',
    'anyLength',
    'text',
    'lower',
    'count',
    'small',
    'big',
    'bigNumber',
    'bigString',
    'float',
    'double',
    'price',
    'exact',
    'bare',
    'flag',
    'at',
    'day',
    'hour',
    'uuid',
    'json',
    'bytes',
    'list',
    'kind',
    'level',
    'lazyText',
    'point',
    'maker',
    'country',
    'createdAt',
  ],
  {
    makerName: 'maker.name',
    countryOfMaker: 'maker.country.name',
    codeOfMaker: 'maker.country',
    label: computed(Type.String(), ['name', 'at', 'maker.name', 'big', 'secret'], (record) =>
      [record.name, record.at?.getUTCFullYear(), record['maker.name'], typeof record.big, record.secret].join('|'),
    ),
  },
);

forEachDatabase(t, { entities: SPECIMENS }, async (t, orm, database) => {
  await fill(orm);

  t.test('every kind of column has the JSON of its schema, from rows and from entities', async (t) => {
    const { rows, fromEntities } = await read(orm.em.fork(), everything);
    t.equal(JSON.stringify(rows), JSON.stringify(fromEntities));
    const [full, empty, half] = JSON.parse(JSON.stringify(rows)) as Record<string, unknown>[];
    // PostgreSQL writes all the decimals of the column, SQLite keeps a float.
    const exact = database === 'sqlite' ? '12345678.5' : '12345678.5000000000';
    t.strictSame(full, {
      ...FULL,
      id: 1,
      big: '9007199254740993',
      exact,
      at: '2026-01-31T12:34:56.789Z',
      createdAt: '2026-01-01T00:00:00.001Z',
      bytes: 'AP8B',
      maker: 1,
      country: 'DE',
      makerName: 'Bosch',
      countryOfMaker: 'Germany',
      codeOfMaker: 'DE',
      label: 'full "ü"|2026|Bosch|bigint|',
    });
    const nulls = Object.fromEntries(Object.keys(everything.schema.properties).map((name) => [name, null]));
    t.strictSame(empty, {
      ...nulls,
      id: 2,
      name: 'empty',
      count: 0,
      flag: true,
      createdAt: '2026-01-01T00:00:00.001Z',
      label: 'empty|||object|',
    });
    t.match(half, { maker: 2, makerName: 'Alone', countryOfMaker: null, codeOfMaker: null });
  });

  t.test('the serializer writes the same as JSON.stringify', async (t) => {
    const { rows } = await read(orm.em.fork(), everything);
    const app = fastify();
    t.teardown(() => app.close());
    app.get('/', { schema: { response: { 200: { type: 'array', items: everything.schema } } } }, () => rows);
    const { body } = await app.inject('/');
    t.strictSame(JSON.parse(body), JSON.parse(JSON.stringify(rows)));
  });

  t.test('a related record may be a nested object', async (t) => {
    const country = readShape(Country, ['code', 'name']);
    const shape = readShape(Specimen, ['name'], {
      maker: readShape(Maker, ['name'], {
        country,
        upper: computed(Type.String(), ['name'], ({ name }) => name.toUpperCase()),
      }),
    });
    const { rows, fromEntities, projection } = await read(orm.em.fork(), shape);
    t.strictSame(JSON.parse(JSON.stringify(rows)), [
      { name: 'full "ü"', maker: { name: 'Bosch', country: { code: 'DE', name: 'Germany' }, upper: 'BOSCH' } },
      { name: 'empty', maker: null },
      { name: 'half', maker: { name: 'Alone', country: null, upper: 'ALONE' } },
    ]);
    t.equal(JSON.stringify(rows), JSON.stringify(fromEntities));
    t.strictSame(projection.populate, ['maker', 'maker.country']);

    const app = fastify();
    t.teardown(() => app.close());
    app.get('/', { schema: { response: { 200: { type: 'array', items: shape.schema } } } }, () => rows);
    t.strictSame((await app.inject('/')).json(), JSON.parse(JSON.stringify(rows)));

    const byHand = toReadShape(
      Specimen,
      Type.Object({
        name: Type.String(),
        maker: Type.Union([
          Type.Object({ name: Type.String(), motto: Type.Union([Type.String(), Type.Null()]) }),
          Type.Null(),
        ]),
      }),
    );
    const {
      rows: [, , half],
    } = await read(orm.em.fork(), byHand);
    t.strictSame(JSON.parse(JSON.stringify(half)), { name: 'half', maker: { name: 'Alone', motto: 'mine' } });
  });

  t.test('only the named columns are read', async (t) => {
    const { projection } = await read(
      orm.em.fork(),
      readShape(Specimen, ['id'], { maker: 'maker.name', same: 'maker.name' }),
    );
    t.strictSame(
      projection.paths.map(({ key }) => key),
      ['id', 'maker.name'],
    );
    t.strictSame(
      readShape(Specimen, ['id'], { key: 'maker.id' }).bind(orm.getMetadata().get(Specimen), orm.em.getPlatform())
        .populate,
      [],
    );
  });

  t.test('an entity whose relations are not loaded is rejected', async (t) => {
    const em = orm.em.fork();
    const shape = readShape(Specimen, ['id'], { maker: 'maker.name' });
    const projection = shape.bind(orm.getMetadata().get(Specimen), orm.em.getPlatform());
    const entity = await em.findOneOrFail(Specimen, 1);
    t.throws(() => projection.readEntity(entity), { message: /"maker\.name" cannot be read.*"maker" is not loaded/ });
    t.strictSame(
      readShape(Specimen, ['maker'], { key: 'maker.id' })
        .bind(orm.getMetadata().get(Specimen), orm.em.getPlatform())
        .readEntity(entity),
      { maker: 1, key: 1 },
    );
  });
});

t.test('the schema is derived from the entity', async (t) => {
  const { schema } = readShape(
    Specimen,
    ['id', 'name', 'price', 'exact', 'big', 'at', 'kind', 'json', 'point', 'maker', 'flag', 'bytes'],
    {
      maker_name: 'maker.name',
    },
  );
  t.strictSame(JSON.parse(JSON.stringify(schema)), {
    type: 'object',
    required: [
      'id',
      'name',
      'price',
      'exact',
      'big',
      'at',
      'kind',
      'json',
      'point',
      'maker',
      'flag',
      'bytes',
      'maker_name',
    ],
    properties: {
      id: { type: 'integer' },
      name: { type: 'string' },
      price: { type: ['number', 'null'] },
      exact: { type: ['string', 'null'] },
      big: { type: ['string', 'null'] },
      at: { type: ['string', 'null'], format: 'date-time' },
      kind: { type: ['string', 'null'], enum: ['small', 'large', null] },
      json: {},
      point: {},
      maker: { type: ['integer', 'null'] },
      flag: { type: 'boolean' },
      bytes: { type: ['string', 'null'], format: 'byte' },
      maker_name: { type: ['string', 'null'] },
    },
  });
});

t.test('mistakes of the programmer are found when the shape is made or bound', async (t) => {
  const Odd = defineEntity({
    name: 'Odd',
    properties: { id: p.integer().primary(), virtual: p.string().persist(false), makers: () => p.manyToMany(Maker) },
  });
  const orm = await SqliteORM.init({ entities: [...SPECIMENS, Odd], dbName: ':memory:' });
  t.teardown(() => orm.close());
  const made: [() => unknown, RegExp][] = [
    [() => readShape(Specimen, ['nmae'] as never), /Specimen has no property "nmae"; did you mean "name"\?/],
    [
      () => readShape(Specimen, [], { a: 'maker.nmae' } as never),
      /Maker has no property "nmae"; did you mean "name"\?/,
    ],
    [() => readShape(Specimen, [], { a: 'name.x' } as never), /Specimen\.name is not a relation/],
    [() => readShape(Specimen, [], { a: computed(Type.String(), ['nmae'] as never, () => '') } as never), /"nmae"/],
    [() => readShape(Specimen, [], { a: 5 } as never), /"a" must be a path, a computed\(\) field or a readShape\(\)/],
    [() => readShape(Specimen, ['name'], { name: 'maker.name' }), /"name" is named twice/],
    [
      () => readShape(Specimen, [], JSON.parse('{"__proto__":"name"}') as never),
      /"__proto__" cannot be the name of a field/,
    ],
    [() => readShape(Odd, ['makers'] as never), /leads to many records/],
    [() => readShape(Odd, [], { a: 'makers.name' } as never), /leads to many records/],
  ];
  for (const [make, message] of made) t.throws(make, { name: 'ImproperlyConfigured', message }, String(message));
  const bound: [ReadShape<object, object>, RegExp][] = [
    // @ts-expect-error -- hidden
    [readShape(Specimen, ['secret']) as never, /"secret" is declared hidden/],
    [readShape(Odd, ['virtual']) as never, /"virtual" is not stored/],
    ...(
      [
        [Type.Object({ nmae: Type.String() }), /"nmae"/],
        [Type.Object({ count: Type.String() }), /"count" is an integer in JSON, but its schema says string/],
        [
          Type.Object({ price: Type.Number() }),
          /"price" may be null, but its schema says number; make it a Type\.Union with Type\.Null/,
        ],
        [Type.Object({ price: Type.Union([Type.Integer(), Type.Null()]) }), /"price" is a number in JSON/],
        [Type.Object({ text: Type.Optional(Type.String()) }), /"text" may be null/],
        [Type.Object({ maker: Type.Object({ name: Type.String() }) }), /"maker" may be null/],
        [Type.Object({ name: Type.Object({ a: Type.String() }) }), /"name" is a string in JSON/],
        [Type.Object({ json: Type.Object({ a: Type.Unknown() }) }), /"json" may be null/],
        [Type.Object({ secret: Type.String() }), /hidden/],
      ] as [TObject, RegExp][]
    ).map(
      ([schema, message]) => [toReadShape(Specimen, schema), message] as unknown as [ReadShape<object, object>, RegExp],
    ),
  ];
  for (const [shape, message] of bound) {
    t.throws(
      () => shape.bind(orm.getMetadata().get(shape.entity), orm.em.getPlatform()),
      { name: 'ImproperlyConfigured', message },
      String(message),
    );
  }
  const json = toReadShape(
    Specimen,
    Type.Object({ json: Type.Union([Type.Object({ a: Type.Unknown() }), Type.Null()]), count: Type.Number() }),
  );
  t.doesNotThrow(() => json.bind(orm.getMetadata().get(Specimen), orm.em.getPlatform()));
});

t.test('a shape is a shape already', async (t) => {
  const shape = readShape(Maker, ['name']);
  t.equal(toReadShape(Maker, shape), shape);
});
