import { type FieldPath, ImproperlyConfigured } from '@viewset/core';
import { customTypeOf } from '@viewset/core/backend';
import { decimalText } from '../mikro/decimal128.ts';
import type { Document } from '../mikro/mongo-driver.ts';
import { columnOf } from './column.ts';
import type { MongoScope } from './scope.ts';

/** The fields of documents that rows are made of. */
export interface RowFields {
  /** Tells MongoDB which fields to send. */
  readonly projection: Document;
  readRow(this: void, document: Document): unknown[];
}

/**
 * Makes the reading of columns from the documents of a scope, and looks up what they need of other collections.
 *
 * @param entityColumns the number of columns in front that are left as the driver gives them
 * @throws ImproperlyConfigured for a path through a relation to many
 */
export function rowFields(scope: MongoScope, paths: readonly FieldPath[], entityColumns = 0): RowFields {
  const fields = fieldsOf(scope, paths);
  const getters = fields.map((field, index) =>
    index < entityColumns ? getterOf(field, undefined) : plainGetter(field, paths[index] as FieldPath),
  );
  return { projection: projectionOf(fields), readRow: (document) => getters.map((get) => get(document)) };
}

/** Makes the reading of columns of an entity's own from its documents, as the driver gives them for a `Projection`'s row. */
export function rowReader(paths: readonly FieldPath[]): (document: Document) => unknown[] {
  const getters = paths.map((path) => plainGetter(columnOf(path.property), path));
  return (document) => getters.map((get) => get(document));
}

/** Makes the reading of a path from a field, as rows have it. */
export function plainGetter(field: string, path: FieldPath): (document: Document) => unknown {
  return getterOf(field, plainValue(path));
}

/** The key of a related record comes of that record if it is read anyway, so that both are there or neither. */
function fieldsOf(scope: MongoScope, paths: readonly FieldPath[]): string[] {
  for (const path of paths) {
    if (path.toMany) {
      throw new ImproperlyConfigured(`"${path.key}" cannot be read: it has several values for each record`);
    }
    if (path.property.primary !== true) scope.value(path);
  }
  return paths.map((path) => scope.value(path));
}

/** MongoDB sends the key unless it is told not to. */
function projectionOf(fields: readonly string[]): Document {
  const projection: Document = {};
  for (const field of fields) projection[field] = 1;
  if (fields.length === 0) return { _id: 1 };
  return Object.hasOwn(projection, '_id') ? projection : { ...projection, _id: 0 };
}

type Convert = (value: unknown) => unknown;

function getterOf(field: string, convert: Convert | undefined): (document: Document) => unknown {
  const dot = field.startsWith('~') ? field.indexOf('.') : -1;
  const get = dot === -1 ? ownGetter(field) : relatedGetter(field.slice(0, dot), field.slice(dot + 1));
  if (convert === undefined) return get;
  return (document) => {
    const value = get(document);
    return value === null ? null : convert(value);
  };
}

function ownGetter(field: string): (document: Document) => unknown {
  return (document) => document[field] ?? null;
}

function relatedGetter(relation: string, field: string): (document: Document) => unknown {
  return (document) => (document[relation] as Document | undefined)?.[field] ?? null;
}

/** Makes of the driver's own values those that every database has: numbers that are exact as text, keys and bytes. */
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
