import type { FieldPath } from '../fields/field-path.ts';
import { entityReader } from '../mikro/entity-reader.ts';
import { countedRecords, isRelatedPath, type RelatedPath } from './related-path.ts';

const kept = new WeakMap<RelatedPath, WeakMap<object, unknown>>();

/** Keeps the value that related records tell of an entity. A value that was read earlier is forgotten. */
export function keepValue(path: RelatedPath, entity: object, value: unknown): void {
  let ofEntities = kept.get(path);
  if (ofEntities === undefined) kept.set(path, (ofEntities = new WeakMap<object, unknown>()));
  ofEntities.set(entity, value);
}

/**
 * Makes the function that reads a path of an entity: what it holds, or the value that was kept of its related records.
 *
 * @throws Error, when called, if the value was not read: a missing value must not pass for none
 */
export function readerOfEntity(path: FieldPath): (entity: object) => unknown {
  if (!isRelatedPath(path)) return entityReader(path);
  return (entity) => {
    const values = kept.get(path);
    if (values?.has(entity) === true) return values.get(entity);
    countedRecords(path);
    throw new Error(
      `"${path.key}" cannot be read from the entity: it is not loaded; await the view's loadRelated() first`,
    );
  };
}
