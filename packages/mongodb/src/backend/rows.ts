import { type FieldPath, ImproperlyConfigured } from '@viewset/core';
import { customTypeOf } from '@viewset/core/backend';
import { decimalText } from '../mikro/decimal128.ts';
import type { Document } from '../mikro/mongo-driver.ts';
import { columnOf } from './column.ts';
import type { MongoScope } from './scope.ts';

/** The document fields that rows are made of. */
export interface RowFields {
  /** The fields that MongoDB sends. */
  readonly projection: Document;
  readRow(this: void, document: Document): unknown[];
}

/**
 * Makes the reader of columns from a scope's documents, and looks up the related ones.
 *
 * @param entityColumns the number of leading columns that keep the driver's values
 * @throws ImproperlyConfigured for a path through a to-many relation
 */
export function rowFields(scope: MongoScope, paths: readonly FieldPath[], entityColumns = 0): RowFields {
  const fields = fieldsOf(scope, paths);
  const getters = fields.map((field, index) =>
    index < entityColumns ? getterOf(field, undefined) : plainGetter(field, paths[index] as FieldPath),
  );
  return { projection: projectionOf(fields), readRow: (document) => getters.map((get) => get(document)) };
}

/** Makes the reader of an entity's own columns from the driver's documents, for the row of a `Projection`. */
export function rowReader(paths: readonly FieldPath[]): (document: Document) => unknown[] {
  const getters = paths.map((path) => plainGetter(columnOf(path.property), path));
  return (document) => getters.map((get) => get(document));
}

/** Makes the reader of a path's value in a field, converted as in rows. */
export function plainGetter(field: string, path: FieldPath): (document: Document) => unknown {
  return getterOf(field, plainValue(path));
}

/** If the related record is read anyway, its key is taken from it, so that both are present or neither. */
function fieldsOf(scope: MongoScope, paths: readonly FieldPath[]): string[] {
  for (const path of paths) {
    if (path.toMany) {
      throw new ImproperlyConfigured(`"${path.key}" cannot be read: it has several values for each record`);
    }
    if (path.property.primary !== true) scope.value(path);
  }
  return paths.map((path) => scope.value(path));
}

/** MongoDB always sends `_id` unless it is excluded. */
function projectionOf(fields: readonly string[]): Document {
  const projection: Document = {};
  for (const field of fields) projection[field] = 1;
  if (fields.length === 0) return { _id: 1 };
  return Object.hasOwn(projection, '_id') ? projection : { ...projection, _id: 0 };
}

type Convert = (value: unknown) => unknown;

function getterOf(field: string, convert: Convert | undefined): (document: Document) => unknown {
  const dot = field.startsWith('~') ? field.indexOf('.') : -1;
  const get = dot === -1 ? fieldGetter(field) : relatedGetter(field.slice(0, dot), field.slice(dot + 1));
  if (convert === undefined) return get;
  return (document) => {
    const value = get(document);
    return value === null ? null : convert(value);
  };
}

function fieldGetter(field: string): (document: Document) => unknown {
  return (document) => document[field] ?? null;
}

function relatedGetter(relation: string, field: string): (document: Document) => unknown {
  return (document) => (document[relation] as Document | undefined)?.[field] ?? null;
}

/** Converts the driver's types to values that every database returns: exact numbers as strings, keys and bytes. */
function plainValue(path: FieldPath): Convert | undefined {
  if (customTypeOf(path.property) !== undefined) return undefined;
  switch (path.type.kind) {
    case 'decimal':
      return decimalText;
    case 'bigint':
    case 'objectId':
      return String;
    case 'binary':
      return bytes;
    default:
      return undefined;
  }
}

function bytes(value: unknown): unknown {
  return Buffer.isBuffer(value) ? value : (value as { readonly buffer: unknown }).buffer;
}
