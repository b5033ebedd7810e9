import { type Awaitable, whenReady } from '../awaitable.ts';
import { always, and, type Condition, isAlways, isNever, never, not, or } from '../language/condition.ts';
import { type EntityManagerSource, isInScope } from './scope-check.ts';

/** Asks about one record. */
export type ObjectCheck = (object: object) => Awaitable<boolean>;

/**
 * Which records a permission grants: those in the scope that pass the object check. Permissions are combined as grants,
 * so that the result is right for the view, its queries and each record at once.
 */
export interface Grant {
  readonly scope: Condition;
  /** True: every record of the scope passes, and none need be looked at. */
  readonly object: ObjectCheck | true;
}

export const ALL: Grant = Object.freeze({ scope: always, object: true });
export const NONE: Grant = Object.freeze({ scope: never, object: true });

export function grant(scope: Condition, object: Grant['object']): Grant {
  if (isNever(scope)) return NONE;
  return isAlways(scope) && object === true ? ALL : { scope, object };
}

/** What both grant. */
export function intersection(first: Grant, second: Grant): Grant {
  if (first === ALL || second === NONE) return second;
  if (second === ALL || first === NONE) return first;
  return grant(and(first.scope, second.scope), bothPass(first.object, second.object));
}

/** What either grants. */
export function union(first: Grant, second: Grant, source: EntityManagerSource): Grant {
  if (first === NONE || second === ALL) return second;
  if (second === NONE || first === ALL) return first;
  const scope = or(first.scope, second.scope);
  if (first.object === true && second.object === true) return grant(scope, true);
  return grant(scope, (object) =>
    whenReady(covers(first, object, source), (covered) => covered || covers(second, object, source)),
  );
}

/** What is not granted. */
export function complement(granted: Grant, source: EntityManagerSource): Grant {
  if (granted.object === true) return grant(not(granted.scope), true);
  return grant(always, (object) => whenReady(covers(granted, object, source), (covered) => !covered));
}

/** Whether one record is granted, in the scope and past the object check. */
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
