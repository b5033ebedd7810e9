import type { EntityProperty } from '@mikro-orm/core';
import { always, and, type Condition, never, not, or, some } from './condition.ts';

/**
 * A condition on a row of MikroORM's statement, in which each to-many relation is a left join. All conditions through
 * one join are about the same record, or about NULLs if there is none.
 */
export type Asked =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Asked[] }
  | { readonly kind: 'own'; readonly condition: Condition; readonly isTrueOfNull: boolean }
  | { readonly kind: 'joined'; readonly join: Join; readonly asked: Asked };

type Group = Extract<Asked, { kind: 'and' | 'or' }>;
type Joined = Extract<Asked, { kind: 'joined' }>;

interface Join {
  /** Joins with the same path are the same join. */
  readonly path: string;
  /** The relations to the joined record; only the last one is to-many. */
  readonly steps: readonly EntityProperty[];
}

/**
 * Makes a condition on the row's own record.
 *
 * @param ofNull true if it holds for a missing record, whose columns are all NULL
 */
export function own(condition: Condition, ofNull = false): Asked {
  return { kind: 'own', condition, isTrueOfNull: ofNull };
}

/**
 * Combines parts by `kind`. With `isNegated`, the parts are already negated, so it combines them by the opposite kind.
 */
export function groupOf<T>(
  kind: 'and' | 'or',
  isNegated: boolean,
  parts: readonly T[],
  make: (part: T, index: number) => Asked,
): Asked {
  const opposite = kind === 'and' ? 'or' : 'and';
  return { kind: isNegated ? opposite : kind, parts: parts.map((part, index) => make(part, index)) };
}

/** Makes the condition that a matching row exists. */
export function conditionOf(asked: Asked): Condition {
  switch (asked.kind) {
    case 'own':
      return asked.condition;
    case 'joined':
      return joinCondition(asked.join, asked.asked);
    case 'or':
      return or(...asked.parts.map(conditionOf));
    case 'and':
      return and(...groupByJoin(flatten(asked.parts)).map(sharedJoinCondition));
  }
}

function joinCondition({ steps }: Join, asked: Asked): Condition {
  return or(some(steps, conditionOf(asked)), isTrueOfNull(asked) ? not(some(steps, always)) : never);
}

function isTrueOfNull(asked: Asked): boolean {
  switch (asked.kind) {
    case 'own':
      return asked.isTrueOfNull;
    case 'joined':
      return isTrueOfNull(asked.asked);
    case 'or':
      return asked.parts.some(isTrueOfNull);
    case 'and':
      return asked.parts.every(isTrueOfNull);
  }
}

function flatten(parts: readonly Asked[]): Asked[] {
  return parts.flatMap((part) => (part.kind === 'and' ? flatten(part.parts) : [part]));
}

/** Combines parts with common joins. An "or" over several joins is split into one condition for each of its parts. */
function sharedJoinCondition(parts: readonly Asked[]): Condition {
  const [first, ...more] = parts;
  if (first !== undefined && more.length === 0) return conditionOf(first);
  const join = onlyJoin(parts);
  if (join !== undefined) return joinCondition(join, { kind: 'and', parts: parts.map(ofRecord) });
  const choice = parts.find((part) => part.kind === 'or') as Group;
  const others = parts.filter((part) => part !== choice);
  return or(...choice.parts.map((part) => conditionOf({ kind: 'and', parts: [part, ...others] })));
}

/** Groups parts that are connected by common joins, directly or through other parts. */
function groupByJoin(parts: readonly Asked[]): Asked[][] {
  let groups: Asked[][] = [];
  for (const part of parts) {
    const shared = groups.filter((group) => haveJoinInCommon(group, [part]));
    groups = [...groups.filter((group) => !shared.includes(group)), [...shared.flat(), part]];
  }
  return groups;
}

function haveJoinInCommon(parts: readonly Asked[], others: readonly Asked[]): boolean {
  const paths = new Set(parts.flatMap(joinedBy).map(({ join }) => join.path));
  return others.flatMap(joinedBy).some(({ join }) => paths.has(join.path));
}

function joinedBy(asked: Asked): Joined[] {
  if (asked.kind === 'own') return [];
  return asked.kind === 'joined' ? [asked] : asked.parts.flatMap(joinedBy);
}

/** Finds the single join that all parts use. Undefined if there is another join, or a part without one. */
function onlyJoin(parts: readonly Asked[]): Join | undefined {
  const [first, ...others] = parts.flatMap(joinedBy);
  const isOnly = others.every(({ join }) => join.path === first?.join.path) && parts.every(asksNothingElse);
  return isOnly ? first?.join : undefined;
}

function asksNothingElse(asked: Asked): boolean {
  if (asked.kind === 'own') return false;
  return asked.kind === 'joined' || asked.parts.every(asksNothingElse);
}

/** Moves a condition on a joined record to that record. */
function ofRecord(asked: Asked): Asked {
  if (asked.kind === 'joined') return asked.asked;
  return asked.kind === 'own' ? asked : { kind: asked.kind, parts: asked.parts.map(ofRecord) };
}
