/** The symbols by which the driver's BSON serializer recognizes its own types and their version. */
const TYPE = Symbol.for('@@mdb.bson.type');
const VERSION = Symbol.for('@@mdb.bson.version');

/** A finite number: an optional sign, digits with or without a point, an optional exponent. */
const NUMBER = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;
const MAX_DIGITS = 34;
/** The smallest coefficient with too many digits. */
const LIMIT = 10n ** BigInt(MAX_DIGITS);
const MAX_EXPONENT = 6111;
const EXPONENT_BIAS = 6176;

/**
 * An exact decimal number in MongoDB's format (IEEE 754-2008 decimal128, 34 digits). The driver's serializer recognizes
 * it by its symbols, so this package does not import a driver.
 */
export class Decimal128 {
  readonly _bsontype = 'Decimal128';
  readonly [TYPE] = 'Decimal128';
  readonly [VERSION]: unknown;
  /** The number's sixteen bytes, lowest first. */
  readonly bytes: Uint8Array;

  private constructor(isNegative: boolean, coefficient: bigint, exponent: number, version: unknown) {
    this[VERSION] = version;
    this.bytes = encode(isNegative, coefficient, exponent);
  }

  /**
   * Makes a decimal from a number or its text, rounded half up to `scale` digits after the point if given.
   *
   * @param version the version of the driver's BSON ({@link bsonVersionOf})
   * @throws RangeError for a value that is not a finite number, or that has more than 34 digits
   */
  static of(value: unknown, scale: number | undefined, version: unknown): Decimal128 {
    const match = NUMBER.exec(String(value));
    const [, sign = '', integer = '', fraction = '', power = '0'] = match ?? [];
    if (match === null || integer + fraction === '') throw new RangeError(`${String(value)} is no decimal number`);
    let exponent = Number(power) - fraction.length;
    let coefficient = BigInt(integer + fraction);
    if (scale !== undefined) ({ coefficient, exponent } = toScale(coefficient, exponent, scale));
    if (coefficient >= LIMIT) ({ coefficient, exponent } = withoutZeros(coefficient, exponent));
    if (coefficient >= LIMIT || exponent > MAX_EXPONENT || exponent < -EXPONENT_BIAS) {
      throw new RangeError(`${String(value)} has more digits than a decimal number of MongoDB`);
    }
    return new Decimal128(sign === '-' && coefficient !== 0n, coefficient, exponent, version);
  }

  /** Returns itself. Without this method, MikroORM would copy only its public properties. */
  clone(): this {
    return this;
  }

  toString(): string {
    return decimalText(this);
  }

  toJSON(): string {
    return this.toString();
  }
}

/** Returns the BSON version of a value that the driver made, such as an ObjectId. */
export function bsonVersionOf(value: object): unknown {
  return (value as Record<symbol, unknown>)[VERSION];
}

/**
 * Returns the largest number with at most 34 digits that is not above a decimal, and tells if it equals the decimal.
 *
 * @param text a decimal without an exponent
 */
export function decimalBelow(text: string): { readonly below: string; readonly isExact: boolean } {
  const isNegative = text.startsWith('-');
  const [integer = '', fraction = ''] = text.slice(isNegative ? 1 : 0).split('.');
  const digits = BigInt(integer + fraction);
  const excess = String(digits).length - MAX_DIGITS;
  if (excess <= 0) return { below: text, isExact: true };
  const unit = 10n ** BigInt(excess);
  const isExact = digits % unit === 0n;
  const kept = digits / unit + (isNegative && !isExact ? 1n : 0n);
  return { below: `${isNegative ? '-' : ''}${kept}e${excess - fraction.length}`, isExact };
}

/** Removes as many trailing zeros as a number has digits too many. */
function withoutZeros(coefficient: bigint, exponent: number): { coefficient: bigint; exponent: number } {
  const excess = String(coefficient).length - MAX_DIGITS;
  const unit = 10n ** BigInt(excess);
  return coefficient % unit === 0n
    ? { coefficient: coefficient / unit, exponent: exponent + excess }
    : { coefficient, exponent };
}

/** Gives a number its column's digits after the point. */
function toScale(coefficient: bigint, exponent: number, scale: number): { coefficient: bigint; exponent: number } {
  const shift = exponent + scale;
  if (shift >= 0) return { coefficient: coefficient * 10n ** BigInt(shift), exponent: -scale };
  const unit = 10n ** BigInt(-shift);
  return { coefficient: (coefficient + unit / 2n) / unit, exponent: -scale };
}

/** Writes a number without an exponent, with all its digits after the point, as SQL databases do. */
function textOf(isNegative: boolean, coefficient: bigint | number, exponent: number): string {
  const sign = isNegative ? '-' : '';
  let digits = String(coefficient);
  if (exponent >= 0) return sign + (digits === '0' ? digits : digits + '0'.repeat(exponent));
  if (digits.length <= -exponent) digits = digits.padStart(1 - exponent, '0');
  return `${sign}${digits.slice(0, exponent)}.${digits.slice(exponent)}`;
}

/** If both of these bits are set in the highest word, the number is not finite or has too many digits. */
const OTHER_FORM = 0x60000000;

/** Converts a number from the driver to text; values that are not decimals are converted with `String`. */
export function decimalText(value: unknown): string {
  const bytes = (value as { readonly bytes?: Uint8Array }).bytes;
  if (bytes === undefined) return String(value);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const high = view.getUint32(12, true);
  if ((high & OTHER_FORM) === OTHER_FORM) return String(value);
  const exponent = ((high >>> 17) & 0x3fff) - EXPONENT_BIAS;
  const second = view.getUint32(4, true);
  const isShort = (high & 0x1ffff) === 0 && view.getUint32(8, true) === 0 && second < 2 ** 21;
  const coefficient = isShort
    ? second * 2 ** 32 + view.getUint32(0, true)
    : view.getBigUint64(0, true) | ((view.getBigUint64(8, true) & 0x1ffffffffffffn) << 64n);
  return textOf(high >>> 31 === 1, coefficient, exponent);
}

/** A coefficient of 34 digits needs at most 113 bits, so the format for larger ones is never needed. */
function encode(isNegative: boolean, coefficient: bigint, exponent: number): Uint8Array {
  const sign = isNegative ? 1n << 127n : 0n;
  const bits = sign | (BigInt(exponent + EXPONENT_BIAS) << 113n) | coefficient;
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, bits & 0xffffffffffffffffn, true);
  view.setBigUint64(8, bits >> 64n, true);
  return bytes;
}
