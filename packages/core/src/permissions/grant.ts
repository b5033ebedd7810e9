import { Utils } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../awaitable.ts';
import type { EntityManagerSource } from '../backends/source.ts';
import { ImproperlyConfigured } from '../errors.ts';
import { fieldPath } from '../fields/field-path.ts';
import { compare } from '../language/compare.ts';
import { always, and, type Condition, isAlways, isNever, never, not, or } from '../language/condition.ts';
import { managerOfEntity, metadataOf } from '../mikro/entities.ts';
import { QuerySet } from '../query/queryset.ts';

/** Asks about one record. */
export type ObjectCheck = (object: object) => Awaitable<boolean>;

/** Bounds of a set of records that a query can ask for: all records of `least` are in the set, and none outside `most`. */
interface Bounds {
  readonly least: Condition;
  readonly most: Condition;
}

/**
 * The records that a permission grants to a request: those in its scope that pass its object check. `NONE` refuses the request
 * itself; a grant of no records lets it in, and there is nothing to see.
 *
 * Permissions are combined as grants, so that the result is right for the view, its queries and each record at once. A query
 * cannot ask an object check, so a grant has bounds that it can ask. The complement of a grant exchanges them.
 */
export interface Grant {
  /** Bounds of the records that exist for the request. A scope speaks for the object check of its own class here. */
  readonly shown: Bounds;
  /** Bounds of the records that pass. */
  readonly passing: Bounds;
  /** Decides about the records within `passing.most`; true: all of them pass. */
  readonly object: ObjectCheck | true;
}

/** Grants every record, without a scope. */
export const ALL: Grant = Object.freeze(scopeGrant(always));
/** Refuses the request. */
export const NONE: Grant = Object.freeze(scopeGrant(never));

/** Grants all records of a scope, which may be none. */
export function scopeGrant(scope: Condition): Grant {
  const bounds = { least: scope, most: scope };
  return { shown: bounds, passing: bounds, object: true };
}

/** Grants the records that pass an object check, within a scope if there is one. */
export function checkedGrant(scope: Condition | undefined, object: ObjectCheck): Grant {
  const passing = { least: never, most: scope ?? always };
  return { shown: scope === undefined ? passing : { least: scope, most: scope }, passing, object };
}

/** Grants what both grant. */
export function intersection(first: Grant, second: Grant): Grant {
  if (first === ALL || second === NONE) return second;
  if (second === ALL || first === NONE) return first;
  return {
    shown: combined(and, first.shown, second.shown),
    passing: combined(and, first.passing, second.passing),
    object: bothPass(first.object, second.object),
  };
}

/** Grants what either grants. */
export function union(first: Grant, second: Grant, source: EntityManagerSource): Grant {
  if (first === NONE || second === ALL) return second;
  if (second === NONE || first === ALL) return first;
  const object: ObjectCheck = (record) =>
    whenReady(passes(first, record, source), (passed) => passed || passes(second, record, source));
  return {
    shown: combined(or, first.shown, second.shown),
    passing: combined(or, first.passing, second.passing),
    object: first.object === true && second.object === true ? true : object,
  };
}

/** Grants what is not granted. */
export function complement(granted: Grant, source: EntityManagerSource): Grant {
  if (granted === ALL) return NONE;
  if (granted === NONE) return ALL;
  const object: ObjectCheck = (record) => whenReady(passes(granted, record, source), (passed) => !passed);
  return {
    shown: opposite(granted.shown),
    passing: opposite(granted.passing),
    object: granted.object === true ? true : object,
  };
}

/** Tells if one record is granted: it exists for the request, and passes. */
export function covers(granted: Grant, object: object, source: EntityManagerSource): Awaitable<boolean> {
  const { shown, passing } = granted;
  // The bounds differ only if a class with a scope and an object check was negated.
  const isShown = shown.most === passing.most || isWithin(source, shown.most, object);
  return whenReady(isShown, (there) => there && passes(granted, object, source));
}

/** Tells if one record is in the scope of a grant and past its object check, whatever lists show. */
function passes({ passing, object: check }: Grant, object: object, source: EntityManagerSource): Awaitable<boolean> {
  const inScope = isWithin(source, passing.most, object);
  return check === true ? inScope : whenReady(inScope, (inside) => inside && check(object));
}

function combined(combine: typeof and, first: Bounds, second: Bounds): Bounds {
  const most = combine(first.most, second.most);
  const areScopes = first.least === first.most && second.least === second.most;
  return { most, least: areScopes ? most : combine(first.least, second.least) };
}

function opposite({ least, most }: Bounds): Bounds {
  const opposed = not(least);
  return { most: opposed, least: least === most ? opposed : not(most) };
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
function isWithin(source: EntityManagerSource, scope: Condition, object: object): Awaitable<boolean> {
  if (isNever(scope)) return false;
  return isAlways(scope) || isFound(source, scope, object);
}

async function isFound(source: EntityManagerSource, scope: Condition, object: object): Promise<boolean> {
  if (!Utils.isEntity<Record<string, unknown>>(object)) {
    throw new ImproperlyConfigured('A permission with a scope checks entities, but got another object');
  }
  const em = managerOfEntity(object) ?? source.em;
  const meta = metadataOf(em, object);
  const itself = meta.primaryKeys.map((name) => compare(fieldPath(meta, name, '.'), 'exact', object[name]));
  return QuerySet.of(em, meta.class)
    .where(and(...itself, scope))
    .exists();
}
