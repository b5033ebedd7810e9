import { type EntityManager, helper, Utils } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import { fieldPath } from '../fields/field-path.ts';
import { compare } from '../language/compare.ts';
import { and, type Condition } from '../language/condition.ts';
import { QuerySet } from '../query/queryset.ts';

/** A request, as far as it is needed here. */
export interface EntityManagerSource {
  readonly em: EntityManager;
}

/**
 * Asks the database, with one query, whether an entity is in a scope: through the entity's own entity manager, so that
 * it sees what the entity's transaction sees.
 */
export async function isInScope(source: EntityManagerSource, scope: Condition, object: object): Promise<boolean> {
  if (!Utils.isEntity<object>(object)) {
    throw new ImproperlyConfigured('A permission with a scope is asked about entities, but another object came');
  }
  const entity = helper(object);
  const { __em: em = source.em, __meta: meta } = entity;
  const keys = entity.getPrimaryKeys() ?? [];
  const itself = meta.primaryKeys.map((name, place) => compare(fieldPath(meta, name, '.'), 'exact', keys[place]));
  return QuerySet.of(em, meta.class)
    .where(and(...itself, scope))
    .exists();
}
