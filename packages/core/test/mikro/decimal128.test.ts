import { createRequire } from 'node:module';
import t from 'tap';
import { Decimal128 } from '../../src/mikro/decimal128.ts';

interface Bson {
  readonly Decimal128: { fromString(text: string): { readonly bytes: Uint8Array; toString(): string } };
  readonly ObjectId: new () => object;
  serialize(document: object): Uint8Array;
  deserialize(bytes: Uint8Array): Record<string, unknown>;
}

const driver = createRequire(import.meta.resolve('@mikro-orm/mongodb'));
const { BSON } = driver('mongodb') as { BSON: Bson };
const bson = new BSON.ObjectId();

t.test('the bytes are those of the driver', async (t) => {
  for (const text of ['0', '1', '-1', '9.90', '0.000001', '-123456789.0123', '1e3', '9'.repeat(34), '1.5E-10']) {
    const made = Decimal128.of(text, undefined, bson);
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
    t.equal(String(Decimal128.of(value, scale, bson)), expected, `${value}`);
  }
});

t.test('what is no finite number, or has too many digits, is refused', async (t) => {
  for (const value of ['', '.', 'NaN', 'Infinity', '1,5', '0x1', {}, '9'.repeat(35)]) {
    t.throws(() => Decimal128.of(value, undefined, bson), RangeError, JSON.stringify(value));
  }
});
