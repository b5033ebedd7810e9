/** The text in a URL, the JSON and the value of a field agree with each other, for every kind and whatever the value. */
import { defineEntity, p } from '@mikro-orm/core';
import * as fc from 'fast-check';
import t from 'tap';
import type { FieldKind, FieldType } from '../../src/fields/field-kind.ts';
import { FIELD_KINDS } from '../../src/fields/field-kinds.ts';
import { fieldPath } from '../../src/fields/field-path.ts';
import { FieldValueError } from '../../src/fields/field-value-error.ts';
import { checkFieldJson, checkFieldValue, parseFieldText } from '../../src/fields/field-value.ts';
import { checkOrderKey } from '../../src/query/language/order.ts';
import { lookupsFor } from '../../src/query/language/lookup.ts';
import { parseLookupText } from '../../src/query/language/resolve-lookup.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { compileValidator } from '../../src/schema/validator.ts';
import { columnRule } from '../../src/shapes/write/column-rule.ts';
import type { ShapeField } from '../../src/shapes/shape-field.ts';
import { forEachDatabase } from '../support/databases.ts';

const BITS_64 = { minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n };
const INT: FieldType = { kind: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };

/** The documents of operands say of texts that they have at most 18 digits. */
const BIG = { min: 1n - 10n ** 18n, max: 10n ** 18n - 1n };
const cents = fc.integer({ min: 1 - 10 ** 10, max: 10 ** 10 - 1 });
const instants = fc.date({ min: new Date('0001-01-03'), max: new Date('9999-12-29'), noInvalidDate: true });
/** There is no negative zero in a text. */
const doubles = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const texts = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => !text.includes('\0'));
const objectIds = fc.stringMatching(/^[0-9a-f]{24}$/);

/** Types of every kind, and the values that an entity may hold for them. */
const SAMPLES: Readonly<Record<FieldKind, readonly (readonly [Omit<FieldType, 'kind'>, fc.Arbitrary<unknown>])[]>> = {
  string: [
    [{}, texts],
    [{ maxLength: 255 }, texts],
  ],
  integer: [[INT, fc.integer()]],
  bigint: [
    [{ ...BITS_64, mode: 'bigint' }, fc.bigInt(BIG)],
    [{ ...BITS_64, mode: 'string' }, fc.bigInt(BIG).map(String)],
    [{ ...BITS_64, mode: 'number' }, fc.maxSafeInteger().map((value) => value + 0)],
  ],
  number: [[{}, doubles]],
  decimal: [
    [{ mode: 'number', precision: 12, scale: 2 }, cents.map((value) => value / 100)],
    [{ mode: 'string', precision: 12, scale: 2 }, cents.map((value) => (value / 100).toFixed(2))],
  ],
  boolean: [[{}, fc.boolean()]],
  datetime: [[{}, instants]],
  date: [[{}, instants.map((date) => date.toISOString().slice(0, 10))]],
  time: [[{}, instants.map((date) => date.toISOString().slice(11, 19))]],
  uuid: [[{}, fc.uuid()]],
  objectId: [[{}, objectIds]],
  json: [[{}, fc.jsonValue().map((any) => ({ any }))]],
  binary: [[{}, fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes))]],
  enum: [
    [{ values: ['a', 'B', ''] }, fc.constantFrom('a', 'B', '')],
    [{ values: [1, 2] }, fc.constantFrom(1, 2)],
  ],
};

const CASES = (Object.keys(SAMPLES) as FieldKind[]).flatMap((kind) =>
  SAMPLES[kind].map(([facets, values]) => ({ type: { kind, ...facets } as FieldType, values })),
);

/** Writes a value of an entity as an answer has it. */
function answered(type: FieldType, value: unknown): unknown {
  const write = FIELD_KINDS[type.kind].writer(type) as ((value: unknown) => unknown) | undefined;
  return write === undefined ? value : write(value);
}

/** A value that is compared with a field, whether it came as a number, a BigInt or the digits of either. */
function compared({ kind, mode }: FieldType, value: unknown): unknown {
  if (kind === 'bigint') return BigInt(value as string);
  return kind === 'decimal' && mode === 'number' ? Number(value) : value;
}

/** What a program makes of a text of a URL by the type that a document says. */
function byDocument(schema: Readonly<Record<string, unknown>>, text: string): unknown {
  const type = schema['type'];
  if (type === 'integer' || type === 'number') return Number(text);
  if (type === 'boolean') return text === 'true';
  const values = schema['enum'] as unknown[] | undefined;
  return values?.find((value) => String(value) === text) ?? text;
}

t.test('an object that is not an ObjectId is rejected, with any toString or toHexString', async (t) => {
  const type: FieldType = { kind: 'objectId' };
  for (const value of [{ toString: 1 }, { toHexString: 1 }, Object.create(null), 1, undefined]) {
    t.throws(() => checkFieldValue(type, value), FieldValueError);
  }
  t.equal(checkFieldValue(type, { toHexString: () => '0123456789abcdef01234567' }), '0123456789abcdef01234567');
});

for (const { type, values } of CASES) {
  const { kind, mode } = type;
  const { comparability, wireType, bounds, operandSchema, textSchema } = FIELD_KINDS[kind];
  const name = mode === undefined ? kind : `${kind} as ${mode}`;
  const field = { type, property: {}, list: false, custom: false } as ShapeField;

  t.test(`${name}: the JSON of a stored value is a valid body with the same value`, async (t) => {
    const rule = columnRule(field) ?? ((json: unknown) => json);
    const check = compileValidator({ ...wireType(type), ...bounds(type, true) }, 'body');
    fc.assert(
      fc.property(values, (value) => {
        const json = answered(type, value);
        check(json);
        t.strictSame(rule(json), value);
      }),
    );
  });

  if (comparability === 'not at all') {
    t.test(`${name}: is compared with nothing`, async (t) => {
      t.strictSame(lookupsFor(type), ['isnull']);
      fc.assert(
        fc.property(values, (value) => {
          t.throws(() => checkFieldValue(type, value), FieldValueError);
          t.throws(() => parseFieldText(type, String(answered(type, value))), FieldValueError);
        }),
      );
    });
    continue;
  }

  t.test(`${name}: text, JSON and value are compared as the same`, async (t) => {
    const checkOperand = compileValidator(operandSchema(type), 'body');
    const checkText = compileValidator(textSchema(type), 'body');
    fc.assert(
      fc.property(values, (value) => {
        const json = answered(type, value);
        const text = String(json);
        const expected = compared(type, value);
        t.strictSame(compared(type, checkFieldValue(type, value)), expected, 'a value of the program');
        t.strictSame(compared(type, checkFieldJson(type, json)), expected, 'JSON');
        t.strictSame(compared(type, parseFieldText(type, text)), expected, 'the text of a URL');
        checkOperand(json);
        checkText(byDocument(textSchema(type), text));
      }),
    );
  });

  t.test(`${name}: an invalid value is rejected with a message for the client`, async (t) => {
    const attempt = (read: () => unknown): unknown => {
      try {
        return read();
      } catch (error) {
        t.ok(error instanceof FieldValueError, String(error));
        return undefined;
      }
    };
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (json, text) => {
        attempt(() => checkFieldJson(type, json));
        attempt(() => checkFieldValue(type, json));
        const value = attempt(() => parseFieldText(type, text));
        if (value === undefined) return;
        const again = parseFieldText(type, String(answered(type, value)));
        t.strictSame(again, value, 'what was read is written so that it is read again');
      }),
    );
  });
}

const Specimen = defineEntity({
  name: 'Specimen',
  properties: {
    id: p.integer().primary(),
    string: p.string(),
    integer: p.integer(),
    bigint: p.bigint(),
    bigintAsString: p.bigint('string'),
    bigintAsNumber: p.bigint('number'),
    number: p.double(),
    decimal: p.decimal('number').precision(12).scale(2),
    decimalAsString: p.decimal('string').precision(12).scale(2),
    boolean: p.boolean(),
    datetime: p.datetime(),
    date: p.date(),
    time: p.time(),
    uuid: p.uuid(),
    enum: p.enum(['a', 'B']),
    json: p.json(),
    binary: p.blob(),
  },
});

const RECORDS = 15;

forEachDatabase(t, { entities: [Specimen], onLibSql: true }, async (t, orm) => {
  const meta = orm.getMetadata(Specimen);
  const names = Object.keys(meta.properties).filter((name) => name !== 'id');
  const paths = names.map((name) => fieldPath(meta, name, '.'));
  const arbitrary = (type: FieldType): fc.Arbitrary<unknown> => {
    if (type.kind === 'enum') return fc.constantFrom(...type.values!);
    const found = SAMPLES[type.kind].find(([{ mode }]) => mode === type.mode);
    return found![1];
  };
  const columns = paths.map(({ type }) => fc.sample(arbitrary(type), { numRuns: RECORDS }));
  const em = orm.em.fork();
  for (let index = 0; index < RECORDS; index++) {
    const values = names.map((name, place) => [name, columns[place]![index]]);
    em.create(Specimen, { id: index + 1, ...Object.fromEntries(values) } as never);
  }
  await em.flush();

  t.test('the JSON and the text of a stored value find its record', async (t) => {
    const records = await QuerySet.of(orm.em.fork(), Specimen).entities();
    t.equal(records.length, RECORDS);
    for (const path of paths.filter(({ type }) => lookupsFor(type).includes('exact'))) {
      const { type, key } = path;
      for (const record of records) {
        const json = answered(type, record[key as keyof typeof record]);
        const condition = parseLookupText({ path, lookup: 'exact' }, String(json));
        const found = await QuerySet.of(orm.em.fork(), Specimen).where(condition).entities();
        t.ok(
          found.some(({ id }) => id === record.id),
          `${key} ${String(json)}`,
        );
        t.strictSame(checkFieldJson(type, json), checkFieldJson(type, JSON.parse(JSON.stringify(json))));
      }
    }
  });

  t.test('records can be ordered by the fields that can be compared, and by no other', async (t) => {
    for (const path of paths) {
      const keys = [{ path, descending: false }];
      if (lookupsFor(path.type).includes('exact')) {
        const found = await QuerySet.of(orm.em.fork(), Specimen).orderByPaths(keys).entities();
        t.equal(found.length, RECORDS, path.key);
      } else {
        t.throws(() => checkOrderKey(meta, keys[0]!), /cannot be ordered/, path.key);
      }
    }
  });
});
