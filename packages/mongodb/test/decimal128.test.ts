import { createRequire } from 'node:module';
import t from 'tap';
import { bsonVersionOf, Decimal128, decimalText } from '../src/mikro/decimal128.ts';

interface Bson {
  readonly Decimal128: { fromString(text: string): { readonly bytes: Uint8Array; toString(): string } };
  readonly ObjectId: new () => object;
  serialize(document: object): Uint8Array;
  deserialize(bytes: Uint8Array): Record<string, unknown>;
}

const driver = createRequire(import.meta.resolve('@mikro-orm/mongodb'));
const { BSON } = driver('mongodb') as { BSON: Bson };
const version = bsonVersionOf(new BSON.ObjectId());

t.test('the bytes are the same as from the driver', async (t) => {
  for (const text of [
    '0',
    '1',
    '-1',
    '9.90',
    '0.000001',
    '-123456789.0123',
    '1e3',
    '9'.repeat(34),
    `${'9'.repeat(34)}000`,
    `1${'0'.repeat(40)}`,
    '1.5E-10',
  ]) {
    const made = Decimal128.of(text, undefined, version);
    t.strictSame([...made.bytes], [...BSON.Decimal128.fromString(text).bytes], text);
    t.equal(String(BSON.deserialize(BSON.serialize({ a: made }))['a']), String(BSON.Decimal128.fromString(text)));
  }
});

t.test('a column has its digits after the point, the last one rounded half up', async (t) => {
  for (const [value, scale, expected] of [
    [9.9, 2, '9.90'],
    ['1.005', 2, '1.01'],
    ['-1.005', 2, '-1.01'],
    ['0.004', 2, '0.00'],
    ['-0.004', 2, '0.00'],
    [12, 0, '12'],
    [1e21, 2, '1000000000000000000000.00'],
  ] as const) {
    t.equal(String(Decimal128.of(value, scale, version)), expected, `${value}`);
  }
});

t.test('values that are not finite numbers, or have too many digits, are rejected', async (t) => {
  for (const value of ['', '.', 'NaN', 'Infinity', '1,5', '0x1', {}, '9'.repeat(35), `${'9'.repeat(35)}0`]) {
    t.throws(() => Decimal128.of(value, undefined, version), RangeError, JSON.stringify(value));
  }
});

t.test('a number that the driver has read is written without an exponent', async (t) => {
  for (const [stored, text] of [
    ['1E3', '1000'],
    ['0E3', '0'],
    ['-0.00', '-0.00'],
    ['1E-10', '0.0000000001'],
    ['9007199254740991.5', '9007199254740991.5'],
    ['9007199254740992', '9007199254740992'],
    [`-${'9'.repeat(31)}.125`, `-${'9'.repeat(31)}.125`],
    ['Infinity', 'Infinity'],
    ['NaN', 'NaN'],
  ] as const) {
    const { value } = BSON.deserialize(BSON.serialize({ value: BSON.Decimal128.fromString(stored) }));
    t.equal(decimalText(value), text);
  }
  for (let index = 0; index < 500; index++) {
    const digits = Array.from({ length: 1 + (index % 34) }, (_, place) => (index * 7919 + place * 104_729) % 10).join(
      '',
    );
    const text = `${index % 3 === 0 ? '-' : ''}${BigInt(digits)}.${digits.slice(0, 34 - digits.length) || '5'}`;
    if (text.replaceAll(/\D/g, '').length > 34) continue;
    const { value } = BSON.deserialize(BSON.serialize({ value: BSON.Decimal128.fromString(text) }));
    t.equal(decimalText(value), text);
  }
  t.equal(decimalText(1.5), '1.5', 'what is stored as a double');
});
