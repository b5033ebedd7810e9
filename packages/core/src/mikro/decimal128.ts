/** The marks by which the driver's BSON serializer knows a value of its own, and its version. */
const TYPE = Symbol.for('@@mdb.bson.type');
const VERSION = Symbol.for('@@mdb.bson.version');

/** A finite number: an optional sign, digits with or without a point, an optional exponent. */
const NUMBER = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;
const MAX_DIGITS = 34;
const MAX_EXPONENT = 6111;
const EXPONENT_BIAS = 6176;

/**
 * An exact decimal number as MongoDB stores it (IEEE 754-2008 decimal128, 34 digits). The driver's serializer knows one by
 * its marks, so that no driver has to be imported to make it.
 */
export class Decimal128 {
  readonly _bsontype = 'Decimal128';
  /** The sixteen bytes of the number, the lowest first. */
  readonly bytes: Uint8Array;
  readonly #text: string;

  private constructor(isNegative: boolean, coefficient: bigint, exponent: number, version: unknown) {
    this.#text = `${isNegative ? '-' : ''}${textOf(coefficient, exponent)}`;
    this.bytes = encode(isNegative, coefficient, exponent);
    Object.defineProperties(this, { [TYPE]: { value: 'Decimal128' }, [VERSION]: { value: version } });
  }

  /**
   * Makes a decimal of a number or its text, rounded half up to `scale` digits after the point if that is given.
   *
   * @param bson any value of the driver's BSON, such as an ObjectId, which tells its version
   * @throws RangeError for what is no finite number, or one of more than 34 digits
   */
  static of(value: unknown, scale: number | undefined, bson: object): Decimal128 {
    const match = NUMBER.exec(String(value));
    const [, sign = '', whole = '', fraction = '', power = '0'] = match ?? [];
    if (match === null || whole + fraction === '') throw new RangeError(`${String(value)} is no decimal number`);
    let exponent = Number(power) - fraction.length;
    let coefficient = BigInt(whole + fraction);
    if (scale !== undefined) ({ coefficient, exponent } = toScale(coefficient, exponent, scale));
    ({ coefficient, exponent } = withoutExcess(coefficient, exponent));
    const digits = String(coefficient).length;
    if (digits > MAX_DIGITS || exponent > MAX_EXPONENT || exponent < -EXPONENT_BIAS) {
      throw new RangeError(`${String(value)} has more digits than a decimal number of MongoDB`);
    }
    const version = (bson as Record<symbol, unknown>)[VERSION];
    return new Decimal128(sign === '-' && coefficient !== 0n, coefficient, exponent, version);
  }

  /** Returns the same value: MikroORM copies those that have no such method by their public properties. */
  clone(): this {
    return this;
  }

  toString(): string {
    return this.#text;
  }

  toJSON(): string {
    return this.#text;
  }
}

/**
 * Returns the greatest number of at most 34 digits that is not above a decimal, and tells if that is the decimal itself.
 *
 * @param text a decimal without an exponent
 */
export function decimalBelow(text: string): { readonly below: string; readonly isExact: boolean } {
  const isNegative = text.startsWith('-');
  const [whole = '', fraction = ''] = text.slice(isNegative ? 1 : 0).split('.');
  const digits = BigInt(whole + fraction);
  const excess = String(digits).length - MAX_DIGITS;
  if (excess <= 0) return { below: text, isExact: true };
  const unit = 10n ** BigInt(excess);
  const isExact = digits % unit === 0n;
  const kept = digits / unit + (isNegative && !isExact ? 1n : 0n);
  return { below: `${isNegative ? '-' : ''}${kept}e${excess - fraction.length}`, isExact };
}

/** Leaves out the zeros at the end of a number that has too many digits. */
function withoutExcess(coefficient: bigint, exponent: number): { coefficient: bigint; exponent: number } {
  const [digits, zeros] = [String(coefficient).length, /0*$/.exec(String(coefficient))![0].length];
  if (digits <= MAX_DIGITS || digits - zeros > MAX_DIGITS) return { coefficient, exponent };
  const excess = digits - MAX_DIGITS;
  return { coefficient: coefficient / 10n ** BigInt(excess), exponent: exponent + excess };
}

/** Gives a number as many digits after the point as its column has. */
function toScale(coefficient: bigint, exponent: number, scale: number): { coefficient: bigint; exponent: number } {
  const shift = exponent + scale;
  if (shift >= 0) return { coefficient: coefficient * 10n ** BigInt(shift), exponent: -scale };
  const unit = 10n ** BigInt(-shift);
  return { coefficient: (coefficient + unit / 2n) / unit, exponent: -scale };
}

function textOf(coefficient: bigint, exponent: number): string {
  if (exponent >= 0) return String(coefficient * 10n ** BigInt(exponent));
  const digits = String(coefficient).padStart(1 - exponent, '0');
  return `${digits.slice(0, exponent)}.${digits.slice(exponent)}`;
}

/** A coefficient of 34 digits has 113 bits, so that the form for larger ones is never needed. */
function encode(isNegative: boolean, coefficient: bigint, exponent: number): Uint8Array {
  const sign = isNegative ? 1n << 127n : 0n;
  const bits = sign | (BigInt(exponent + EXPONENT_BIAS) << 113n) | coefficient;
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, bits & 0xffffffffffffffffn, true);
  view.setBigUint64(8, bits >> 64n, true);
  return bytes;
}
