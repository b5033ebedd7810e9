import t from 'tap';
import { roundedInteger } from '../../src/support/exact-number.ts';
import { markRounded } from '../../src/support/rounded-numbers.ts';

const marked = (text: string): unknown => markRounded(text, JSON.parse(text));

t.test('an integer that would be rounded becomes a bigint', async (t) => {
  t.strictSame(marked('[9007199254740993,{"a":-9007199254740995}]'), [9007199254740993n, { a: -9007199254740995n }]);
  t.strictSame(marked('123456789012345678901234567890'), 123456789012345678901234567890n);
});

t.test('in every notation', async (t) => {
  for (const text of [
    '9007199254740993.0',
    '9007199254740993e0',
    '9.007199254740993e15',
    '9.007199254740993E+15',
    '0.0009007199254740993e19',
    '90071992547409930e-1',
    '900719925474099300.00e-2',
  ]) {
    t.strictSame(marked(text), 9007199254740993n, text);
    t.strictSame(marked(`{"a":[-${text}]}`), { a: [-9007199254740993n] }, text);
  }
});

t.test('a number that JavaScript represents exactly, or writes with the same digits, stays a number', async (t) => {
  for (const text of [
    '9007199254740991',
    '9007199254740991.0',
    '9007199254740992',
    '9.007199254740992e15',
    '1152921504606846976',
    '1152921504606847000',
    '1.152921504606846976e18',
    '10000000000000000000000',
    '1e22',
    '1.2345678901234567e300',
    '0.12345678901234567890',
    '"9007199254740993"',
    '{"9007199254740993":1}',
    '-0',
    '-0.0e0',
  ]) {
    t.strictSame(marked(text), JSON.parse(text), text);
  }
});

t.test('a document in which nothing is rounded is the one that was given', async (t) => {
  const document = { a: '1234567890123456' };
  t.equal(markRounded(JSON.stringify(document), document), document);
});

t.test('the cost of a number is linear in its length', async (t) => {
  const zeros = '0'.repeat(500_000);
  const texts = ['1e999999999', '1e-999999999', '0e999999999999999999999', '1234567890123456789e-999999999'];
  for (const text of [...texts, `0.${zeros}1e500000`, `1.${zeros}1`, `[1${zeros}e-500000]`]) {
    t.strictSame(marked(text), JSON.parse(text), text.slice(0, 20));
  }
  t.strictSame(marked(`9007199254740993.${zeros}`), 9007199254740993n);
  t.strictSame(marked(`0.${zeros}9007199254740993e500016`), 9007199254740993n);
});

t.test('of random numbers, exactly those that would be rounded are found', async (t) => {
  const random = seeded(20261123);
  const wrong: string[] = [];
  let found = 0;
  for (let count = 0; count < 50_000; count++) {
    const text = numberAtRandom(random);
    const value = JSON.parse(text) as number;
    const expected = roundedByFractions(text, value);
    found += Number(expected !== undefined);
    const isRight = roundedInteger(text, value) === expected && Object.is(marked(text), expected ?? value);
    if (!isRight) wrong.push(text);
  }
  t.same(wrong, []);
  t.ok(found > 5_000, `${found} were rounded`);
});

type Random = (below: number) => number;

/** Linear congruential, of 2^32. */
function seeded(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Writes a number of up to 24 digits, many of them around a power of two, with a point and an exponent anywhere. */
function numberAtRandom(random: Random): string {
  const near = 2n ** BigInt(50 + random(14)) + BigInt(random(9) - 4);
  const some = Array.from({ length: 1 + random(24) }, () => random(10)).join('');
  const digits = (random(2) === 0 ? String(near) : some) + '0'.repeat(random(4) === 0 ? random(6) : 0);
  const point = random(digits.length + 1);
  const [whole, fraction] = [digits.slice(0, point), digits.slice(point)];
  const shift = random(3) === 0 ? random(40) - 20 : fraction.length;
  const mantissa = `${whole.replace(/^0+(?=\d)/, '') || '0'}${fraction === '' ? '' : `.${fraction}`}`;
  const exponent = shift === 0 && random(2) === 0 ? '' : `${random(2) === 0 ? 'e' : 'E'}${shift}`;
  return `${random(4) === 0 ? '-' : ''}${mantissa}${exponent}`;
}

/** Judges a number in fractions of whole numbers. */
function roundedByFractions(text: string, value: number): bigint | undefined {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const exponent = Number(power) - fraction.length;
  const numerator = BigInt(whole.replace('-', '') + fraction) * 10n ** BigInt(Math.max(0, exponent));
  const denominator = 10n ** BigInt(Math.max(0, -exponent));
  if (numerator % denominator !== 0n || Number.isSafeInteger(value)) return undefined;
  const exact = (numerator / denominator) * (mantissa.startsWith('-') ? -1n : 1n);
  const [shown = '', shownPower = '0'] = String(value).split('e');
  const [shownInteger = '', shownFraction = ''] = shown.split('.');
  const written = BigInt(shownInteger + shownFraction) * 10n ** BigInt(Number(shownPower) - shownFraction.length);
  return exact === BigInt(value) || exact === written ? undefined : exact;
}
