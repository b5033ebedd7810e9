import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { Type, type TSchema } from 'typebox';
import { compileSchema } from '../../src/schema/compile-schema.ts';
import { Reading } from '../../src/schema/reading.ts';
import { compileSerializer } from '../../src/schema/serializer.ts';
import { compileValidator } from '../../src/schema/validator.ts';
import { numbers } from '../support/numbers.ts';

const written = (schema: TSchema, value: unknown): string => compileSerializer(schema)(value);

/** The message of the error for a value that does not fit; undefined if it is written. */
function refusal(schema: TSchema, value: unknown): string | undefined {
  try {
    written(schema, value);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

t.test('the serializer never converts a value', async (t) => {
  const wrong: readonly (readonly [TSchema, unknown, string])[] = [
    [Type.Integer(), '5', 'it must be an integer, got a string'],
    [Type.Integer(), 1.5, 'it must be an integer, got a number'],
    [Type.Integer(), null, 'it must not be null, got null'],
    [Type.Number(), Number.NaN, 'it must be a number, got NaN'],
    [Type.Number(), Infinity, 'it must be a number, got Infinity'],
    [Type.Boolean(), 0, 'it must be a boolean, got an integer'],
    [Type.String(), null, 'it must not be null, got null'],
    [Type.String(), 5, 'it must be a string, got an integer'],
    [Type.String(), { a: 1 }, 'it must be a string, got an object'],
    [Type.String({ format: 'date-time' }), new Date(Number.NaN), 'it must be a string, got an invalid date'],
    [Type.Enum(['a', 'b']), 'c', 'it must be one of: a, b, got a string'],
    [Type.Object({ a: Type.Optional(Type.Integer()) }), [], 'it must be an object, got an array'],
    [Type.Array(Type.Integer()), { length: 0 }, 'it must be an array, got an object'],
    [Type.Array(Type.Integer()), [1, undefined], '/1 must be an integer, got undefined'],
    // oxlint-disable-next-line no-sparse-arrays
    [Type.Array(Type.Integer()), [1, , 2], '/1 must be an integer, got undefined'],
    [Type.Object({ a: Type.Integer() }), {}, '/a is required, got undefined'],
    [Type.Object({ a: Type.Integer() }), { a: undefined }, '/a is required, got undefined'],
    [Type.Object({}), null, 'it must not be null, got null'],
    [Type.Any(), { deep: [1, Number.NaN] }, '/deep/1 must be a value that JSON has, got NaN'],
    [Type.Any(), undefined, 'it must be JSON, got undefined'],
    [Type.String({ format: 'email' }), 'nobody', 'it must be an e-mail address, got a string'],
    [Type.String({ maxLength: 1 }), 'ab', 'it must be at most 1 character, got a string'],
  ];
  for (const [schema, value, message] of wrong) {
    t.equal(refusal(schema, value), `The response does not fit its schema: ${message}`);
  }
});

t.test('values that are not JSON yet are written by their schema', async (t) => {
  const date = new Date('2026-01-02T03:04:05.006Z');
  t.equal(
    written(Type.Object({ at: Type.String({ format: 'date-time' }) }), { at: date }),
    '{"at":"2026-01-02T03:04:05.006Z"}',
  );
  t.equal(written(Type.Union([Type.String(), Type.Null()]), date), '"2026-01-02T03:04:05.006Z"');
  const local = new Date(2026, 0, 2, 3, 4, 5);
  t.equal(written(Type.String({ format: 'date' }), local), '"2026-01-02"');
  t.equal(written(Type.String({ format: 'time' }), local), '"03:04:05"');
  t.equal(written(Type.Integer(), 9007199254740993n), '9007199254740993');
  t.match(refusal(Type.Integer({ maximum: 5 }), 9007199254740993n), 'must be <= 5');
  t.match(refusal(Type.Integer({ maximum: 5 }), 6n), 'must be <= 5');
  t.equal(written(Type.String(), 9007199254740993n), '"9007199254740993"');
  class Book {
    readonly title = 'Elm';
    get pages() {
      return 7;
    }
    shout() {
      return this.title;
    }
  }
  const schema = Type.Object({ title: Type.String(), pages: Type.Integer(), shout: Type.Optional(Type.Any()) });
  t.equal(written(schema, new Book()), '{"title":"Elm","pages":7}');
  t.equal(written(Type.Union([schema, Type.Null()]), new Book()), '{"title":"Elm","pages":7}');
  t.equal(written(Type.Object({ a: Type.Integer() }), { toJSON: () => ({ a: 1, b: 2 }) }), '{"a":1}');
});

t.test('only the properties of the schema are written, in its order', async (t) => {
  const schema = Type.Object({
    b: Type.Integer(),
    a: Type.Optional(Type.String()),
    c: Type.Array(Type.Object({ d: Type.Null() })),
  });
  t.equal(written(schema, { a: 'x', b: 1, c: [{ d: null, e: 1 }], e: 2 }), '{"b":1,"a":"x","c":[{"d":null}]}');
  t.equal(written(schema, { b: 1, c: [], a: undefined }), '{"b":1,"c":[]}');
  t.equal(written(Type.Object({ a: Type.Optional(Type.Integer()) }), {}), '{}');
  t.equal(written(Type.Object({ a: Type.Integer({ default: 3 }) }), {}), '{"a":3}');
  t.equal(written(Type.Unsafe({ type: 'object' }), { a: 1 }), '{"a":1}', 'an object of any properties');
});

t.test('a union is written by the members that fit', async (t) => {
  const Name = Type.Object({ name: Type.String() });
  const Person = Type.Object({ name: Type.String(), email: Type.String() });
  t.equal(
    written(Type.Array(Type.Union([Name, Person])), [{ name: 'a' }, { name: 'b', email: 'c', age: 1 }]),
    '[{"name":"a"},{"name":"b","email":"c"}]',
  );
  const Hours = Type.Union([Type.Object({ from: Type.String({ format: 'time' }) }), Type.Null()]);
  t.equal(written(Hours, { from: '09:30:00' }), '{"from":"09:30:00"}');
  t.match(refusal(Hours, { from: '9:30' }), '/from must be a time of day such as 23:59:59, got a string');
});

/** Makes random schemas, and values that fit them or nearly do. */
class Dice {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = numbers(seed);
  }

  roll(count: number): number {
    return Math.floor(this.#next() * count);
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.roll(items.length)] as Item;
  }

  schema(depth: number): TSchema {
    const scalars: readonly (() => TSchema)[] = [
      () =>
        Type.String(
          this.pick([
            {},
            { minLength: 1 },
            { maxLength: 3 },
            { pattern: '^a' },
            { format: this.pick(['date', 'time', 'date-time', 'email', 'uuid']) },
          ]),
        ),
      () => Type.Integer(this.pick([{}, { minimum: 0 }, { exclusiveMaximum: 5 }, { multipleOf: 2 }])),
      () => Type.Number(this.pick([{}, { maximum: 3 }, { multipleOf: 0.5 }])),
      () => Type.Boolean(),
      () => Type.Null(),
      () => Type.Literal(this.pick(['a', 1, true])),
      () => Type.Unsafe({ enum: ['a', 'b', null, { a: 1 }] }),
      () =>
        Type.Unsafe({
          type: this.pick([
            ['string', 'null'],
            ['integer', 'null'],
            ['string', 'integer'],
            ['boolean', 'null', 'number'],
          ]),
        }),
      () => Type.Any(),
    ];
    const nested: readonly (() => TSchema)[] = [
      () => this.object(depth),
      () => ({ ...this.object(depth), type: ['object', 'null'] }),
      () =>
        Type.Array(this.schema(depth - 1), this.pick([{}, { maxItems: 2 }, { minItems: 1 }, { uniqueItems: true }])),
      () => Type.Union([this.schema(depth - 1), this.schema(depth - 1)]),
      () => Type.Unsafe({ oneOf: [this.schema(depth - 1), this.schema(depth - 1)] }),
      () => Type.Intersect([this.object(depth), this.object(depth)]),
      () => Type.Record(Type.String(), this.schema(depth - 1)),
      () => Type.Tuple([this.schema(depth - 1), this.schema(depth - 1)]),
    ];
    return this.pick(depth > 0 ? [...scalars, ...nested, ...nested] : scalars)();
  }

  object(depth: number): TSchema {
    const names = ['a', 'b', 'quo"te', 'é', 'constructor'].filter(() => this.roll(2) === 0);
    const properties = names.map((name) => {
      const schema = this.schema(depth - 1);
      return [name, this.roll(3) === 0 ? Type.Optional(schema) : schema] as const;
    });
    return Type.Object(
      Object.fromEntries(properties),
      this.pick([{}, {}, { additionalProperties: false }, { additionalProperties: true }]),
    );
  }

  /** A value near a schema. */
  value(given: TSchema): unknown {
    if (this.roll(25) === 0) return this.stray();
    const schema = given as Readonly<Record<string, unknown>>;
    const member = schema['anyOf'] ?? schema['oneOf'];
    if (member !== undefined) return this.value(this.pick(member as TSchema[]));
    if (schema['allOf'] !== undefined) {
      return Object.assign({}, ...(schema['allOf'] as TSchema[]).map((part) => this.value(part)));
    }
    if (schema['const'] !== undefined) return schema['const'];
    if (schema['enum'] !== undefined) return this.pick(schema['enum'] as unknown[]);
    switch (this.pick([schema['type'] ?? 'any'].flat() as string[])) {
      case 'string':
        return this.pick([
          '',
          'a',
          'abc',
          'a"\\\n\u0007é\ud83d\ude00',
          'a'.repeat(50),
          '2026-01-02',
          '09:30:00',
          '2026-01-02T03:04:05Z',
          new Date(0),
          'a@example.com',
          '123e4567-e89b-42d3-a456-426614174000',
        ]);
      case 'integer':
        return this.pick([0, -0, 1, 2, 4, -7, 2 ** 53, 10n]);
      case 'number':
        return this.pick([0, 0.5, 1.25, 1e21, -1e-7, 3]);
      case 'boolean':
        return this.roll(2) === 0;
      case 'null':
        return null;
      case 'array': {
        const items = schema['items'] as TSchema | TSchema[] | undefined;
        if (Array.isArray(items)) return items.map((item) => this.value(item));
        return Array.from({ length: this.roll(4) }, () => (items === undefined ? this.stray() : this.value(items)));
      }
      case 'object': {
        const named = Object.entries(
          (schema['properties'] ?? schema['patternProperties'] ?? {}) as Record<string, TSchema>,
        );
        const kept = named.filter(() => this.roll(15) > 0).map(([name, part]) => [name, this.value(part)] as const);
        const more = this.roll(3) === 0 ? [['extra', this.stray()] as const] : [];
        return Object.fromEntries([...kept, ...more]);
      }
      default:
        return this.stray();
    }
  }

  stray(): unknown {
    return this.pick([
      null,
      undefined,
      0,
      1.5,
      '',
      '5',
      true,
      [],
      [1],
      {},
      { a: 1 },
      Number.NaN,
      Infinity,
      new Date(Number.NaN),
      new Date(0),
      () => 1,
      5n,
      { toJSON: () => ({ a: 'a' }) },
    ]);
  }
}

/** The text of a value; undefined if it does not fit. */
function textOrNothing(serialize: (value: unknown) => string, value: unknown): string | undefined {
  try {
    return serialize(value);
  } catch (error) {
    if ((error as Error).name !== 'UnfitValue') throw error;
    return undefined;
  }
}

/** True for a value without dates, bigints and objects with `toJSON`. */
function isJson(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'bigint';
  return !('toJSON' in value) && Object.values(value).every(isJson);
}

t.test('generated code and the compiled schema write the same, for random schemas and values', async (t) => {
  const dice = new Dice(20261128);
  let [fitting, unfit] = [0, 0];
  for (let round = 0; round < 1500; round++) {
    const schema = dice.schema(3);
    const serialize = compileSerializer(schema);
    const node = compileSchema(schema, 'response');
    // The same document as a union of itself, which generated code leaves to the compiled schema.
    const slow = compileSerializer(Type.Unsafe({ anyOf: [schema] }));
    for (let count = 0; count < 20; count++) {
      const value = dice.value(schema);
      const reading = new Reading(1);
      node.read(value, reading);
      const text = textOrNothing(serialize, value);
      if (text === undefined) {
        unfit += 1;
        continue;
      }
      fitting += 1;
      const about = (): string => `${JSON.stringify(schema)} ${text}`;
      if (reading.faults.length > 0) t.fail(`was written, but does not fit: ${about()}`);
      // Inside a union, further properties of a closed object are rejected, and defaults are not filled in.
      if (!JSON.stringify(schema).includes('"additionalProperties":false') && slow(value) !== text) {
        t.fail(`is written in two ways: ${about()}`);
      }
      // Any JSON that is sent whole is valid in a body.
      const sent: unknown = JSON.parse(text);
      if (!isJson(value) || !isDeepStrictEqual(sent, JSON.parse(JSON.stringify(value)))) continue;
      t.doesNotThrow(() => compileValidator(schema, 'body')(sent), about());
    }
  }
  t.ok(fitting > 10_000 && unfit > 3000, `${fitting} values that fit, and ${unfit} that do not`);
});
