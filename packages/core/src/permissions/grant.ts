import { Utils } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../support/awaitable.ts';
import type { EntityManagerSource } from '../backends/source.ts';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { fieldPath } from '../fields/field-path.ts';
import { compare } from '../query/language/compare.ts';
import { always, and, type Condition, isAlways, isNever, never, not, or } from '../query/language/condition.ts';
import { managerOfEntity, metadataOf } from '../mikro/entities.ts';
import { QuerySet } from '../query/queryset.ts';

/** Checks one record. */
export type ObjectCheck = (object: object) => Awaitable<boolean>;

/**
 * The bounds of a set of records, as conditions for a query. The set contains all records of `least`, and no record
 * outside `most`.
 */
interface Bounds {
  readonly least: Condition;
  readonly most: Condition;
}

/**
 * The records that a permission grants to a request: the records in its scope that pass its object check. `NONE`
 * refuses the request. A grant without records allows the request, but shows no record.
 *
 * Permissions are combined as grants. So one result is right for the view, its queries and each record. A query cannot
 * run an object check, so a grant has bounds that a query can use. The complement of a grant exchanges them.
 */
export interface Grant {
  /**
   * The bounds of the records that exist for the request. If a class has a scope, its object check has no effect here.
   */
  readonly shown: Bounds;
  /** The bounds of the records that pass. */
  readonly passing: Bounds;
  /** Decides about the records within `passing.most`. True: all of them pass. */
  readonly object: ObjectCheck | true;
}

/** Grants every record, without a scope. */
export const ALL: Grant = Object.freeze(scopeGrant(always));
/** Refuses the request. */
export const NONE: Grant = Object.freeze(scopeGrant(never));

/** Grants all records of a scope. The scope may be empty. */
export function scopeGrant(scope: Condition): Grant {
  const bounds = { least: scope, most: scope };
  return { shown: bounds, passing: bounds, object: true };
}

/** Grants the records that pass an object check, within a scope if there is one. */
export function checkedGrant(scope: Condition | undefined, object: ObjectCheck): Grant {
  const passing = { least: never, most: scope ?? always };
  return { shown: scope === undefined ? passing : { least: scope, most: scope }, passing, object };
}

/** Grants the records that both grants contain. */
export function intersection(first: Grant, second: Grant): Grant {
  if (first === ALL || second === NONE) return second;
  if (second === ALL || first === NONE) return first;
  return {
    shown: combined(and, first.shown, second.shown),
    passing: combined(and, first.passing, second.passing),
    object: bothPass(first.object, second.object),
  };
}

/** Grants the records that at least one of the grants contains. */
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

/** Grants the records that the given grant does not contain. */
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

/** Reports whether a record is granted: it exists for the request, and passes. */
export function allowsRecord(granted: Grant, object: object, source: EntityManagerSource): Awaitable<boolean> {
  const { shown, passing } = granted;
  // The bounds differ only after the negation of a class that has both a scope and an object check.
  const isShown = shown.most === passing.most || isWithin(source, shown.most, object);
  return whenReady(isShown, (there) => there && passes(granted, object, source));
}

/** Reports whether a record is in the scope of a grant and passes its object check, even if lists do not show it. */
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
 * Reports whether an entity is in a scope, with one query. It uses the entity manager of the entity, so the query sees
 * the data of the entity's transaction.
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
