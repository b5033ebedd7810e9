import type { FieldPath } from '../../fields/field-path.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { entityReader } from '../../mikro/entity-reader.ts';
import { countedRecords, isRelatedPath, type RelatedPath } from './related-path.ts';

/** The children of an entity that a projection shows for a to-many relation. */
interface ShownChildren {
  readonly relation: { readonly name: string };
}

/** Values of an entity that come from related records: children, or a computed value. */
type Shown = ShownChildren | RelatedPath;

const kept = new WeakMap<Shown, WeakMap<object, unknown>>();

/**
 * Stores children or a value of an entity for the `readEntity` of a projection. Replaces the stored value, if there is
 * one.
 */
export function cacheRelated(shown: Shown, entity: object, value: unknown): void {
  getOrMake(kept, shown, () => new WeakMap<object, unknown>()).set(entity, value);
}

/** Reports whether all values from related records that a projection shows are stored for an entity. */
export function hasAllRelated(
  {
    related = [],
    aggregates = [],
  }: { readonly related?: readonly ShownChildren[]; readonly aggregates?: readonly RelatedPath[] },
  entity: object,
): boolean {
  return [...related, ...aggregates].every((shown) => kept.get(shown)?.has(entity));
}

/**
 * Returns the stored children of an entity, a list for each relation of a projection.
 *
 * @throws Error if they were not read, because missing children must not look like none
 */
export function cachedChildren(related: readonly ShownChildren[], entity: object): readonly (readonly unknown[])[] {
  return related.map((one) => keptValue(one, entity, one.relation.name) as readonly unknown[]);
}

/**
 * Makes the function that reads a path of an entity: its own value, or the stored value from related records.
 *
 * @throws Error, when called, if the value was not read, because a missing value must not look like none
 */
export function readerOfEntity(path: FieldPath): (entity: object) => unknown {
  if (!isRelatedPath(path)) return entityReader(path);
  return (entity) => {
    if (kept.get(path)?.has(entity) !== true) countedRecords(path);
    return keptValue(path, entity, path.key);
  };
}

function keptValue(shown: Shown, entity: object, name: string): unknown {
  const values = kept.get(shown);
  if (values?.has(entity) === true) return values.get(entity);
  throw new Error(
    `"${name}" cannot be read from the entity: it is not loaded; pass the request, represent(entity, request), or await the view's loadRelated() first`,
  );
}
