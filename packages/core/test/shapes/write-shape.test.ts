import { defineEntity, p } from '@mikro-orm/core';
import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import t from 'tap';
import { Type, type TObject } from 'typebox';
import type { InvalidUsage } from '../../src/errors/errors.ts';
import { field } from '../../src/shapes/write/renamed-field.ts';
import { nested, refs } from '../../src/shapes/write/to-many-input.ts';
import { toWriteShape, writeShape, type WriteShape } from '../../src/shapes/write/write-shape.ts';
import { Country, Maker, SPECIMENS, Specimen } from './specimens.ts';

const Product = defineEntity({
  name: 'Product',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(200),
    price: p.decimal('number').precision(10).scale(2),
    stock: p.integer().default(0),
    virtual: p.string().persist(false),
    total: p.integer().formula('1 + 1'),
    address: () => p.embedded(Address).nullable(),
    spot: () => p.embedded(Address).object().nullable(),
    tags: () => p.manyToMany(Maker),
  },
});
const Address = defineEntity({ name: 'Address', embeddable: true, properties: { city: p.string() } });

const entities = [...SPECIMENS, Product, Address];
const sqlite = await SqliteORM.init({ entities, dbName: ':memory:' });
const postgresql = await PostgreSqlORM.init({ entities, dbName: 'none' });
const orms = [sqlite, postgresql];

const metaOf = (entity: never, orm: SqliteORM | PostgreSqlORM = sqlite) => orm.getMetadata().get(entity);
// oxlint-disable-next-line typescript/no-explicit-any -- a test hands shapes of any entity around
const bind = (shape: WriteShape<any, any>, orm?: SqliteORM | PostgreSqlORM) =>
  shape.bind(metaOf(shape.entity as never, orm));

function details(check: () => unknown): string[] {
  try {
    check();
    return [];
  } catch (error) {
    if ((error as Error).name !== 'InvalidUsage') throw error;
    return (error as InvalidUsage).details?.map(({ in: place, path, message }) => `${place} ${path} ${message}`) ?? [];
  }
}

/** What becomes of one property of a Specimen under a schema that lets everything through: the value, or what is wrong. */
function written(name: string, value: unknown): unknown {
  const shape = bind(toWriteShape(Specimen, Type.Object({ [name]: Type.Unknown() })));
  const problems = details(() => shape.validate({ [name]: value }));
  if (problems.length > 0) return problems.join();
  return (shape.validate({ [name]: value }) as Record<string, unknown>)[name];
}

t.test('the schema is derived from the entity', async (t) => {
  const shape = writeShape(Specimen, [
    'name',
    'count',
    'price',
    'at',
    'maker',
    'flag',
    'kind',
    'text',
    'big',
    'exact',
    'list',
    'json',
    'bytes',
  ]);
  t.same(shape.schema, {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 10 },
      count: { type: 'integer', minimum: -2147483648, maximum: 2147483647 },
      price: { type: ['number', 'null'], minimum: -99999999.99, maximum: 99999999.99, multipleOf: 0.01 },
      at: { type: ['string', 'null'], format: 'date-time' },
      maker: {
        type: ['integer', 'null'],
        minimum: -2147483648,
        maximum: 2147483647,
        'x-reference': { entity: 'Maker', field: 'id' },
      },
      flag: { type: 'boolean' },
      kind: { type: ['string', 'null'], enum: ['small', 'large', null] },
      text: { type: ['string', 'null'] },
      big: { type: ['string', 'null'], pattern: '^(?:0|-?[1-9][0-9]*)$' },
      exact: { type: ['string', 'null'], pattern: '^-?[0-9]+(?:\\.[0-9]+)?$' },
      list: { type: ['array', 'null'], items: { type: 'string' } },
      json: {},
      bytes: { type: ['string', 'null'], format: 'byte' },
    },
  });
  t.same((shape.partial as { required?: unknown }).required, undefined);
  for (const orm of orms) t.same(bind(shape, orm).schema, shape.schema, 'once bound, it is the same');
});

t.test('the primary key is only there when it is named', async (t) => {
  t.same(writeShape(Maker, ['id', 'name']).schema.required, ['name'], 'a number is made by the database');
  t.same(writeShape(Country, ['code', 'name']).schema.required, ['code', 'name'], 'a text is not');
  t.same(bind(writeShape(Maker, ['name'])).validate({ id: 7, name: 'a' }), { name: 'a' });
  t.same(bind(writeShape(Maker, ['id', 'name'])).validate({ id: 7, name: 'a' }), { id: 7, name: 'a' });
});

t.test('a schema written by hand is limited to values that fit the columns', async (t) => {
  const write = Type.Object({
    name: Type.String({ minLength: 1, maxLength: 200 }),
    price: Type.Number({ exclusiveMinimum: 0 }),
    stock: Type.Optional(Type.Integer({ minimum: 0 })),
  });
  for (const orm of orms) {
    const shape = bind(toWriteShape(Product, write), orm);
    const price = (value: unknown) => details(() => shape.validate({ name: 'a', price: value }));
    for (const value of [0.01, 0.29, 1.1, 19.99, 12345678.91, 99999999.99, 1e7]) {
      t.same(price(value), [], String(value));
    }
    for (const value of [1.005, 1e-7, 0.001, 0.1 + 0.2]) {
      t.same(price(value), ['body /price must have at most 2 decimals'], String(value));
    }
    for (const value of [1e8, 1e21, Number.MAX_VALUE]) {
      t.same(price(value), ['body /price must have at most 8 digits before the point'], String(value));
    }
    for (const value of [0, -1, -0]) t.same(price(value), ['body /price must be > 0'], String(value));
    for (const value of ['12', null, NaN, Infinity, {}, [], true]) {
      t.equal(price(value).length, 1, JSON.stringify(value));
    }
    const stock = (value: unknown) => details(() => shape.validate({ name: 'a', price: 1, stock: value }));
    for (const value of [0, 2147483647]) t.same(stock(value), [], String(value));
    for (const value of [2147483648, 1e21]) {
      t.match(stock(value), [/^body \/stock must be an integer between/], String(value));
    }
    for (const value of [-1, 1.5, '1', null]) t.equal(stock(value).length, 1, String(value));
    const name = (value: unknown) => details(() => shape.validate({ name: value, price: 1 }));
    t.same(name('😀'.repeat(200)), []);
    t.same(name('😀'.repeat(201)), ['body /name must be at most 200 characters']);
    t.same(name('a\0'), ['body /name must not contain a NUL character']);
    t.same(name('\ud83d'), ['body /name must be well-formed Unicode']);
  }
});

t.test('every offending field is named once, in the order of the shape', async (t) => {
  const shape = bind(writeShape(Specimen, ['name', 'count', 'day', 'price']));
  t.same(
    details(() => shape.validate({ price: 1.005, count: 2 ** 31, day: '2026-02-30', extra: '\0' })),
    [
      'body /name is required',
      'body /count must be <= 2147483647',
      'body /day must be a date such as 2026-01-31',
      'body /price must have at most 2 decimals',
      'body /extra must not contain a NUL character',
    ],
  );
  t.throws(() => shape.validate({ name: '' }), { message: 'Invalid body: name must not be empty' });
});

t.test('a body that is not an object returns 400', async (t) => {
  const shape = bind(writeShape(Maker, ['name']));
  for (const value of [null, [], 'x', 1, undefined, false]) {
    t.equal(details(() => shape.validate(value)).length, 1, JSON.stringify(value));
    t.equal(details(() => shape.validate(value, 'change')).length, 1, JSON.stringify(value));
  }
});

t.test('a part of a record may be anything of it, and gets no defaults', async (t) => {
  const schema = Type.Object({
    name: Type.String({ default: 'unnamed', minLength: 1 }),
    stock: Type.Integer({ default: 5 }),
    price: Type.Number(),
  });
  const shape = bind(toWriteShape(Product, schema));
  t.same(shape.validate({ price: 1 }), { name: 'unnamed', stock: 5, price: 1 });
  t.same(shape.validate({}, 'change'), {});
  t.same(shape.validate({ price: 1, id: 3 }, 'change'), { price: 1 });
  t.same(
    details(() => shape.validate({ name: '', price: '1' }, 'change')),
    ['body /name must not be empty', 'body /price must be a number'],
  );
  t.notOk(JSON.stringify(toWriteShape(Product, schema).partial).includes('default'));
  t.same(toWriteShape(Product, schema).partial, {
    type: 'object',
    properties: { name: { type: 'string', minLength: 1 }, stock: { type: 'integer' }, price: { type: 'number' } },
  });
});

t.test('constraints on the complete object are not checked for a partial body', async (t) => {
  const object = Type.Object({ name: Type.String(), stock: Type.Integer() }, { minProperties: 2 });
  const schema = Type.Refine(
    object,
    ({ name, stock }) => name.length === stock,
    () => 'must have as many as its name has letters',
  );
  const shape = bind(toWriteShape(Product, schema));
  t.same(
    details(() => shape.validate({ name: 'ab', stock: 3 })),
    ['body  must have as many as its name has letters'],
  );
  t.same(shape.validate({ name: 'ab', stock: 2 }), { name: 'ab', stock: 2 });
  t.same(shape.validate({ stock: 2 }, 'change'), { stock: 2 });
  t.same(shape.validate({}, 'change'), {});
});

t.test('null is accepted only for nullable columns, with any schema', async (t) => {
  const shape = bind(toWriteShape(Product, Type.Object({ name: Type.Union([Type.String(), Type.Null()]) })));
  t.same(
    details(() => shape.validate({ name: null })),
    ['body /name must not be null'],
  );
  t.equal(written('text', null), null);
  t.equal(written('json', null), null);
  t.equal(written('maker', null), null);
});

t.test('every kind of column accepts only its values', async (t) => {
  const good: [string, unknown, unknown][] = [
    ['name', 'abc', 'abc'],
    ['anyLength', 'x'.repeat(255), 'x'.repeat(255)],
    ['text', 'x'.repeat(5000), 'x'.repeat(5000)],
    ['lower', 'ABC', 'abc'],
    ['small', 32767, 32767],
    ['count', -0, 0],
    ['big', '9223372036854775807', 9223372036854775807n],
    ['big', 5, 5n],
    ['bigNumber', 9007199254740991, 9007199254740991],
    ['bigString', '-5', '-5'],
    ['bigString', 5, '5'],
    ['float', 1.5, 1.5],
    ['double', 1e300, 1e300],
    ['exact', '12345678901234567890.0123456789', '12345678901234567890.0123456789'],
    ['exact', 1.5, '1.5'],
    ['bare', '9999999999', '9999999999'],
    ['flag', false, false],
    ['at', '2026-01-01T00:00:00+01:00', new Date('2025-12-31T23:00:00Z')],
    ['day', '2024-02-29', '2024-02-29'],
    ['hour', '23:59:59', '23:59:59'],
    ['hour', '12:00', '12:00:00'],
    ['uuid', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
    ['json', { a: [1, 'x', null] }, { a: [1, 'x', null] }],
    ['json', 0, 0],
    ['bytes', 'AAEC', Buffer.from([0, 1, 2])],
    ['list', ['a', 'b'], ['a', 'b']],
    ['kind', 'large', 'large'],
    ['level', 2, 2],
    ['maker', 5, 5],
    ['country', 'DE', 'DE'],
    ['point', { x: 1, y: 2 }, { x: 1, y: 2 }],
  ];
  for (const [name, value, expected] of good) {
    t.strictSame(written(name, value), expected, `${name} ${JSON.stringify(value)}`);
  }
  const bad: [string, ...unknown[]][] = [
    ['name', 'x'.repeat(11), 5, {}, []],
    ['anyLength', 'x'.repeat(256)],
    ['lower', 'abcdef'],
    ['small', 32768, -32769, 1.5, '1'],
    ['count', 2147483648, '1', true],
    ['big', '9223372036854775808', 2 ** 53, '1.5', '01', '1e3', '', 1.5],
    ['bigNumber', '5', 2 ** 53, 1.5],
    ['bigString', 1e21, 'x'],
    ['float', 1e39, 1e-46, '1', Infinity],
    ['double', NaN, '1'],
    ['price', 1.005, '1.00', 1e8],
    ['exact', '1e3', '0x1', '1.00000000001', '123456789012345678901', 'NaN', ''],
    ['bare', '1.5', '12345678901'],
    ['flag', 1, 'true'],
    ['at', '2026-01-01', '2026-02-30T00:00:00Z', 1767225600000, '2026-01-01T00:00:00', '0000-01-01T00:00:00Z'],
    ['day', '2026-02-29', '2026-01-01T00:00:00Z', 20260101, '0000-01-01'],
    ['hour', '24:00:00', '12:0', '12:00:00.5'],
    ['uuid', 'x', 'a0eebc999c0b4ef8bb6d6bb9bd380a11', 5],
    ['bytes', 'a', 'AA EC', 5, 'AAEC===='],
    ['list', 'a', [1], [null], [{}], [['a']]],
    ['kind', 'medium', 0, ''],
    ['level', 3, '1'],
    ['maker', 'x', 1.5, 2 ** 31, {}],
    ['country', 'DEU', 5],
  ];
  for (const [name, ...values] of bad) {
    for (const value of values) {
      t.match(
        written(name, value),
        /^body \/\w+(?:\/\d+)? (?:must |is out of range|is a number that is too large$)/,
        `${name} ${String(value)}`,
      );
    }
  }
});

t.test('the schema of a single field can be overridden, and options decide which fields are required', async (t) => {
  const overridden = bind(
    writeShape(Product, ['name', 'price', 'stock'], {
      price: Type.Number({ exclusiveMinimum: 0 }),
      name: Type.Optional(Type.String()),
    }),
  );
  t.same(
    details(() => overridden.validate({ price: 0 })),
    ['body /price must be > 0'],
  );
  t.same(
    details(() => overridden.validate({ price: 0.001 })),
    ['body /price must have at most 2 decimals'],
  );
  t.same(overridden.validate({ price: 1, name: '' }), { name: '', price: 1 });
  const forced = bind(
    writeShape(
      Specimen,
      ['name', 'flag'],
      { maker: 'maker.name' },
      { required: ['flag', 'maker'], optional: ['name'] },
    ),
  );
  t.same(
    details(() => forced.validate({})),
    ['body /flag is required', 'body /maker is required'],
  );
  t.same(forced.validate({ flag: true, maker: null }), { flag: true, maker: null });
  t.same(
    details(() => forced.validate({ flag: true, maker: 3 })),
    ['body /maker must be a string or null'],
  );
  t.same(
    details(() => forced.validate({ flag: true, maker: 'x'.repeat(51) })),
    ['body /maker must be at most 50 characters'],
  );
});

t.test('a property without a column is checked only by its schema', async (t) => {
  const City = Type.Object({ city: Type.String() });
  const shape = bind(
    toWriteShape(Product, Type.Object({ virtual: Type.String(), address: City, spot: Type.Optional(City) })),
  );
  t.same(shape.validate({ virtual: 'x', address: { city: 'Rome', x: 1 }, spot: { city: 'Oslo', y: 1 } }), {
    virtual: 'x',
    address: { city: 'Rome' },
    spot: { city: 'Oslo' },
  });
  t.same(
    details(() => shape.validate({ virtual: 1, address: { city: '\0' } })),
    ['body /virtual must be a string', 'body /address/city must not contain a NUL character'],
  );
});

t.test('mistakes of the programmer are found when the shape is made or bound', async (t) => {
  const made: [() => unknown, RegExp][] = [
    [() => writeShape(Product, ['nmae'] as never), /Product has no property "nmae"; did you mean "name"\?/],
    [() => writeShape(Product, ['total']), /Product\.total is computed by the database/],
    [() => writeShape(Product, [], { tags: refs('tags.motto') }), /Maker\.motto is not unique/],
    [
      () => writeShape(Product, [], { tags: nested(writeShape(Maker, ['name'])) }),
      /tags leads to many.*refs\('tags'\)/,
    ],
    [() => writeShape(Specimen, [], { maker: 'maker.motto' }), /Maker\.motto is not unique/],
    [() => writeShape(Specimen, [], { maker: 'country.name' } as never), /\{ maker: 'maker\.<field>' \}/],
    [
      () => writeShape(Specimen, [], { maker: 'maker.nmae' } as never),
      /Maker has no property "nmae"; did you mean "name"\?/,
    ],
    [() => writeShape(Specimen, [], { name: 'name.id' } as never), /Specimen\.name is not a relation/],
    [() => writeShape(Specimen, ['name'], {}, { required: ['flag'] as never }), /option "required" names "flag"/],
    [
      () => writeShape(Specimen, [], { label: 'nmae' } as never),
      /Specimen has no property "nmae"; did you mean "name"/,
    ],
    [
      () => writeShape(Specimen, ['name'], { label: 'name' }),
      /Specimen\.name is written by two fields, "name" and "label"/,
    ],
    [() => writeShape(Specimen, [], { ['__proto__']: 'name' } as never), /"__proto__" cannot be the name/],
    [() => field('' as never), /option "property" must be the name of a property/],
    [
      () => writeShape(Specimen, ['name'], {}, { requird: ['name'] } as never),
      /unknown option "requird"; did you mean "required"/,
    ],
    [
      () => toWriteShape(Product, Type.Object({ name: Type.String() }, { additionalProperties: true })),
      /additionalProperties/,
    ],
  ];
  for (const [make, message] of made) t.throws(make, { name: 'ImproperlyConfigured', message }, String(message));
  const bound: [TObject, RegExp][] = [
    [Type.Object({ nmae: Type.String() }), /Product.*"nmae".*"name"/],
    [Type.Object({ stock: Type.String() }), /"stock" must be an integer in JSON, but its schema says string/],
    [Type.Object({ price: Type.Union([Type.String(), Type.Null()]) }), /"price" must be a number in JSON/],
    [Type.Object({ name: Type.Object({}) }), /"name" must be a string/],
    [Type.Object({ name: Type.Literal(5) }), /"name" must be a string/],
    [Type.Object({ total: Type.Integer() }), /computed by the database/],
    [Type.Object({ tags: Type.Array(Type.Integer()) }), /many records/],
    [Type.Object({ name: Type.String({ maxLenght: 3 }) }), /maxLenght/],
  ];
  for (const [schema, message] of bound) {
    t.throws(
      () => bind(toWriteShape(Product, schema as never)),
      { name: 'ImproperlyConfigured', message },
      String(message),
    );
  }
  t.throws(() => bind(toWriteShape(Specimen, Type.Object({ maker: Type.String() }))), {
    message: /"maker" must be an integer in JSON.*write \{ maker: 'maker\.<field>' \} in writeShape\(\)/,
  });
  t.doesNotThrow(() =>
    bind(
      toWriteShape(Product, Type.Object({ stock: Type.Number(), name: Type.Union([Type.String(), Type.Integer()]) })),
    ),
  );
});

t.test('a shape is a shape already', async (t) => {
  const shape = writeShape(Maker, ['name']);
  t.equal(toWriteShape(Maker, shape), shape);
});
