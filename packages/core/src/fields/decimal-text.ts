const DECIMAL = /^-?\d{1,1000}(?:\.\d{1,1000})?$/;
const WITH_EXPONENT = /^(-?)(\d{1,1000})(?:\.(\d{1,1000}))?[eE]([+-]?\d{1,4})$/;

/** Reports whether a text is a plain decimal number: `12`, `-0.50`; not `1e3`, ` 12` or `.5`. */
export function isDecimalText(text: string): boolean {
  return DECIMAL.test(text);
}

/**
 * Writes a decimal number without the exponent that JavaScript uses for small and large numbers (`1e-7`). Returns
 * undefined for any other text.
 */
export function plainDecimal(text: string): string | undefined {
  const [, sign = '', integer = '', fraction = '', exponent] = WITH_EXPONENT.exec(text) ?? [];
  if (exponent === undefined) return isDecimalText(text) ? text : undefined;
  // Numbers that JavaScript cannot hold were not written by JavaScript: 1e400, and 1e-400, which would be 0.
  const size = Math.abs(Number(text));
  if (size === Infinity || (size === 0 && /[1-9]/.test(integer + fraction))) return undefined;
  const point = integer.length + Number(exponent);
  const digits = `${'0'.repeat(Math.max(0, 1 - point))}${integer}${fraction}`.padEnd(point, '0');
  const place = Math.max(1, point);
  const integral = digits.slice(0, place).replace(/^0+(?=\d)/, '');
  const written = `${sign}${integral}${digits.length > place ? `.${digits.slice(place)}` : ''}`;
  return isDecimalText(written) ? written : undefined;
}

/**
 * Reads a decimal as a text without an exponent. SQLite returns a number, and MongoDB an object within an embeddable;
 * the text of both may have one: `1e-7`.
 */
export function decimalText(raw: unknown): string {
  if (typeof raw === 'string') return raw;
  const text = String(raw);
  return plainDecimal(text) ?? text;
}

/** Writes a decimal in its only form without needless zeros and sign: `5.1` for `005.10`, `0` for `-0.0`. */
export function shortDecimal(value: unknown): string {
  const text = plainDecimal(String(value)) ?? String(value);
  const [, sign = '', integer = '', fraction = ''] = /^(-?)0*(\d*)(?:\.(\d*?)0*)?$/.exec(text) ?? [];
  if (integer + fraction === '') return isDecimalText(text) ? '0' : text;
  return `${sign}${integer || '0'}${fraction === '' ? '' : `.${fraction}`}`;
}

/** Compares two decimals by their values: below 0 if the first is less, 0 if both are equal. */
export function compareDecimalTexts(a: string, b: string): number {
  const scale = Math.max(digitsBehind(a), digitsBehind(b));
  const difference = unitsOf(a, scale) - unitsOf(b, scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function digitsBehind(text: string): number {
  return text.includes('.') ? text.length - text.indexOf('.') - 1 : 0;
}

function unitsOf(text: string, scale: number): bigint {
  return BigInt(text.replace('.', '') + '0'.repeat(scale - digitsBehind(text)));
}

/** Writes a number of units of the last digit as a decimal: `decimalOf(-1050n, 2)` is `-10.50`. */
export function decimalOf(units: bigint, scale: number): string {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  const point = digits.length - scale;
  return `${units < 0n ? '-' : ''}${digits.slice(0, point)}${scale === 0 ? '' : `.${digits.slice(point)}`}`;
}

/** Writes a decimal with `scale` digits after the point, rounded half away from zero. */
export function toScale(text: string, scale: number): string {
  return quotientOf(text, 1, scale);
}

/** Divides a decimal by a whole number above 0, and rounds half away from zero. */
export function quotientOf(text: string, divisor: number, scale: number): string {
  const [integer = '', fraction = ''] = text.replace('-', '').split('.');
  const dividend = BigInt(integer + fraction) * 10n ** BigInt(scale);
  const unit = BigInt(divisor) * 10n ** BigInt(fraction.length);
  const rounded = (dividend * 2n + unit) / (unit * 2n);
  return decimalOf(text.startsWith('-') ? -rounded : rounded, scale);
}
