import { Utils } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../awaitable.ts';
import { ImproperlyConfigured } from '../errors.ts';
import { fieldPath } from '../fields/field-path.ts';
import { compare } from '../language/compare.ts';
import { always, and, type Condition, isAlways, isNever, never, not, or } from '../language/condition.ts';
import type { EntityManagerSource } from '../backends/source.ts';
import { originOf } from '../mikro/entities.ts';
import { QuerySet } from '../query/queryset.ts';

/** Asks about one record. */
export type ObjectCheck = (object: object) => Awaitable<boolean>;

/**
 * The records that a permission grants: those in the scope that pass the object check. Permissions are combined as grants,
 * so that the result is right for the view, its queries and each record at once.
 *
 * An object check cannot be asked by a query. So a grant has two bounds that can: no record outside `scope` is granted, and
 * every record in `certain` is. The complement of a grant has them exchanged.
 */
export interface Grant {
  readonly scope: Condition;
  /** The same condition as `scope` if no record need be looked at. */
  readonly certain: Condition;
  /** True: every record of the scope passes, and none need be looked at. */
  readonly object: ObjectCheck | true;
}

export const ALL: Grant = Object.freeze({ scope: always, certain: always, object: true });
export const NONE: Grant = Object.freeze({ scope: never, certain: never, object: true });

/** Grants the records of a scope, all of them. */
export function scopeGrant(scope: Condition): Grant {
  if (isNever(scope)) return NONE;
  return isAlways(scope) ? ALL : { scope, certain: scope, object: true };
}

/** Grants those records of a scope that pass an object check, and at least those that are certain to. */
export function checkedGrant(scope: Condition, certain: Condition, object: ObjectCheck): Grant {
  if (isNever(scope)) return NONE;
  return isAlways(certain) ? ALL : { scope, certain, object };
}

/** Grants what both grant. */
export function intersection(first: Grant, second: Grant): Grant {
  if (first === ALL || second === NONE) return second;
  if (second === ALL || first === NONE) return first;
  const scope = and(first.scope, second.scope);
  const object = bothPass(first.object, second.object);
  return object === true ? scopeGrant(scope) : checkedGrant(scope, and(first.certain, second.certain), object);
}

/** Grants what either grants. */
export function union(first: Grant, second: Grant, source: EntityManagerSource): Grant {
  if (first === NONE || second === ALL) return second;
  if (second === NONE || first === ALL) return first;
  const scope = or(first.scope, second.scope);
  if (first.object === true && second.object === true) return scopeGrant(scope);
  return checkedGrant(scope, or(first.certain, second.certain), (object) =>
    whenReady(covers(first, object, source), (covered) => covered || covers(second, object, source)),
  );
}

/** Grants what is not granted. */
export function complement(granted: Grant, source: EntityManagerSource): Grant {
  const scope = not(granted.certain);
  if (granted.object === true) return scopeGrant(scope);
  return checkedGrant(scope, not(granted.scope), (object) =>
    whenReady(covers(granted, object, source), (covered) => !covered),
  );
}

/** Tells if one record is granted: in the scope, and past the object check. */
export function covers(
  { scope, object: check }: Grant,
  object: object,
  source: EntityManagerSource,
): Awaitable<boolean> {
  if (isNever(scope)) return false;
  const inScope = isAlways(scope) || isInScope(source, scope, object);
  return check === true ? inScope : whenReady(inScope, (inside) => inside && check(object));
}

function bothPass(first: Grant['object'], second: Grant['object']): Grant['object'] {
  if (first === true) return second;
  if (second === true) return first;
  return (object) => whenReady(first(object), (passed) => passed && second(object));
}

/**
 * Asks the database, with one query, if an entity is in a scope: through the entity's own entity manager, so that the query
 * sees what the entity's transaction sees.
 */
async function isInScope(source: EntityManagerSource, scope: Condition, object: object): Promise<boolean> {
  if (!Utils.isEntity<object>(object)) {
    throw new ImproperlyConfigured('A permission with a scope is asked about entities, but another object came');
  }
  const { em = source.em, meta, keys } = originOf(object);
  const itself = meta.primaryKeys.map((name, place) => compare(fieldPath(meta, name, '.'), 'exact', keys[place]));
  return QuerySet.of(em, meta.class)
    .where(and(...itself, scope))
    .exists();
}
