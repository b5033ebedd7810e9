/**
 * The decimal digits of a number as JavaScript (and JSON) writes it: `±0.digits × 10^exponent`, without trailing zeros.
 */
interface Digits {
  readonly digits: string;
  readonly exponent: number;
}

const WRITTEN_NUMBER = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;

/**
 * Counts the digits after the point: 0 for 100, 2 for 0.29, 3 for 1.005, 7 for 1e-7. It counts the shortest decimal
 * text that reads back as the number. That is the text that the client wrote, regardless of binary rounding. It does no
 * arithmetic on floats.
 *
 * @param value a finite number, or a text of digits such as `-12.50`
 */
export function decimalPlaces(value: number | string): number {
  if (Number.isSafeInteger(value)) return 0;
  const text = String(value);
  // JavaScript writes no trailing zeros, and writes most numbers without an exponent.
  if (Number.isFinite(value) && !text.includes('e')) return text.length - (text.indexOf('.') + 1 || text.length);
  const { digits, exponent } = digitsOf(value);
  return digits === '' ? 0 : Math.max(0, digits.length - exponent);
}

/** Counts the digits of a decimal text before the point: 0 for 0.5, 3 for 100, 2 for 0012.5. */
export function integerDigits(text: string): number {
  const { digits, exponent } = digitsOf(text);
  return digits === '' ? 0 : Math.max(0, exponent);
}

/**
 * Returns the exact whole number of a JSON number that JavaScript would round. A number counts as rounded if its parsed
 * value differs and is written in other digits. Undefined for all other numbers. For every notation,
 * `9007199254740993.0` or `9.007199254740993e15`, the work grows only with the length of the text.
 *
 * @param value the finite number that `JSON.parse` makes of the text, which limits its exponent
 */
export function roundedInteger(text: string, value: number): bigint | undefined {
  const { digits, exponent } = digitsOf(text);
  const isIntegral = digits.length <= exponent;
  if (!isIntegral || digits === digitsOf(value).digits) return undefined;
  const magnitude = BigInt(digits) * 10n ** BigInt(exponent - digits.length);
  const integer = value < 0 ? -magnitude : magnitude;
  return integer === BigInt(value) ? undefined : integer;
}

/** Reports whether JavaScript writes the value of a number in other digits than its text: `0.1234567890123456789`. */
export function isRounded(text: string, value: number): boolean {
  const [sent, kept] = [digitsOf(text), digitsOf(value)];
  return sent.digits !== kept.digits || (sent.digits !== '' && sent.exponent !== kept.exponent);
}

/** Makes the test for multiples of a step, in decimal arithmetic: 0.29 is a multiple of 0.01, 1.005 is not. */
export function multiplesOf(step: number): (value: number) => boolean {
  const places = decimalPlaces(step);
  if (step === Number(`1e-${places}`)) return (value) => decimalPlaces(value) <= places;
  return (value) => {
    const scale = Math.max(decimalPlaces(value), places);
    return scaled(value, scale) % scaled(step, scale) === 0n;
  };
}

function scaled(value: number, scale: number): bigint {
  const { digits, exponent } = digitsOf(value);
  return BigInt(digits === '' ? '0' : digits) * 10n ** BigInt(scale + exponent - digits.length);
}

function digitsOf(value: number | string): Digits {
  const match = WRITTEN_NUMBER.exec(String(value));
  if (match === null) throw new RangeError(`not a finite decimal number: ${String(value)}`);
  const [, integer = '', fraction = '', power = '0'] = match;
  const all = integer + fraction;
  const leading = /^0*/.exec(all)?.[0].length ?? 0;
  // A regular expression would start again at each zero inside.
  let end = all.length;
  while (end > leading && all[end - 1] === '0') end--;
  return { digits: all.slice(leading, end), exponent: integer.length - leading + Number(power) };
}
