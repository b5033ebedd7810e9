import t from 'tap';
import { Type, type TSchema } from 'typebox';
import { InvalidUsage } from '../../src/errors.ts';
import { CompiledSchema } from '../../src/shapes/compiled-schema.ts';
import { FORMAT_NAMES } from '../../src/shapes/formats.ts';
import { newAjv } from '../../src/shapes/new-ajv.ts';
import { plainSchema } from '../../src/shapes/plain-schema.ts';
import { isSureToCompile } from '../../src/shapes/sure-schema.ts';
import { compileValidator } from '../../src/shapes/validator.ts';

const KEYWORDS =
  'title default deprecated example type const enum minimum exclusiveMaximum multipleOf minLength maxLength pattern format ' +
  'minItems maxItems uniqueItems items additionalItems contains minContains minProperties properties additionalProperties ' +
  'patternProperties propertyNames required dependentRequired dependentSchemas allOf anyOf oneOf not if then $ref $id ' +
  '$defs $anchor $async nullable discriminator unevaluatedProperties refine constructor maxLenght';

const NUMBERS = [-1, 1, 1.5, NaN, Infinity, 10n];
const TEXTS = ['', 'a', '1', 'string', 'date', '#', '#/nowhere', '^a$', 'a(', '\\_'];
const LISTS = [[], ['a'], ['string', 'null'], ['string', 'strin'], [1, null], [NaN], [1n], [undefined], [{}], [[]]];
const OBJECTS = [{}, { a: {} }, { a: 1 }, { 'a/b': {} }, { 'a(': {} }, { a: { type: 'strin' } }, { maxLenght: 1 }];
const WORDS: readonly unknown[] = [true, false, null, undefined, ...NUMBERS, ...TEXTS, ...LISTS, ...OBJECTS];

/** A schema that says one thing, by itself and at each place that a shape may have it. */
function placed(said: object): TSchema[] {
  const inObject = { ...said, type: 'object', properties: { a: {} } };
  return [said, Type.Object({ a: Type.Array(inObject), b: Type.Union([said, Type.Object({})]) })];
}

function* everySchema(): Generator<TSchema> {
  for (const keyword of KEYWORDS.split(' ')) for (const word of WORDS) yield* placed({ [keyword]: word });
}

function attempt<Result>(run: () => Result): Result | Error {
  try {
    return run();
  } catch (error) {
    return error as Error;
  }
}

t.test('what AJV need not be asked about is what is compiled without a mistake', async (t) => {
  let sure = 0;
  for (const schema of everySchema()) {
    const plain = attempt(() => plainSchema(schema));
    if (plain instanceof Error || !isSureToCompile(plain)) continue;
    sure += 1;
    const compiled = attempt(() => new CompiledSchema(plain));
    if (compiled instanceof Error) t.fail('AJV refuses it', { schema, cause: compiled.message });
    const judged = attempt(() => compileValidator(schema, 'body')({ a: [{}], b: 1 }));
    const isMistaken = judged instanceof Error && !(judged instanceof InvalidUsage);
    if (isMistaken) t.fail('it fails', { schema, cause: judged.message });
  }
  t.ok(sure > 0);
});

t.test('a value that contains itself is found when the validator is made', async (t) => {
  const circle: { again?: unknown } = {};
  circle.again = circle;
  t.throws(() => compileValidator(Type.Object({ a: Type.Object({}, { default: circle }) }), 'body'));
});

t.test('a schema that is changed once its validator is made changes nothing', async (t) => {
  const schema = Type.Object({ a: Type.Object({ b: Type.String() }) });
  const validate = compileValidator(schema, 'body');
  for (const part of [schema, schema.properties.a, schema.properties.a.properties.b]) {
    Object.assign(part, { additionalProperties: false, maxLength: 1, 'x-note': 'of a documentation' });
  }
  t.same(validate({ a: { b: 'two', c: 1 }, d: 1 }), { a: { b: 'two' } });
});

t.test('the formats that are known by name are those that AJV has', async (t) => {
  t.same([...FORMAT_NAMES].toSorted(), Object.keys(newAjv(false).formats).toSorted());
});

t.test('the schemas of ordinary shapes need no code before the first request', async (t) => {
  const Line = Type.Object({ sku: Type.String({ minLength: 1, maxLength: 20 }), count: Type.Integer({ minimum: 1 }) });
  for (const schema of [
    Type.Object({
      name: Type.Unsafe({ type: ['string', 'null'], minLength: 1, maxLength: 200 }),
      price: Type.Number({ exclusiveMinimum: 0, multipleOf: 0.01 }),
      state: Type.Union([Type.Literal('draft'), Type.Literal('public')]),
      when: Type.String({ format: 'date-time', default: '2026-01-31T12:00:00Z' }),
      lines: Type.Optional(Type.Array(Line, { maxItems: 10, description: 'What is bought' })),
      either: Type.Union([Line, Type.Object({ free: Type.Boolean() }, { additionalProperties: false })]),
    }),
    Type.Refine(Type.Object({ code: Type.String({ pattern: '^[a-z]+$' }) }), () => true),
  ]) {
    t.ok(isSureToCompile(plainSchema(schema)));
  }
  for (const schema of [
    Type.Object({ a: Type.String({ maxLenght: 3 }) }),
    Type.Object({ a: Type.String({ format: 'emial' as never }) }),
    Type.Object({ a: Type.String({ pattern: 'a(' }) }),
    Type.Object({ a: Type.Ref('Elsewhere') }),
  ]) {
    t.notOk(isSureToCompile(plainSchema(schema)));
  }
});

t.test('a property may have the name of a keyword', async (t) => {
  const schema = Type.Object({ anyOf: Type.Optional(Type.String()), if: Type.Optional(Type.Boolean()) });
  t.same(compileValidator(schema, 'body')({ anyOf: 'a', if: true, not: 1 }), { anyOf: 'a', if: true });
});
