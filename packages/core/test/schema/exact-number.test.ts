import t from 'tap';
import { isDecimalText } from '../../src/fields/decimal-text.ts';
import { decimalPlaces, multiplesOf, integerDigits } from '../../src/support/exact-number.ts';

t.test('decimals are counted as they are written, not as they are stored', async (t) => {
  const places: [number | string, number][] = [
    [0, 0],
    [-0, 0],
    [100, 0],
    [0.29, 2],
    [1.005, 3],
    [1e-7, 7],
    [1.5e-7, 8],
    [1e20, 0],
    [2 ** 60, 0],
    [1e21, 0],
    [-4.35, 2],
    [12345678.91, 2],
    [0.1 + 0.2, 17],
    [5e-324, 324],
    ['12.50', 1],
    ['-0.010', 2],
    ['007.5', 1],
    ['0.0', 0],
    ['-0.000', 0],
    [Number.MAX_VALUE, 0],
  ];
  for (const [value, expected] of places) t.equal(decimalPlaces(value), expected, String(value));
});

t.test('digits before the point are counted without leading zeros', async (t) => {
  const digits: [string, number][] = [
    ['0', 0],
    ['0.5', 0],
    ['1', 1],
    ['99999999.99', 8],
    ['100000000', 9],
    ['-12.5', 2],
    ['-0.5', 0],
    ['000', 0],
    ['0012.5', 2],
    [`${'9'.repeat(40)}.9`, 40],
  ];
  for (const [text, expected] of digits) t.equal(integerDigits(text), expected, text);
});

t.test('numbers that are not finite have no digits', async (t) => {
  for (const value of [Infinity, -Infinity, NaN]) t.throws(() => decimalPlaces(value), RangeError);
});

t.test('multiples are checked in decimal arithmetic', async (t) => {
  const isInCents = multiplesOf(0.01);
  for (const value of [0, 0.29, 0.57, 1.1, 19.99, 12345678.91, -4.35, 1e21]) t.ok(isInCents(value), String(value));
  for (const value of [1.005, 0.001, 1e-7, 0.1 + 0.2]) t.notOk(isInCents(value), String(value));
  t.ok(multiplesOf(0.1)(0.3));
  t.ok(multiplesOf(2.5)(10));
  t.notOk(multiplesOf(2.5)(11));
  t.notOk(multiplesOf(1e21)(1));
});

t.test('a decimal text has digits and at most one point', async (t) => {
  for (const text of ['0', '-1', '12.50', '007']) t.ok(isDecimalText(text), text);
  for (const text of ['', '.5', '5.', '1e3', ' 1', '1 ', '+1', '0x1', 'NaN', '1,5', '--1']) {
    t.notOk(isDecimalText(text), text);
  }
});
