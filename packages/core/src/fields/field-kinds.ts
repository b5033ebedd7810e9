import { textProblem } from '../support/json.ts';
import { isoDate, isStorable, parseDate, parsePreciseDate, parseTime } from './calendar.ts';
import { isDecimalText, plainDecimal } from './decimal-text.ts';
import type { FieldKind, FieldType } from './field-kind.ts';
import { FieldValueError } from './field-value-error.ts';
import { OBJECT_ID_PATTERN, type ObjectIdLike } from './object-id.ts';

/** The JSON type and format of a value. Without a type, any JSON is valid. */
export interface WireType {
  readonly type?: 'array' | 'boolean' | 'integer' | 'number' | 'string';
  readonly format?: string;
}

/** A JSON schema, or keywords to add to a schema. */
type Schema = Readonly<Record<string, unknown>>;

/** The comparisons that a kind of value supports. A value without equality has no order either. */
export type Comparability = 'as text' | 'by order' | 'by equality' | 'not at all';

/** The description of a kind. Functions of a type are called at registration, functions of a value in requests. */
interface KindOfField {
  /** The column types of the kind, by their names in databases. */
  readonly columns: readonly string[];
  readonly comparability: Comparability;
  /** Converts a whole number to the JavaScript type of the kind. Undefined for a kind without whole numbers. */
  readonly toInteger: ((value: number | bigint) => number | bigint) | undefined;
  /** True if a path may identify a record by a field of this kind, other than the primary key. */
  readonly namesRecords: boolean;
  /**
   * The origin of generated primary keys of this kind, unless the entity sets another. Undefined: the program or the
   * client sets them.
   */
  readonly keysMadeBy: 'database' | 'driver' | undefined;
  /** True if statements write and return the values unchanged. */
  readonly isPlain: boolean;
  /** True if drivers return the numbers of a column as an entity holds them: never as text, and never NaN. */
  readonly areNumbersExact: boolean;

  /** True if the text of a value in a URL may have a comma, which separates the values of a list. */
  readonly hasCommas: (type: FieldType) => boolean;

  /** The JSON type and format of values in responses. */
  readonly wireType: (type: FieldType) => WireType;
  /** The JSON types of values in bodies. The first is the type in responses. */
  readonly acceptedTypes: (type: FieldType) => readonly string[] | undefined;
  /** The schema keywords for the limits of a column, in bodies. */
  readonly bounds: (type: FieldType, mayBeBlank: boolean) => Schema;
  /**
   * Makes the function that converts an entity's value, never null, to the response's value. Undefined if both are the
   * same.
   */
  readonly writer: (type: FieldType) => ((value: never) => unknown) | undefined;

  /** The schema of the values that `checkJson` accepts. */
  readonly operandSchema: (type: FieldType) => Schema;
  /** Reads JSON to compare with a field, see `checkFieldJson`. */
  readonly checkJson: (json: unknown, type: FieldType) => unknown;
  /** The schema of the texts that `parseText` accepts. */
  readonly textSchema: (type: FieldType) => Schema;
  /** Reads a text from a URL, see `parseFieldText`. */
  readonly parseText: (text: string, type: FieldType) => unknown;
  /** Reads a value from the program to compare with a field, see `checkFieldValue`. */
  readonly checkValue: (value: unknown, type: FieldType) => unknown;
}

/** Adds the defaults of an entry: JSON is read like text in a URL, and values from the program like JSON. */
function kind(
  entry: Pick<KindOfField, 'comparability' | 'wireType' | 'parseText'> & Partial<KindOfField>,
): KindOfField {
  const { wireType, parseText } = entry;
  const { bounds = () => ({}) } = entry;
  const { operandSchema = (type: FieldType) => ({ ...wireType(type), ...bounds(type, true) }) } = entry;
  const { checkJson = (json: unknown, type: FieldType) => parseText(typeof json === 'string' ? json : '', type) } =
    entry;
  return {
    columns: [],
    toInteger: undefined,
    namesRecords: false,
    keysMadeBy: undefined,
    isPlain: true,
    areNumbersExact: false,
    hasCommas: () => false,
    acceptedTypes: (type) => typeNamed(wireType(type)),
    writer: () => undefined,
    textSchema: operandSchema,
    checkValue: checkJson,
    ...entry,
    bounds,
    operandSchema,
    checkJson,
  };
}

/**
 * What follows from the kind of a field. The rules of bodies, unique values and the values of drivers belong to other rooms.
 */
export const FIELD_KINDS: Readonly<Record<FieldKind, KindOfField>> = {
  string: kind({
    comparability: 'as text',
    namesRecords: true,
    hasCommas: () => true,
    wireType: () => ({ type: 'string' }),
    bounds: ({ maxLength }, mayBeBlank) => ({
      ...(!mayBeBlank && { minLength: 1 }),
      ...(maxLength !== undefined && { maxLength }),
    }),
    operandSchema: () => ({ type: 'string' }),
    parseText: wellFormed,
    checkJson: (json) => wellFormed(expect(typeof json === 'string' ? json : undefined, 'a string')),
  }),
  integer: kind({
    columns: ['smallint', 'int2', 'tinyint', 'smallserial', 'int', 'int4', 'integer', 'mediumint', 'serial'],
    comparability: 'by order',
    toInteger: Number,
    namesRecords: true,
    keysMadeBy: 'database',
    areNumbersExact: true,
    wireType: () => ({ type: 'integer' }),
    bounds: ({ minimum, maximum }) =>
      minimum === undefined || maximum === undefined ? {} : { minimum: Number(minimum), maximum: Number(maximum) },
    parseText: (text, type) => within(type, INTEGER.test(text) ? Number(text) : undefined),
    checkJson: (json, type) => within(type, Number.isInteger(json) ? Number(json) + 0 : undefined),
    checkValue: (value) => expect(isNumeric(value) ? value : undefined, 'a number'),
  }),
  bigint: kind({
    columns: ['bigint', 'int8', 'bigserial'],
    comparability: 'by order',
    toInteger: BigInt,
    namesRecords: true,
    keysMadeBy: 'database',
    wireType: ({ mode }) => (mode === 'number' ? { type: 'integer', format: 'int64' } : { type: 'string' }),
    acceptedTypes: ({ mode }) => (mode === 'number' ? ['integer'] : ['string', 'integer']),
    bounds: ({ mode }) => (mode === 'number' ? SAFE_INTEGERS : { pattern: '^(?:0|-?[1-9][0-9]*)$' }),
    writer: ({ mode }) => (mode === 'number' ? undefined : String),
    // JSON numbers are too imprecise for the bounds.
    operandSchema: ({ mode }) =>
      mode === 'number' ? SAFE_INTEGER : { anyOf: [SAFE_INTEGER, { type: 'string', pattern: BIGINT_PATTERN }] },
    checkJson: (json, type) =>
      typeof json === 'string' && type.mode !== 'number'
        ? bigintOf(json, type)
        : within(type, Number.isSafeInteger(json) ? BigInt(json as number) : undefined),
    textSchema: () => ({ type: 'integer', format: 'int64' }),
    parseText: bigintOf,
    checkValue: (value) =>
      typeof value === 'string' ? bigintOf(value, {}) : expect(isNumeric(value) ? value : undefined, 'an integer'),
  }),
  number: kind({
    columns: ['real', 'float', 'float4', 'float8', 'double'],
    comparability: 'by order',
    wireType: () => ({ type: 'number' }),
    parseText: numberOf,
    checkJson: finite,
    checkValue: (value) =>
      typeof value === 'string' ? numberOf(value) : expect(isNumeric(value) ? Number(value) : undefined, 'a number'),
  }),
  decimal: kind({
    columns: ['numeric', 'decimal'],
    comparability: 'by order',
    wireType: ({ mode }) => ({ type: mode === 'string' ? 'string' : 'number' }),
    acceptedTypes: ({ mode }) => (mode === 'string' ? ['string', 'number'] : ['number']),
    bounds: (type) => (type.mode === 'string' ? { pattern: DECIMAL_PATTERN } : decimalBounds(type)),
    operandSchema: ({ mode }) =>
      mode === 'number'
        ? { type: 'number' }
        : { anyOf: [{ type: 'number' }, { type: 'string', pattern: DECIMAL_PATTERN }] },
    checkJson: (json, { mode }) =>
      typeof json === 'string' && mode !== 'number'
        ? expect(isDecimalText(json) ? json : undefined, 'a decimal number')
        : finite(json),
    textSchema: () => ({ type: 'number' }),
    parseText: decimalOf,
    checkValue(value) {
      if (typeof value === 'bigint') return String(value);
      return typeof value === 'string' ? decimalOf(value) : finite(value);
    },
  }),
  boolean: kind({
    columns: ['bool', 'boolean'],
    comparability: 'by equality',
    wireType: () => ({ type: 'boolean' }),
    parseText: (text) => expect(text === 'true' ? true : text === 'false' ? false : undefined, 'true or false'),
    checkJson: (json) => expect(typeof json === 'boolean' ? json : undefined, 'true or false'),
  }),
  datetime: kind({
    columns: ['datetime', 'timestamp', 'timestamptz'],
    comparability: 'by order',
    wireType: () => ({ type: 'string', format: 'date-time' }),
    writer: () => (value: Date) => value.toISOString(),
    parseText: instantOf,
    checkValue: (value) =>
      value instanceof Date
        ? expect(isStorable(value) ? value : undefined, 'a date')
        : instantOf(typeof value === 'string' ? value : ''),
  }),
  date: kind({
    columns: ['date'],
    comparability: 'by order',
    isPlain: false,
    wireType: () => ({ type: 'string', format: 'date' }),
    writer: () => isoDate,
    parseText: (text) => expect(parseDate(text), 'a date, as in 2024-12-31'),
  }),
  time: kind({
    columns: ['time', 'timetz'],
    comparability: 'by order',
    isPlain: false,
    wireType: () => ({ type: 'string', format: 'time' }),
    parseText: (text) => expect(parseTime(text), 'a time, as in 23:59:59'),
  }),
  uuid: kind({
    columns: ['uuid'],
    comparability: 'by equality',
    namesRecords: true,
    wireType: () => ({ type: 'string', format: 'uuid' }),
    parseText: (text) => expect(UUID.test(text.toLowerCase()) ? text.toLowerCase() : undefined, 'a UUID'),
  }),
  objectId: kind({
    comparability: 'by equality',
    keysMadeBy: 'driver',
    wireType: () => ({ type: 'string' }),
    bounds: () => ({ pattern: OBJECT_ID_PATTERN }),
    writer: () => String,
    parseText: objectIdOf,
    checkValue: (value) => objectIdOf(isObjectId(value) ? value.toHexString() : typeof value === 'string' ? value : ''),
  }),
  json: kind({
    columns: ['json', 'jsonb', 'interval', 'tsvector'],
    comparability: 'not at all',
    isPlain: false,
    wireType: () => ({}),
    parseText: neverCompared,
  }),
  binary: kind({
    columns: ['bytea', 'blob'],
    comparability: 'not at all',
    isPlain: false,
    wireType: () => ({ type: 'string', format: 'byte' }),
    writer: () => toBase64,
    parseText: neverCompared,
  }),
  enum: kind({
    comparability: 'by equality',
    areNumbersExact: true,
    hasCommas: ({ values = [] }) => values.some((value) => String(value).includes(',')),
    wireType: ({ values = [] }) => enumType(values),
    operandSchema: ({ values = [] }) => ({ enum: [...values] }),
    parseText: (text, type) => oneOf(type, (value) => String(value) === text),
    checkJson: (json, type) => oneOf(type, (value) => value === json),
  }),
};

const INTEGER = /^(?:0|-?[1-9]\d*)$/;
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const OBJECT_ID = new RegExp(OBJECT_ID_PATTERN);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const SAFE_INTEGERS = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
const SAFE_INTEGER = { type: 'integer', ...SAFE_INTEGERS };
/** Matches only texts within 64 bits. */
const BIGINT_PATTERN = '^(?:0|-?[1-9][0-9]{0,17})$';
const DECIMAL_PATTERN = '^-?[0-9]+(?:\\.[0-9]+)?$';

function decimalBounds({ precision, scale = 0 }: FieldType): Schema {
  if (precision === undefined) return {};
  const greatest = Number(`${'9'.repeat(Math.max(0, precision - scale)) || '0'}.${'9'.repeat(scale)}`);
  return { minimum: -greatest, maximum: greatest, multipleOf: Number(`1e-${scale}`) };
}

function enumType(values: readonly (string | number)[]): WireType {
  if (values.every((value) => typeof value === 'string')) return { type: 'string' };
  if (values.every((value) => Number.isInteger(value))) return { type: 'integer' };
  return values.every((value) => typeof value === 'number') ? { type: 'number' } : {};
}

function typeNamed({ type }: WireType): readonly string[] | undefined {
  return type === undefined ? undefined : [type];
}

/** Returns the text if a database can store it: no NUL character, no half of a surrogate pair. */
function wellFormed(text: string): string {
  const problem = textProblem(text);
  if (problem !== undefined) throw new FieldValueError(problem);
  return text;
}

function bigintOf(text: string, bounds: Bounds): bigint {
  return within(bounds, INTEGER.test(text) && text.length <= 20 ? BigInt(text) : undefined);
}

function numberOf(text: string): number {
  return expect(NUMBER.test(text) && Number.isFinite(Number(text)) ? Number(text) : undefined, 'a number');
}

function decimalOf(text: string): string {
  return expect(plainDecimal(text), 'a decimal number');
}

function instantOf(text: string): Date {
  return expect(parsePreciseDate(text), 'a date and time, as in 2024-12-31T23:59:59Z');
}

function objectIdOf(text: string): string {
  return expect(OBJECT_ID.test(text) ? text : undefined, 'an ObjectId: 24 hexadecimal digits, in lower case');
}

function isObjectId(value: unknown): value is ObjectIdLike {
  return typeof (value as Partial<ObjectIdLike> | null | undefined)?.toHexString === 'function';
}

function neverCompared(): never {
  throw new FieldValueError('cannot be compared with a value');
}

function finite(value: unknown): number {
  return expect(Number.isFinite(value) ? (value as number) : undefined, 'a number');
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && !Number.isNaN(value));
}

type Bounds = Pick<FieldType, 'minimum' | 'maximum'>;

/** Returns the whole number if it is given and within the bounds. */
function within<T extends number | bigint>({ minimum, maximum }: Bounds, value: T | undefined): T {
  if (minimum === undefined || maximum === undefined) return expect(value, 'an integer');
  if (value !== undefined && value >= minimum && value <= maximum) return value;
  throw new FieldValueError(`must be an integer between ${minimum} and ${maximum}`);
}

/** Returns the matching value of an enum. */
function oneOf({ values = [] }: FieldType, isMeant: (value: string | number) => boolean): string | number {
  return expect(values.find(isMeant), `one of: ${values.join(', ')}`);
}

/** Returns the value unless it is undefined. */
function expect<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new FieldValueError(`must be ${what}`);
  return value;
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
