import {
  ArrayType,
  BigIntType,
  BlobType,
  BooleanType,
  DateTimeType,
  DateType,
  DecimalType,
  DoubleType,
  type EntityProperty,
  FloatType,
  IntegerType,
  IntervalType,
  JsonType,
  MediumIntType,
  SmallIntType,
  StringType,
  TextType,
  TimeType,
  TinyIntType,
  Type,
  types,
  Uint8ArrayType,
  Utils,
  UuidType,
} from '@mikro-orm/core';
import type { FieldKind, FieldType } from '../fields/field-type.ts';

/** A type of MikroORM's, whatever its values are. */
type MappedType = Type<unknown>;

/** In this order: a class of MikroORM's may extend another one. */
const KINDS: readonly (readonly [new (...args: never[]) => MappedType, FieldKind])[] = [
  [StringType, 'string'],
  [TextType, 'string'],
  [IntegerType, 'integer'],
  [SmallIntType, 'integer'],
  [TinyIntType, 'integer'],
  [MediumIntType, 'integer'],
  [BigIntType, 'bigint'],
  [DecimalType, 'decimal'],
  [DoubleType, 'number'],
  [FloatType, 'number'],
  [BooleanType, 'boolean'],
  [DateTimeType, 'datetime'],
  [DateType, 'date'],
  [TimeType, 'time'],
  [UuidType, 'uuid'],
  [ArrayType, 'json'],
  [JsonType, 'json'],
  [IntervalType, 'json'],
  [BlobType, 'binary'],
  [Uint8ArrayType, 'binary'],
];

/** The kinds of the names that JavaScript and databases have for what a property holds. */
const NAMED_KINDS: Readonly<Record<string, FieldKind>> = {
  string: 'string',
  number: 'number',
  boolean: 'boolean',
  bigint: 'bigint',
  date: 'datetime',
  buffer: 'binary',
  object: 'json',
  any: 'json',
  array: 'json',
};

/** MikroORM's own, on every database that has lengths. */
const DEFAULT_LENGTH = 255;
/** MikroORM's own: a decimal that declares nothing is `numeric(10,0)`. */
const DEFAULT_PRECISION = 10;

/**
 * The type of a field as its builder declares it, before the ORM has been initialised: what `fieldType` says of the
 * same property afterwards.
 */
export function declaredType(options: EntityProperty): FieldType {
  if (options.enum === true) {
    const values = enumValues(options);
    return values === undefined ? { kind: 'string' } : { kind: 'enum', values };
  }
  if (options.array === true) return { kind: 'json' };
  const mapped = mappedType(options);
  const kind = kindOf(options, mapped);
  if (kind === 'string') return { kind, ...longest(options, mapped) };
  if (kind === 'integer') return { kind, ...integerRange(mapped) };
  if (kind === 'bigint') {
    const mode = mapped instanceof BigIntType ? (mapped.mode as FieldType['mode']) : undefined;
    return { kind, minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n, mode: mode ?? 'bigint' };
  }
  if (kind === 'decimal') {
    const mode = mapped instanceof DecimalType && mapped.mode === 'number' ? 'number' : 'string';
    return { kind, mode, precision: options.precision ?? DEFAULT_PRECISION, scale: options.scale ?? 0 };
  }
  return { kind };
}

/** Tells a column that holds a list of values (`p.array()`, an array of enum values). */
export function isArrayProperty(options: EntityProperty): boolean {
  return options.array === true || options.customType instanceof ArrayType || mappedType(options) instanceof ArrayType;
}

/** Tells a type that the application wrote itself: only the application knows what its values look like. */
export function isCustomType(options: EntityProperty): boolean {
  const mapped = options.customType ?? mappedType(options);
  return mapped !== undefined && Type.getOrmType(mapped.constructor) === undefined;
}

function kindOf(options: EntityProperty, mapped: MappedType | undefined): FieldKind {
  const known = KINDS.find(([MappedType]) => mapped instanceof MappedType);
  if (known !== undefined) return known[1];
  const type: unknown = options.type;
  const named = typeof type === 'function' ? type.name : typeof type === 'string' ? type : options.runtimeType;
  return NAMED_KINDS[(mapped?.runtimeType ?? named ?? 'string').toLowerCase()] ?? 'string';
}

/** The ORM's mapped type of a property: an instance, a class or a name may stand for it. */
function mappedType(options: EntityProperty): MappedType | undefined {
  const type: unknown = options.type;
  if (Type.isMappedType(type)) return type as MappedType;
  if (typeof type === 'string') return namedType(type);
  if (typeof type !== 'function' || !Type.isMappedType(type.prototype)) return undefined;
  return Type.getType(type as unknown as new () => MappedType);
}

/** MikroORM's own type of a name, `string` or `bigint`. */
function namedType(name: string): MappedType | undefined {
  const classes = types as unknown as Readonly<Record<string, new () => MappedType>>;
  return Object.hasOwn(classes, name) ? Type.getType(classes[name]!) : undefined;
}

function enumValues({ items }: EntityProperty): readonly (string | number)[] | undefined {
  const given: unknown = typeof items === 'function' ? (items as () => unknown)() : items;
  if (Array.isArray(given)) return given as (string | number)[];
  return typeof given === 'object' && given !== null ? Utils.extractEnumValues(given) : undefined;
}

function longest({ length }: EntityProperty, mapped: MappedType | undefined): { maxLength?: number } {
  const maxLength = length ?? (mapped?.constructor === StringType ? DEFAULT_LENGTH : undefined);
  return maxLength === undefined || maxLength < 0 ? {} : { maxLength };
}

function integerRange(mapped: MappedType | undefined): { minimum: number; maximum: number } {
  const bits = mapped instanceof SmallIntType || mapped instanceof TinyIntType ? 16 : 32;
  return { minimum: -(2 ** (bits - 1)), maximum: 2 ** (bits - 1) - 1 };
}
