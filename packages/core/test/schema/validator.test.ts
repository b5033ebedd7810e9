import t from 'tap';
import { Type, type TSchema } from 'typebox';
import type { ErrorDetail, InvalidUsage } from '../../src/errors/errors.ts';
import { compileValidator } from '../../src/schema/validator.ts';

/** The details of the InvalidUsage that a body comes to, as `path message`; an empty list for a valid one. */
function problems(schema: TSchema, value: unknown, where: ErrorDetail['in'] = 'body'): string[] {
  return inspecting(schema, where)(value);
}

/** As `problems`, by one validator for value after value. */
function inspecting(schema: TSchema, where: ErrorDetail['in'] = 'body'): (value: unknown) => string[] {
  const validate = compileValidator(schema, where);
  return (value) => problemsOf(() => validate(value), where);
}

function problemsOf(validate: () => unknown, where: ErrorDetail['in']): string[] {
  try {
    validate();
    return [];
  } catch (error) {
    const { name, statusCode, code, details = [] } = error as InvalidUsage;
    if (name !== 'InvalidUsage' || statusCode !== 400 || code !== 'invalid_usage') throw error;
    return details.map((detail) => {
      if (detail.in !== where) throw new Error(`in ${detail.in}`, { cause: error });
      return `${detail.path} ${detail.message}`;
    });
  }
}

const body = (schema: TSchema, value: unknown): unknown => compileValidator(schema, 'body')(value);

const Product = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 5 }),
  price: Type.Number({ exclusiveMinimum: 0, multipleOf: 0.01 }),
  stock: Type.Optional(Type.Integer({ minimum: 0 })),
});

t.test('every invalid field is named, and a missing one by its path', async (t) => {
  t.same(problems(Product, { price: 0, stock: 1.5 }), [
    '/name is required',
    '/price must be > 0',
    '/stock must be an integer',
  ]);
  t.same(problems(Product, { name: '', price: '12', stock: null }), [
    '/name must not be empty',
    '/price must be a number',
    '/stock must not be null',
  ]);
});

t.test('the sentence names the first fields and how many more there are', async (t) => {
  const message = (value: unknown): string => {
    try {
      body(Product, value);
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  t.equal(message({ name: 'a', price: 0 }), 'Invalid body: price must be > 0');
  t.equal(message([]), 'Invalid body: the body must be an object');
  const many = Type.Object({
    a: Type.String(),
    'b/c': Type.Object({ d: Type.Integer() }),
    e: Type.Null(),
    f: Type.Boolean(),
  });
  t.throws(() => body(many, { a: 1, 'b/c': { d: 'x' }, e: 1, f: 1 }), {
    message: 'Invalid body: a must be a string; b/c.d must be an integer; e must be null; and 1 more',
  });
});

t.test('a body that is not an object is rejected', async (t) => {
  for (const value of [null, [], 'x', 3, true, undefined]) {
    t.equal(problems(Product, value).length, 1, JSON.stringify(value));
  }
});

t.test('values of a body are not coerced', async (t) => {
  const schema = Type.Object({ n: Type.Integer(), s: Type.String(), b: Type.Boolean(), a: Type.Array(Type.String()) });
  t.equal(problems(schema, { n: '1', s: 1, b: 'true', a: 'x' }).length, 4);
  t.equal(problems(schema, { n: true, s: null, b: 1, a: null }).length, 4);
});

t.test('lengths count code points', async (t) => {
  t.same(body(Product, { name: '😀😀😀😀😀', price: 1 }), { name: '😀😀😀😀😀', price: 1 });
  t.same(problems(Product, { name: '😀😀😀😀😀😀', price: 1 }), ['/name must be at most 5 characters']);
});

t.test('multipleOf is checked in decimal arithmetic', async (t) => {
  for (const price of [0.29, 12345678.91, 1.1, 4.35]) {
    t.same(problems(Product, { name: 'a', price }), [], String(price));
  }
  for (const price of [1.005, 1e-7]) {
    t.same(problems(Product, { name: 'a', price }), ['/price must have at most 2 decimals'], String(price));
  }
  t.same(problems(Type.Number({ multipleOf: 5 }), 7), [' must be a multiple of 5']);
});

t.test('the errors of one body or place do not appear in another', async (t) => {
  const Cents = Type.Number({ multipleOf: 0.01 });
  const wrong = (path: string): string => `${path} must have at most 2 decimals`;
  const list = Type.Object({ prices: Type.Array(Cents) });
  const validateList = inspecting(list);
  t.same(validateList({ prices: [1.001] }), [wrong('/prices/0')]);
  t.same(validateList({ prices: [1, 2, 3.001] }), [wrong('/prices/2')]);
  t.same(validateList({ prices: [1.001, 2.001] }), [wrong('/prices/0'), wrong('/prices/1')]);
  const validatePair = inspecting(Type.Object({ a: Cents, b: Type.String({ minLength: 3 }) }));
  const tooShort = '/b must be at least 3 characters';
  t.same(validatePair({ a: 1.001, b: 'x' }), [wrong('/a'), tooShort]);
  t.same(validatePair({ a: 1.001, b: 'xxx' }), [wrong('/a')]);
  t.same(validatePair({ a: 1, b: 'x' }), [tooShort]);
});

t.test('numbers that JSON cannot carry are refused', async (t) => {
  t.same(problems(Product, { name: 'a', price: NaN }), ['/price must be a number']);
  for (const price of [Infinity, -Infinity]) {
    t.same(problems(Product, { name: 'a', price }), ['/price is a number that is too large']);
  }
  const rounded = 'is a whole number that would be rounded; send it as a text';
  t.same(problems(Product, { name: 'a', price: 9007199254740993n }), [`/price ${rounded}`]);
  const set = Type.Array(Type.Unknown(), { uniqueItems: true });
  t.same(problems(set, [9007199254740993n, { a: [9007199254740995n] }]), [`/0 ${rounded}`, `/1/a/0 ${rounded}`]);
  t.same(problems(Type.Literal(5), 9007199254740993n), [` ${rounded}`]);
});

t.test('messages are for people', async (t) => {
  const cases: [TSchema, unknown, string][] = [
    [Type.String({ minLength: 3 }), 'a', 'must be at least 3 characters'],
    [Type.String({ maxLength: 1 }), 'ab', 'must be at most 1 character'],
    [Type.String({ pattern: '^a$' }), 'b', 'must match pattern "^a$"'],
    [Type.String({ pattern: /^a$/ }), 'b', 'must match pattern "^a$"'],
    [Type.String({ format: 'email' }), 'b', 'must be an e-mail address'],
    [Type.String({ format: 'uuid' }), 'b', 'must be a UUID'],
    [Type.String({ format: 'date' }), '2026-02-30', 'must be a date such as 2026-01-31'],
    [Type.String({ format: 'date-time' }), '2026-01-01', 'must be a date and time such as 2026-01-31T12:00:00Z'],
    [Type.String({ format: 'iri' }), ' ', 'must be of the format iri'],
    [Type.Integer({ maximum: 3 }), 4, 'must be <= 3'],
    [Type.Integer({ exclusiveMaximum: 3 }), 3, 'must be < 3'],
    [Type.Array(Type.Null(), { maxItems: 1 }), [null, null], 'must have at most 1 item'],
    [Type.Array(Type.Null(), { minItems: 2 }), [], 'must have at least 2 items'],
    [Type.Array(Type.Number(), { uniqueItems: true }), [1, 1], 'must not have the same item twice'],
    [Type.Literal('a'), 'b', 'must be a'],
    [Type.Union([Type.Literal('a'), Type.Literal(2), Type.Null()]), 'b', 'must be one of: a, 2, null'],
    [Type.Enum(['a', 'b']), 'c', 'must be one of: a, b'],
    [Type.Union([Type.String(), Type.Null()]), 1, 'must be a string or null'],
    [
      Type.Union([Type.String(), Type.Integer(), Type.Array(Type.Null())]),
      true,
      'must be a string, an integer or an array',
    ],
    [Type.Never(), 1, 'is not allowed'],
    [
      Type.Refine(
        Type.String(),
        (text) => text === text.trim(),
        () => 'must not have spaces around it',
      ),
      ' a',
      'must not have spaces around it',
    ],
    [Type.Object({ a: Type.Optional(Type.Null()) }, { minProperties: 1 }), {}, 'must NOT have fewer than 1 properties'],
  ];
  for (const [schema, value, message] of cases) t.same(problems(schema, value), [` ${message}`], message);
});

t.test('NUL characters and lone surrogates are rejected everywhere, in known and unknown properties', async (t) => {
  const schema = Type.Object({
    json: Type.Optional(Type.Unknown()),
    name: Type.Optional(Type.String({ maxLength: 1 })),
  });
  t.same(problems(schema, { json: { deep: ['a\0'] } }), ['/json/deep/0 must not contain a NUL character']);
  t.same(problems(schema, { unknown: '\ud800' }), ['/unknown must be well-formed Unicode']);
  t.same(problems(schema, { json: { 'a\0': 1 } }), ['/json the name of a property must not contain a NUL character']);
  t.same(problems(schema, { 'a\udc00': 1 }), [' the name of a property must be well-formed Unicode']);
  t.same(
    problems(schema, { name: 'ab\0' }),
    ['/name must not contain a NUL character'],
    'and that is all that is said of it',
  );
  t.same(body(schema, { json: '\\u0000 😀' }), { json: '\\u0000 😀' });
});

t.test('a document that is nested too deep is refused, and no stack overflows', async (t) => {
  const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
  const schema = Type.Object({ json: Type.Unknown() });
  t.same(problems(schema, { json: nested(99) }), []);
  t.match(problems(schema, { json: nested(101) }), [/must not be nested more than 100 levels deep$/]);
  t.match(problems(schema, { json: nested(200_000) }), [/must not be nested more than 100 levels deep$/]);
  const Tree = Type.Cyclic({ Tree: Type.Object({ child: Type.Optional(Type.Ref('Tree')) }) }, 'Tree');
  t.same(problems(Tree, { child: { child: {} } }), []);
});

t.test('a response names at most 50 problems and stays small', async (t) => {
  const schema = Type.Object({
    a: Type.Array(Type.String()),
    r: Type.Optional(Type.Record(Type.String(), Type.String())),
  });
  t.equal(problems(schema, { a: Array(1000).fill(1) }).length, 50);
  t.same(
    problems(schema, { a: Array(100_000).fill(1) }),
    ['/a/0 must be a string'],
    'of a huge body, only the first is sought',
  );
  t.equal(problems(schema, { a: Array(1000).fill('\0') }).length, 50);
  const [long = ''] = problems(schema, { a: [], r: { ['k'.repeat(10_000)]: 1 } });
  t.ok(long.length < 400);
});

t.test('unknown properties are dropped at every depth, and the given value is not changed', async (t) => {
  const schema = Type.Object({
    o: Type.Object({ a: Type.Number() }, { additionalProperties: false }),
    l: Type.Array(Type.Object({ a: Type.Number() })),
    t: Type.Tuple([Type.Object({ a: Type.Number() }), Type.String()]),
    r: Type.Record(Type.String(), Type.Object({ a: Type.Number() })),
    any: Type.Unknown(),
    open: Type.Object({ a: Type.Number() }, { additionalProperties: true }),
    rest: Type.Object({ a: Type.Number() }, { additionalProperties: Type.Object({ b: Type.Number() }) }),
    opt: Type.Optional(Type.Object({ a: Type.Number() })),
    part: Type.Partial(Type.Object({ a: Type.Number(), b: Type.Number() })),
  });
  const value = {
    x: 1,
    o: { a: 1, x: 1 },
    l: [{ a: 1, x: 1 }],
    t: [{ a: 1, x: 1 }, 's'],
    r: { k: { a: 1, x: 1 } },
    any: { x: { y: [1] } },
    open: { a: 1, x: 1 },
    rest: { a: 1, x: { b: 1, y: 1 } },
    part: { b: 1, x: 1 },
  };
  const before = structuredClone(value);
  t.same(body(schema, value), {
    o: { a: 1 },
    l: [{ a: 1 }],
    t: [{ a: 1 }, 's'],
    r: { k: { a: 1 } },
    any: { x: { y: [1] } },
    open: { a: 1, x: 1 },
    rest: { a: 1, x: { b: 1 } },
    part: { b: 1 },
  });
  t.same(value, before);
});

t.test('a value that is kept is copied without unsafe names', async (t) => {
  const cases: [TSchema, string][] = [
    [Type.Object({}, { additionalProperties: true }), '{"o":{"__proto__":{"x":1},"a":[1]}}'],
    [Type.Unsafe({ type: 'array', items: [{ type: 'string' }] }), '["a",{"__proto__":{"x":1},"a":[1]}]'],
    [Type.Unknown(), '{"o":[{"__proto__":{"x":1},"a":[1]}]}'],
  ];
  for (const [schema, text] of cases) {
    const value = JSON.parse(text) as object;
    const kept = body(schema, value) as object;
    t.equal(JSON.stringify(kept), text.replace('"__proto__":{"x":1},', ''), text);
    t.not(Object.values(kept).at(-1), Object.values(value).at(-1), 'and shares nothing with what was received');
  }
});

t.test('a property of any part of an intersection is known', async (t) => {
  const schema = Type.Intersect([
    Type.Object({ a: Type.String() }, { additionalProperties: false }),
    Type.Object({ b: Type.Object({ c: Type.Number() }) }),
    Type.Object({ b: Type.Object({ d: Type.Number() }) }),
  ]);
  t.same(body(schema, { a: 'x', b: { c: 1, d: 2, x: 3 }, x: 4 }), { a: 'x', b: { c: 1, d: 2 } });
  t.same(problems(schema, { a: 1, b: { c: 1 } }), ['/a must be a string', '/b/d is required']);
  const composite = Type.Evaluate(
    Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({ b: Type.String() })]),
  );
  t.same(body(composite, { a: 'x', b: 'y', x: 1 }), { a: 'x', b: 'y' });
});

t.test('in a union, the properties of the matching members are known', async (t) => {
  const schema = Type.Union([
    Type.Object({ kind: Type.Literal('a'), x: Type.Number() }),
    Type.Object({ kind: Type.Literal('b'), y: Type.Object({ z: Type.String() }) }, { additionalProperties: false }),
  ]);
  t.same(body(schema, { kind: 'a', x: 1, y: { z: 'q' }, w: 2 }), { kind: 'a', x: 1 });
  t.same(body(schema, { kind: 'b', y: { z: 'q', w: 1 } }), { kind: 'b', y: { z: 'q' } });
  t.same(problems(schema, { kind: 'b', x: 1, y: { z: 'q' } }), ['/x is not allowed'], 'of a closed member');
  t.same(body(Type.Object({ u: Type.Array(schema) }), { u: [{ kind: 'a', x: 1, y: 1 }] }), {
    u: [{ kind: 'a', x: 1 }],
  });
  const overlapping = Type.Union([
    Type.Object({ a: Type.Number() }),
    Type.Object({ a: Type.Number(), b: Type.Number() }),
  ]);
  t.same(body(overlapping, { a: 1, b: 2, c: 3 }), { a: 1, b: 2 });
  const nullable = Type.Object({ o: Type.Union([Type.Object({ a: Type.Number() }), Type.Null()]) });
  t.same(body(nullable, { o: { a: 1, b: 2 } }), { o: { a: 1 } });
  t.same(body(nullable, { o: null }), { o: null });
});

t.test('the errors of a union are those of the member that fits best', async (t) => {
  const schema = Type.Union([
    Type.Object({ kind: Type.Literal('a'), x: Type.Number() }),
    Type.Object({ kind: Type.Literal('b'), y: Type.String() }),
  ]);
  t.same(problems(schema, { kind: 'b', y: 1 }), ['/y must be a string']);
  t.same(problems(schema, { kind: 'c' }), ['/kind must be one of: a, b']);
  t.same(problems(schema, 3), [' must be an object']);
  t.same(problems(Type.Object({ n: Type.Union([Type.String({ maxLength: 2 }), Type.Null()]) }), { n: 'abc' }), [
    '/n must be at most 2 characters',
  ]);
  t.same(problems(Type.Object({ u: schema, v: Type.String() }), { u: { kind: 'a', x: 'x' }, v: 1 }), [
    '/u/x must be a number',
    '/v must be a string',
  ]);
});

t.test('a schema may contain itself', async (t) => {
  const Node = Type.Cyclic(
    {
      Node: Type.Object({
        value: Type.Number(),
        next: Type.Optional(Type.Ref('Node')),
        either: Type.Optional(Type.Union([Type.Ref('Node'), Type.Object({ leaf: Type.Literal(true) })])),
      }),
    },
    'Node',
  );
  const value = { value: 1, x: 1, next: { value: 2, x: 1, either: { value: 3, x: 1 } } };
  t.same(body(Node, value), { value: 1, next: { value: 2, either: { value: 3 } } });
  t.same(body(Type.Object({ n: Node }), { n: { value: 1, x: 1, either: { leaf: true, x: 1 } } }), {
    n: { value: 1, either: { leaf: true } },
  });
  t.same(problems(Node, { value: 1, next: { value: '2' } }), ['/next/value must be a number']);
});

t.test('names that reach a prototype are never written', async (t) => {
  const evil = JSON.parse(
    '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"prototype":1,"any":{"__proto__":{"admin":true},"a":1},"r":{"__proto__":{"v":1},"k":{"v":1}}}',
  ) as object;
  const schema = Type.Object({ any: Type.Unknown(), r: Type.Record(Type.String(), Type.Object({ v: Type.Number() })) });
  const kept = body(schema, evil) as { any: object; r: object };
  t.strictSame(kept, { any: { a: 1 }, r: { k: { v: 1 } } });
  for (const object of [kept, kept.any, kept.r]) {
    t.equal(Object.getPrototypeOf(object), Object.prototype);
    t.notOk('admin' in object);
  }
  t.notOk('admin' in {});
  t.throws(() => compileValidator(Type.Object({ ['__proto__']: Type.String() }), 'body'), {
    name: 'ImproperlyConfigured',
    message: /"__proto__"/,
  });
});

t.test('every other name is a property like any, those that objects inherit too', async (t) => {
  const value = { constructor: { prototype: 1 }, prototype: { constructor: 2 }, toString: 'x' };
  t.equal(
    JSON.stringify(body(Type.Object({ json: Type.Unknown() }), { json: value })),
    JSON.stringify({ json: value }),
  );
  const schema = Type.Object({
    constructor: Type.String({ maxLength: 3 }),
    valueOf: Type.String(),
    toString: Type.Optional(Type.String()),
  });
  t.strictSame(body(schema, { constructor: 'a', valueOf: 'b' }), { constructor: 'a', valueOf: 'b' });
  t.same(problems(schema, { constructor: 'long', toString: 1 }), [
    '/constructor must be at most 3 characters',
    '/valueOf is required',
    '/toString must be a string',
  ]);
});

t.test('a schema that is changed once its validator is made changes nothing', async (t) => {
  const schema = Type.Object({ a: Type.Object({ b: Type.String() }) });
  const validate = compileValidator(schema, 'body');
  for (const part of [schema, schema.properties.a, schema.properties.a.properties.b]) {
    Object.assign(part, { additionalProperties: false, maxLength: 1, 'x-note': 'of a documentation' });
  }
  t.same(validate({ a: { b: 'two', c: 1 }, d: 1 }), { a: { b: 'two' } });
});

t.test('a property may have the name of a keyword', async (t) => {
  const schema = Type.Object({ anyOf: Type.Optional(Type.String()), if: Type.Optional(Type.Boolean()) });
  t.same(body(schema, { anyOf: 'a', if: true, not: 1 }), { anyOf: 'a', if: true });
});

t.test('defaults are filled in at every existing depth, with a new value each time', async (t) => {
  const schema = Type.Object({
    n: Type.Integer({ default: 3 }),
    list: Type.Optional(Type.Array(Type.String(), { default: [] })),
    o: Type.Optional(Type.Object({ p: Type.String({ default: 'x' }), q: Type.Optional(Type.Null()) })),
    l: Type.Optional(Type.Array(Type.Object({ p: Type.String({ default: 'y' }) }))),
  });
  const validate = compileValidator(schema, 'body');
  const first = validate({ o: {}, l: [{}, { p: 'z' }] }) as { list: string[] };
  t.same(first, { n: 3, list: [], o: { p: 'x' }, l: [{ p: 'y' }, { p: 'z' }] });
  first.list.push('kept');
  t.same(validate({}), { n: 3, list: [] });
  t.same(problems(schema, { n: null }), ['/n must not be null'], 'null is not absent');
});

t.test('a refinement is called only with a value that is otherwise valid', async (t) => {
  const parts = Type.Object({ from: Type.Integer(), to: Type.Integer(), name: Type.String() });
  const Range = Type.Refine(
    parts,
    ({ from, to, name }) => from <= to && name.startsWith('a'),
    ({ from }) => `must not end before ${from}`,
  );
  t.same(problems(Range, { from: 2, to: 1, name: 'a' }), [' must not end before 2']);
  t.same(problems(Range, {}), ['/from is required', '/to is required', '/name is required'], 'it would have thrown');
  t.same(problems(Range, { from: 1, to: 2, name: 5 }), ['/name must be a string']);
  t.same(problems(Range, null), [' must not be null']);
  const Word = Type.Refine(
    Type.String({ minLength: 2 }),
    (text) => text === text.trim(),
    () => 'must be trimmed',
  );
  t.same(problems(Type.Union([Word, Type.Null()]), 5), [' must be a string or null']);
  t.same(problems(Type.Union([Word, Type.Null()]), ' ab'), [' must be trimmed']);
  t.same(problems(Type.Union([Range, Type.Object({ only: Type.Null() })]), { only: null }), []);
  const Broken = Type.Refine(Type.String(), () => {
    throw new TypeError('a mistake of the programmer');
  });
  t.throws(() => body(Broken, 'a'), { name: 'TypeError' }, 'which is not to be passed off as one of the client');
});

t.test('texts of a query string are converted to the types of the schema', async (t) => {
  const schema = Type.Object({
    q: Type.Optional(Type.String()),
    n: Type.Optional(Type.Integer()),
    f: Type.Optional(Type.Number()),
    b: Type.Optional(Type.Boolean()),
    ints: Type.Optional(Type.Array(Type.Integer())),
    orNull: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
    choice: Type.Optional(Type.Union([Type.Literal(3), Type.Literal('x')])),
    either: Type.Optional(Type.Union([Type.Integer(), Type.Literal('all')])),
    limit: Type.Integer({ default: 10 }),
  });
  const query = (value: unknown): unknown => compileValidator(schema, 'query')(value);
  t.same(
    query({ q: '12', n: '-12', f: '1.5e3', b: 'false', ints: '3', orNull: '4', choice: '3', either: '7', junk: 'x' }),
    {
      q: '12',
      n: -12,
      f: 1500,
      b: false,
      ints: [3],
      orNull: 4,
      choice: 3,
      either: 7,
      limit: 10,
    },
  );
  t.same(query({ ints: ['1', '', '2'], either: 'all', choice: 'x', q: '', n: '' }), {
    ints: [1, 2],
    either: 'all',
    choice: 'x',
    limit: 10,
  });
  const one = Type.Object({ id: Type.Unsafe({ oneOf: [{ type: 'integer' }, { type: 'string' }] }) });
  t.same(compileValidator(one, 'query')({ id: '7' }), { id: 7 }, 'a text that a member reads is of that form alone');
  t.same(compileValidator(one, 'query')({ id: 'x' }), { id: 'x' });
  const two = Type.Object({
    id: Type.Unsafe({ oneOf: [{ type: 'integer' }, { type: 'number' }, { type: 'string' }] }),
  });
  t.same(problems(two, { id: '7' }, 'query'), ['/id must match exactly one of the forms allowed']);
  for (const n of ['012', '1e3', ' 1', '1.0', '0x1', '+1', '-0', '9007199254740993', 'NaN', 'true']) {
    t.same(problems(schema, { n }, 'query'), ['/n must be an integer'], n);
  }
  for (const f of ['', 'Infinity', 'NaN', '1e999', '.5', '0x10']) {
    t.same(problems(schema, { f }, 'query'), f === '' ? [] : ['/f must be a number'], f);
  }
  for (const b of ['1', '0', 'TRUE', 'yes']) t.same(problems(schema, { b }, 'query'), ['/b must be a boolean'], b);
  t.same(problems(schema, { orNull: 'null' }, 'query'), ['/orNull must be an integer or null']);
  t.same(problems(schema, { n: null }, 'query'), ['/n must not be null'], 'null is never coerced');
  t.same(problems(schema, { n: ['1', '2'], q: ['a', 'b'] }, 'query'), [
    '/q must be given only once',
    '/n must be given only once',
  ]);
  t.same(problems(schema, { ints: ['1', 'x'] }, 'query'), ['/ints/1 must be an integer']);
  t.same(problems(schema, { q: 'a\0' }, 'query'), ['/q must not contain a NUL character']);
});

t.test('the texts of a path are coerced too, and an empty one is there', async (t) => {
  const schema = Type.Object({ pk: Type.Integer() });
  t.same(compileValidator(schema, 'params')({ pk: '7' }), { pk: 7 });
  t.same(problems(schema, { pk: '' }, 'params'), ['/pk must be an integer']);
  t.throws(() => compileValidator(schema, 'params')({ pk: 'x' }), { message: 'Invalid path: pk must be an integer' });
});

t.test('a schema that cannot be kept to is refused at once', async (t) => {
  const circle: { again?: unknown } = {};
  circle.again = circle;
  const refused: [TSchema, RegExp][] = [
    [Type.String({ maxLenght: 3 }), /unknown keyword: "maxLenght"/],
    [Type.String({ '~guard': { check: () => false } }), /unknown keyword: "~guard"/],
    [Type.String({ format: 'emial' as never }), /unknown format "emial"/],
    [Type.String({ format: 'toString' as never }), /unknown format "toString"/],
    [Type.Record(Type.String({ pattern: 'a(' }), Type.Null()), /a\(/],
    [Type.BigInt(), /bigint/],
    [Type.Number({ multipleOf: 0 }), /multipleOf must be greater than 0, not 0/],
    [Type.Codec(Type.String()).Decode(Number).Encode(String), /Type\.Codec/],
    [Type.Ref('Elsewhere'), /Elsewhere/],
    [Type.String({ pattern: 'a(' }), /pattern must be a regular expression, not "a\("/],
    [Type.String({ minLength: '1' as never }), /minLength must be a whole number from 0 on, not "1"/],
    [Type.Object({}, { default: circle }), /default must be JSON/],
  ];
  for (const [schema, message] of refused) {
    t.throws(() => compileValidator(Type.Object({ a: schema }), 'body'), { name: 'ImproperlyConfigured', message });
  }
  t.doesNotThrow(() =>
    compileValidator(Type.String({ example: 'a', 'x-internal': true, description: 'a', deprecated: true }), 'body'),
  );
});

/** A pattern that takes longer than anybody waits for thirty letters and a sign. */
const ENDLESS = '^(?:a+)+$';
const word = (length: number): string => `${'a'.repeat(length)}!`;

t.test('a text beyond its bound is put to no pattern and no format', async (t) => {
  const cases: [TSchema, string, string][] = [
    [Type.String({ maxLength: 20, pattern: ENDLESS }), word(60), 'must be at most 20 characters'],
    [Type.String({ minLength: 100, pattern: ENDLESS }), word(60), 'must be at least 100 characters'],
    [
      Type.Union([Type.String({ maxLength: 20, pattern: ENDLESS }), Type.Null()]),
      word(60),
      'must be at most 20 characters',
    ],
    [Type.String({ pattern: ENDLESS }), word(5000), 'must be at most 4096 characters'],
    [Type.String({ format: 'url' }), `http://${'a'.repeat(200_000)}`, 'must be at most 4096 characters'],
    [Type.String({ format: 'url', maxLength: 500_000 }), `http://${'a'.repeat(200_000)}`, 'must be a URL'],
    [
      Type.Record(Type.String({ pattern: ENDLESS }), Type.Null()),
      word(5000),
      'the name of a property must be at most 4096 characters',
    ],
  ];
  for (const [schema, text, message] of cases) {
    const value = 'patternProperties' in schema ? { [text]: null } : text;
    t.same(problems(schema, value), [` ${message}`], message);
  }
  t.same(problems(Type.String({ format: 'byte' }), 'AAAA'.repeat(50_000)), [], 'a file may stand in base64');
  t.same(problems(Type.String(), 'a'.repeat(50_000)), [], 'nor is a text bounded that nothing judges');
});

t.test('a URL is the address of something public on the web', async (t) => {
  const schema = Type.String({ format: 'url' });
  for (const url of [
    'http://example.com',
    'https://www.example.com:8080/a?b=c#d',
    'ftp://files.example.org/x.zip',
    'https://user:secret@example.com/',
    'https://bücher.example/ä',
    'http://93.184.216.34/',
  ]) {
    t.same(problems(schema, url), [], url);
  }
  for (const url of [
    'example.com',
    'javascript:alert(1)',
    'http:example.com',
    'http:///example.com',
    'http://localhost',
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://10.0.0.1',
    'http://169.254.169.254/latest',
    'http://192.168.1.1',
    'http://172.20.0.1',
    'http://[::1]/',
    'http://a_b.example.com',
    'http://example.com\\@127.0.0.1',
    'http://exa mple.com',
    ' http://example.com',
    'http://example.com\n',
  ]) {
    t.same(problems(schema, url), [' must be a URL'], url);
  }
});

t.test('items are compared in one pass, with properties in any order', async (t) => {
  const schema = Type.Array(Type.Unknown(), { uniqueItems: true });
  const twice = [' must not have the same item twice'];
  t.same(
    problems(schema, [
      { a: 1, b: [{ c: 1, d: 2 }] },
      { b: [{ d: 2, c: 1 }], a: 1 },
    ]),
    twice,
  );
  t.same(problems(schema, [1, '1', [1], ['1'], { 1: 1 }, null, 'null', true, 'true', 0, 1.5, '']), []);
  t.same(problems(schema, [0, -0]), twice);
  const many = Array.from({ length: 20_000 }, (_, index) => ({ index, name: 'an item' }));
  t.same(problems(schema, many), []);
  t.same(problems(schema, [...many, { name: 'an item', index: 19_999 }]), twice);
});

t.test('a value that several members of a union contain is checked once', async (t) => {
  const Children = Type.Array(Type.Ref('Rule'));
  const Rule = Type.Cyclic(
    {
      Rule: Type.Union([
        Type.Object({ of: Children, kind: Type.Literal('all') }),
        Type.Object({ of: Children, kind: Type.Literal('any') }),
        Type.Object({ price: Type.Number() }),
      ]),
    },
    'Rule',
  );
  const validate = inspecting(Rule);
  const nested = (depth: number, leaf: object): object =>
    depth === 0 ? leaf : { of: [nested(depth - 1, leaf)], kind: 'any' };
  t.same(validate(nested(45, { price: 1 })), []);
  t.same(validate(nested(45, { price: '1' })), [`${'/of/0'.repeat(45)}/price must be a number`]);
});

t.test('the rarer keywords are kept to', async (t) => {
  const cases: [object, unknown, string[]][] = [
    [{ contains: { type: 'integer' } }, ['a'], [' must contain at least 1 valid item(s)']],
    [{ contains: { type: 'integer' }, minContains: 2 }, [1, 2, 'a'], []],
    [{ not: { type: 'string' } }, 'a', [' is not allowed']],
    [{ oneOf: [{ type: 'number' }, { type: 'integer' }] }, 1, [' must match exactly one of the forms allowed']],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, [' the name of a property must be at most 1 character']],
    [{ dependentRequired: { a: ['b'] } }, { a: 1 }, ['/b is required']],
    [{ dependentSchemas: { a: { properties: { b: { type: 'null' } } } } }, { a: 1, b: 1 }, ['/b must be null']],
    [
      JSON.parse('{"if":{"properties":{"a":{"const":1}}},"then":{"properties":{"b":{"type":"null"}}}}') as object,
      { a: 1, b: 1 },
      ['/b must be null'],
    ],
    [
      { prefixItems: [{ type: 'integer' }], items: { type: 'string' } },
      ['a', 1],
      ['/0 must be an integer', '/1 must be a string'],
    ],
    [{ type: 'string', nullable: true }, null, []],
    [{ format: 'int32' }, 2 ** 31, [' must be of the format int32']],
    [{ $ref: '#/$defs/a', $defs: { a: { type: 'integer' } } }, 'x', [' must be an integer']],
  ];
  for (const [schema, value, expected] of cases) {
    t.same(problems(schema, value), expected, JSON.stringify(schema));
  }
});

t.test('inside a union or condition, a closed object rejects further properties', async (t) => {
  const closed = { additionalProperties: false };
  const contact = Type.Union([
    Type.Object({ email: Type.Optional(Type.String({ format: 'email' })) }, closed),
    Type.Object({ phone: Type.Optional(Type.String()) }, closed),
  ]);
  t.same(problems(contact, { email: 'nonsense' }), ['/email must be an e-mail address']);
  t.same(body(contact, { phone: '1' }), { phone: '1' });
  const one = Type.Unsafe({
    oneOf: [
      Type.Object({ id: Type.Integer() }, closed),
      Type.Object({ id: Type.Integer(), name: Type.String() }, closed),
    ],
  });
  t.same(body(one, { id: 1, name: 'x' }), { id: 1, name: 'x' });
  t.same(body(one, { id: 1 }), { id: 1 });
  const not = Type.Unsafe({ type: 'object', not: Type.Object({ a: Type.Integer() }, closed) });
  t.same(problems(not, { a: 1 }), [' is not allowed']);
  t.same(problems(not, { a: 1, b: 2 }), []);
  const nested = Type.Union([
    Type.Intersect([Type.Object({ a: Type.Integer() }), Type.Object({ b: Type.Integer() })], {
      unevaluatedProperties: false,
    }),
    Type.Object({ c: Type.Object({ d: Type.Optional(Type.Integer()) }, closed) }, closed),
  ]);
  t.same(body(nested, { a: 1, b: 2 }), { a: 1, b: 2 });
  t.same(problems(nested, { a: 1, b: 2, x: 3 }), ['/x is not allowed']);
  t.same(problems(nested, { c: { x: 1 } }), ['/c/x is not allowed']);
  t.same(body(Type.Object({ a: Type.Integer() }, closed), { a: 1, x: 2 }), { a: 1 }, 'elsewhere they are dropped');
});

t.test('a reference that only refers to itself ends with an error', async (t) => {
  t.same(problems(Type.Unsafe({ $ref: '#' }), 5), [' has a schema that only refers to itself']);
  t.same(problems(Type.Unsafe({ anyOf: [{ $ref: '#' }, { type: 'integer' }] }), 5), []);
});
