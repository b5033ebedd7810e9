import type { FieldPath } from '../fields/field-path.ts';
import { getOrMake } from '../get-or-make.ts';
import { entityReader } from '../mikro/entity-reader.ts';
import { countedRecords, isRelatedPath, type RelatedPath } from './related-path.ts';

/** The children of an entity that a projection shows of a relation to many. */
interface ShownChildren {
  readonly relation: { readonly name: string };
}

/** What related records show of an entity: children, or a value that they tell. */
type Shown = ShownChildren | RelatedPath;

const kept = new WeakMap<Shown, WeakMap<object, unknown>>();

/** Keeps children of an entity, or a value, for `readEntity` of a projection. What was kept earlier is forgotten. */
export function keepShown(shown: Shown, entity: object, value: unknown): void {
  getOrMake(kept, shown, () => new WeakMap<object, unknown>()).set(entity, value);
}

/** Tells if all is kept that a projection shows of an entity's related records. */
export function isAllKept(
  { related = [], told = [] }: { readonly related?: readonly ShownChildren[]; readonly told?: readonly RelatedPath[] },
  entity: object,
): boolean {
  return [...related, ...told].every((shown) => kept.get(shown)?.has(entity));
}

/**
 * Returns the children of an entity that were kept, a list for each relation of a projection.
 *
 * @throws Error if they were not read: missing children must not pass for none
 */
export function keptChildren(related: readonly ShownChildren[], entity: object): readonly (readonly unknown[])[] {
  return related.map((one) => keptValue(one, entity, one.relation.name) as readonly unknown[]);
}

/**
 * Makes the function that reads a path of an entity: what it holds, or the value that was kept of its related records.
 *
 * @throws Error, when called, if the value was not read: a missing value must not pass for none
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
