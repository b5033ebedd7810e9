import { and, type Condition, never, not, or } from '../query/condition.ts';

/** The records that a grant is about: every one, none, or those that a condition is true of. */
export type Scope = 'all' | 'none' | Condition;

/** What is left to ask of a record: nothing, or this. */
export type ObjectCheck = true | ((object: object) => boolean | Promise<boolean>);

/**
 * What a permission lets through: a record is granted if, and only if, it is in the scope and passes the object check.
 * `and`, `or` and `not` of permissions are `and`, `or` and `not` of that sentence.
 */
export interface Grant {
  readonly scope: Scope;
  readonly object: ObjectCheck;
}

/** Tells whether a record is in a scope; asks the database where the scope is a condition. */
export type Membership = (scope: Scope, object: object) => boolean | Promise<boolean>;

export const GRANTED: Grant = Object.freeze({ scope: 'all', object: true });
export const DENIED: Grant = Object.freeze({ scope: 'none', object: true });

export function bothGrants(left: Grant, right: Grant): Grant {
  return { scope: intersection(left.scope, right.scope), object: bothChecks(left.object, right.object) };
}

export function eitherGrant(left: Grant, right: Grant, isMember: Membership): Grant {
  if (left.scope === 'none') return right;
  if (right.scope === 'none') return left;
  const scope = union(left.scope, right.scope);
  if (left.object === true && right.object === true) return { scope, object: true };
  // The query lets through what either half does: each half must be asked whether the record is one of its own.
  const check = eitherCheck(fullCheck(left, isMember), fullCheck(right, isMember));
  return { scope, object: check };
}

export function noGrant(operand: Grant, isMember: Membership): Grant {
  if (operand.object === true) return { scope: complement(operand.scope), object: true };
  return { scope: 'all', object: negatedCheck(fullCheck(operand, isMember)) };
}

function intersection(left: Scope, right: Scope): Scope {
  if (left === 'none' || right === 'none') return 'none';
  if (left === 'all') return right;
  return right === 'all' ? left : and(left, right);
}

function union(left: Scope, right: Scope): Scope {
  if (left === 'all' || right === 'all') return 'all';
  if (left === 'none') return right;
  return right === 'none' ? left : or(left, right);
}

function complement(scope: Scope): Scope {
  if (scope === 'all') return 'none';
  return scope === 'none' ? 'all' : not(scope);
}

/** The scope as a condition for a query; undefined where it narrows nothing. */
export function scopeCondition(scope: Scope): Condition | undefined {
  if (scope === 'all') return undefined;
  return scope === 'none' ? never : scope;
}

function fullCheck({ scope, object }: Grant, isMember: Membership): ObjectCheck {
  if (scope === 'all') return object;
  return bothChecks((record) => isMember(scope, record), object);
}

function bothChecks(left: ObjectCheck, right: ObjectCheck): ObjectCheck {
  if (left === true) return right;
  if (right === true) return left;
  return (object) => {
    const first = left(object);
    if (first instanceof Promise) return first.then((passed) => passed && right(object));
    return first && right(object);
  };
}

function eitherCheck(left: ObjectCheck, right: ObjectCheck): ObjectCheck {
  if (left === true || right === true) return true;
  return (object) => {
    const first = left(object);
    if (first instanceof Promise) return first.then((passed) => passed || right(object));
    return first || right(object);
  };
}

function negatedCheck(operand: ObjectCheck): ObjectCheck {
  if (operand === true) return () => false;
  return (object) => {
    const passed = operand(object);
    return passed instanceof Promise ? passed.then((value) => !value) : !passed;
  };
}
