import { type EntityMetadata, type EntityProperty, type Platform, ReferenceKind } from '@mikro-orm/core';
import { isRecord } from '@viewset/core/backend';
import type { Document } from './mongo-driver.ts';
import { exactValue } from './metadata.ts';

/**
 * Returns a new document's values in their stored form; see `changedValues`.
 *
 * @param values the values of all columns (`completeValues`)
 */
export function newDocument(meta: EntityMetadata, values: Document): Document {
  const document = changedValues(meta, values);
  for (const name of Object.keys(document)) if (document[name] === undefined) delete document[name];
  return document;
}

/**
 * Adds missing values to a new document: the column's default, or NULL.
 *
 * @param data values by property name, as MikroORM stores them
 */
export function completeValues(platform: Platform, meta: EntityMetadata, data: Document): Document {
  const values = { ...defaultsOf(platform, meta) };
  for (const [name, value] of Object.entries(data)) if (value !== undefined) values[name] = value;
  return values;
}

const defaults = new WeakMap<EntityMetadata, Document>();

function defaultsOf(platform: Platform, meta: EntityMetadata): Document {
  let values = defaults.get(meta);
  if (values === undefined) {
    const columns = meta.props.filter((property) => hasValue(property) && defaultOf(property) !== undefined);
    const entries = columns.map((property) => {
      const value = defaultOf(property);
      const type = value === null ? undefined : property.customType;
      const stored: unknown = type === undefined ? value : type.convertToDatabaseValue(value, platform);
      return [property.name, stored] as const;
    });
    defaults.set(meta, (values = Object.fromEntries(entries)));
  }
  return values;
}

/** MongoDB has no columns: without this, MikroORM would read missing fields as undefined. */
function defaultOf({ default: value, nullable }: EntityProperty): unknown {
  return value ?? (nullable === true ? null : undefined);
}

/** True for a property that is stored in one field. */
function hasValue({ kind, owner, persist, formula, embedded }: EntityProperty): boolean {
  if (persist === false || formula !== undefined || embedded !== undefined) return false;
  return (
    kind === ReferenceKind.SCALAR || kind === ReferenceKind.MANY_TO_ONE || (kind === ReferenceKind.ONE_TO_ONE && owner)
  );
}

/**
 * Returns a document's changes in their stored form. Fields with undefined are to be removed.
 *
 * - Objects in JSON columns become Maps. Otherwise MikroORM would treat `{ $inc: 1 }` and `{ $re: '.' }` as operators,
 *   and the driver `{ _bsontype: … }` as its own type, even if a client sent them.
 * - NULL in a unique field is stored as a missing field, which any number of documents may have: MongoDB counts NULL as
 *   a value.
 */
export function changedValues(meta: EntityMetadata, data: Document): Document {
  const values: Document = { ...data };
  for (const [name, value] of Object.entries(values)) {
    const property = meta.properties[name as never] as EntityProperty | undefined;
    if (property === undefined) continue;
    if (value === null && isLeftOut(meta, property)) values[name] = undefined;
    else if (!hasValue(property)) continue;
    // MikroORM increments a version itself, with an operator.
    else if (name !== meta.versionProperty) values[name] = literalValue(exactValue(property, value));
  }
  return values;
}

/** True for a nullable property that is unique, alone or together with others. */
export function isLeftOut(meta: EntityMetadata, property: EntityProperty): boolean {
  return isNullable(meta, property) && uniqueNames(meta).has(property.name);
}

/** A part of an embeddable is also NULL if the embeddable is. */
function isNullable(meta: EntityMetadata, { nullable, embedded }: EntityProperty): boolean {
  if (nullable === true || embedded === undefined) return nullable === true;
  const owner: EntityProperty | undefined = meta.properties[embedded[0] as never];
  return owner !== undefined && isNullable(meta, owner);
}

const known = new WeakMap<EntityMetadata, ReadonlySet<string>>();

function uniqueNames(meta: EntityMetadata): ReadonlySet<string> {
  let names = known.get(meta);
  if (names === undefined) {
    const alone = meta.props.filter(({ unique }) => unique !== undefined && unique !== false).map(({ name }) => name);
    const together = meta.uniques.flatMap(({ properties }) => (properties === undefined ? [] : [properties].flat()));
    known.set(meta, (names = new Set([...alone, ...together.map(String)])));
  }
  return names;
}

/** Copies a JSON value with objects as Maps, whose keys have no special meaning. */
function literalValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(literalValue);
  if (!isPlain(value)) return value;
  return new Map(Object.entries(value).map(([key, part]) => [key, literalValue(part)]));
}

function isPlain(value: unknown): value is Document {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
