import type { EntityMetadata } from '@mikro-orm/core';
import type { TSchema } from 'typebox';
import { type FieldPath, findFieldPath } from '../../fields/field-path.ts';
import { isToOne, referredKey } from '../../fields/property.ts';
import { isNativePath } from '../../query/language/native-term.ts';
import type { ReadField } from './read-field.ts';
import type { ReadShape } from './read-shape.ts';

/** Reports whether a path leads to a field that all of some read shapes show unchanged. */
export type IsShown = (path: FieldPath) => boolean;

/**
 * Makes the test for fields that all read shapes of an entity show. Fields that are computed, also from related
 * records, do not show the fields that they read. A to-many relation with a limit does not show all of its records.
 */
export function shownByAll(meta: EntityMetadata, shapes: Iterable<Pick<ReadShape<object, object>, 'fields'>>): IsShown {
  const all = [...shapes].map(({ fields }) => fields);
  const shown = all.map((fields) => {
    const paths = fields.flatMap((field) => pathsOf(field)).map((path) => findFieldPath(meta, path, '.'));
    return new Set(paths.flatMap((path) => (typeof path === 'string' ? [] : [columnOf(path)])));
  });
  return (path) => {
    const place = isNativePath(path) ? path.inJson : undefined;
    if (place === undefined) return shown.length > 0 && shown.every((columns) => columns.has(columnOf(path)));
    const { column, names } = place;
    return all.length > 0 && all.every((fields) => showsPart(fields, [column, ...names]));
  };
}

/** Reports whether fields show a value in a column that holds JSON. */
function showsPart(fields: readonly ReadField[], [name, ...names]: readonly string[]): boolean {
  return fields.some(({ path, computed, relatedValue, many, fields: parts, known, byHand, schema }) => {
    if (path !== name || (computed ?? relatedValue ?? many) !== undefined) return false;
    if (parts !== undefined) return showsPart(parts, names);
    return (known === undefined && byHand !== true) || schemaHas(schema, names);
  });
}

/** Reports whether a schema keeps the value at the end of the names: it drops properties that it does not name. */
function schemaHas(schema: TSchema, [name, ...names]: readonly string[]): boolean {
  if (name === undefined) return true;
  const { properties, anyOf } = schema as {
    properties?: Readonly<Record<string, TSchema>>;
    anyOf?: readonly TSchema[];
  };
  if (anyOf !== undefined) return anyOf.some((member) => schemaHas(member, [name, ...names]));
  if (properties === undefined) return (schema as { type?: unknown }).type === undefined;
  return Object.hasOwn(properties, name) && schemaHas(properties[name]!, names);
}

function pathsOf({ path, computed, relatedValue, many, fields }: ReadField): string[] {
  if (computed !== undefined || relatedValue !== undefined || many?.limit !== undefined) return [];
  const parts = many === undefined ? fields : [many.shown].flat();
  if (parts === undefined) return [path];
  return parts.flatMap((part) => pathsOf(part)).map((part) => `${path}.${part}`);
}

/** Returns the name of a path's column. A relation reads as the key that it refers to. */
function columnOf({ steps, property }: FieldPath): string {
  const names = [...steps, property].map(({ name }) => name);
  for (let last = property; isToOne(last);) {
    last = referredKey(last);
    names.push(last.name);
  }
  return names.join('.');
}
