import type { Children, Projection, RelatedProjection } from './projection.ts';

const kept = new WeakMap<RelatedProjection, WeakMap<object, readonly unknown[]>>();

/** Keeps the children that an entity shows of a relation, for `readEntity` of the projection. Children read earlier are forgotten. */
export function keepChildren(related: RelatedProjection, entity: object, children: readonly unknown[]): void {
  let ofEntities = kept.get(related);
  if (ofEntities === undefined) kept.set(related, (ofEntities = new WeakMap<object, readonly unknown[]>()));
  ofEntities.set(entity, children);
}

/**
 * Returns the children of an entity that were kept, a list for each relation of a projection.
 *
 * @throws Error if they were not read: missing children must not pass for none
 */
export function keptChildren({ related = [] }: Pick<Projection<unknown>, 'related'>, entity: object): Children {
  return related.map((one) => {
    const children = kept.get(one)?.get(entity);
    if (children !== undefined) return children;
    throw new Error(
      `"${one.relation.name}" cannot be read from the entity: its records are not loaded; await the view's loadRelated() first`,
    );
  });
}
