import {
  BigIntType,
  DecimalType,
  type EntityMetadata,
  type EntityProperty,
  type MetadataStorage,
  type Platform,
  type Type,
} from '@mikro-orm/core';
import { fieldType, limitDecimals, shortDecimal } from '@viewset/core/backend';
import { bsonVersionOf, Decimal128, decimalBelow, decimalText } from './decimal128.ts';

/**
 * Names the column of an entity's key `_id`, as MongoDB does, whatever the property is called. Call it before MikroORM
 * completes the entity (`discovery.onMetadata`). A name chosen by the application is kept.
 */
export function nameKeyColumn(meta: EntityMetadata): void {
  const keys = Object.values<EntityProperty>(meta.properties).filter(({ primary }) => primary === true);
  const [key, ...others] = keys;
  const named = key as (EntityProperty & { fieldName?: string }) | undefined;
  if (named === undefined || others.length > 0) return;
  if (named.fieldNames === undefined && named.fieldName === undefined) named.fieldNames = ['_id'];
}

/** The conversions of types that already store exact values. Properties may share a type. */
const exact = new WeakMap<object, (value: unknown) => unknown>();

/**
 * Makes decimals and bigints use MongoDB's exact number types. MikroORM stores both as strings, which sort differently.
 * Call it once the entities are complete (`discovery.afterDiscovered`). The application's own types are not changed.
 */
export function storeExactly(entities: MetadataStorage, platform: Platform): void {
  limitDecimals(platform, (text) => decimalBelow(shortDecimal(text)).isExact);
  for (const meta of entities) {
    for (const property of meta.props) {
      const type = property.customType as Type<unknown> | undefined;
      if (type === undefined || exact.has(type)) continue;
      if (type.constructor === DecimalType) storeDecimal(type, fieldType(property).scale, platform);
      if (type.constructor === BigIntType) storeBigInt(type);
    }
  }
}

function storeDecimal(type: Type<unknown>, scale: number | undefined, platform: Platform): void {
  const convert = (value: unknown): unknown => {
    return isNone(value) ? value : exactDecimal(platform, value, scale);
  };
  const read = type.convertToJSValue.bind(type);
  const convertToJSValue = (value: unknown): unknown => read(isNone(value) ? value : decimalText(value), platform);
  Object.assign(type, { convertToDatabaseValue: convert, convertToJSValue, compareValues: areEqual });
  exact.set(type, convert);
}

function storeBigInt(type: Type<unknown>): void {
  Object.assign(type, { convertToDatabaseValue: toBigInt });
  exact.set(type, toBigInt);
}

function toBigInt(value: unknown): unknown {
  return isNone(value) ? value : BigInt(value as string | number | bigint);
}

function isNone(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

/**
 * Converts a number or string to the stored form of a decimal or bigint column, because `em.nativeUpdate()` passes
 * values on unconverted.
 */
export function exactValue({ customType }: EntityProperty, value: unknown): unknown {
  if (customType === undefined || (typeof value !== 'number' && typeof value !== 'string')) return value;
  const convert = exact.get(customType);
  return convert === undefined ? value : convert(value);
}

function areEqual(first: unknown, second: unknown): boolean {
  return String(first) === String(second);
}

/** Makes a decimal for a platform's driver, rounded to `scale` digits after the point if given. */
export function exactDecimal(platform: Platform, value: unknown, scale: number | undefined): Decimal128 {
  let version = bsonVersions.get(platform);
  if (version === undefined) {
    // An ObjectId is the only value of the driver's BSON that a platform can make.
    version = bsonVersionOf(platform.denormalizePrimaryKey('0'.repeat(24)) as unknown as object);
    bsonVersions.set(platform, version);
  }
  return Decimal128.of(value, scale, version);
}

const bsonVersions = new WeakMap<Platform, unknown>();
