import type { EntityMetadata } from '@mikro-orm/core';
import { type FieldPath, findFieldPath } from '../../fields/field-path.ts';
import { isToOne, referredKey } from '../../fields/property.ts';
import type { ReadField } from './read-field.ts';
import type { ReadShape } from './read-shape.ts';

/** Reports whether a path leads to a field that all of some read shapes show unchanged. */
export type IsShown = (path: FieldPath) => boolean;

/**
 * Makes the test for fields that all read shapes of an entity show. Fields that are computed, also from related
 * records, do not show the fields that they read. A to-many relation with a limit does not show all of its records.
 */
export function shownByAll(meta: EntityMetadata, shapes: Iterable<Pick<ReadShape<object, object>, 'fields'>>): IsShown {
  const shown = [...shapes].map(({ fields }) => {
    const paths = fields.flatMap((field) => pathsOf(field)).map((path) => findFieldPath(meta, path, '.'));
    return new Set(paths.flatMap((path) => (typeof path === 'string' ? [] : [columnOf(path)])));
  });
  return (path) => shown.length > 0 && shown.every((columns) => columns.has(columnOf(path)));
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
