import type { EntityProperty } from '@mikro-orm/core';
import { always, and, type Condition, never, not, or, some } from './condition.ts';

/**
 * A condition on a row of MikroORM's statement, in which each to-many relation is a left join. All conditions through
 * one join are about the same record, or about NULLs if there is none.
 */
export type RowCondition =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly RowCondition[] }
  | { readonly kind: 'row'; readonly condition: Condition; readonly isTrueOfNull: boolean }
  | { readonly kind: 'joined'; readonly join: Join; readonly inner: RowCondition };

type Group = Extract<RowCondition, { kind: 'and' | 'or' }>;
type Joined = Extract<RowCondition, { kind: 'joined' }>;

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
export function onRow(condition: Condition, ofNull = false): RowCondition {
  return { kind: 'row', condition, isTrueOfNull: ofNull };
}

/**
 * Combines parts by `kind`. With `isNegated`, the parts are already negated, so it combines them by the opposite kind.
 */
export function groupOf<T>(
  kind: 'and' | 'or',
  isNegated: boolean,
  parts: readonly T[],
  make: (part: T, index: number) => RowCondition,
): RowCondition {
  const opposite = kind === 'and' ? 'or' : 'and';
  return { kind: isNegated ? opposite : kind, parts: parts.map((part, index) => make(part, index)) };
}

/** Makes the condition that a matching row exists. */
export function conditionOf(row: RowCondition): Condition {
  switch (row.kind) {
    case 'row':
      return row.condition;
    case 'joined':
      return joinCondition(row.join, row.inner);
    case 'or':
      return or(...row.parts.map(conditionOf));
    case 'and':
      return and(...groupByJoin(flatten(row.parts)).map(sharedJoinCondition));
  }
}

function joinCondition({ steps }: Join, row: RowCondition): Condition {
  return or(some(steps, conditionOf(row)), isTrueOfNull(row) ? not(some(steps, always)) : never);
}

function isTrueOfNull(row: RowCondition): boolean {
  switch (row.kind) {
    case 'row':
      return row.isTrueOfNull;
    case 'joined':
      return isTrueOfNull(row.inner);
    case 'or':
      return row.parts.some(isTrueOfNull);
    case 'and':
      return row.parts.every(isTrueOfNull);
  }
}

function flatten(parts: readonly RowCondition[]): RowCondition[] {
  return parts.flatMap((part) => (part.kind === 'and' ? flatten(part.parts) : [part]));
}

/** Combines parts with common joins. An "or" over several joins is split into one condition for each of its parts. */
function sharedJoinCondition(parts: readonly RowCondition[]): Condition {
  const [first, ...more] = parts;
  if (first !== undefined && more.length === 0) return conditionOf(first);
  const join = onlyJoin(parts);
  if (join !== undefined) return joinCondition(join, { kind: 'and', parts: parts.map(ofRecord) });
  const choice = parts.find((part) => part.kind === 'or') as Group;
  const others = parts.filter((part) => part !== choice);
  return or(...choice.parts.map((part) => conditionOf({ kind: 'and', parts: [part, ...others] })));
}

/** Groups parts that are connected by common joins, directly or through other parts. */
function groupByJoin(parts: readonly RowCondition[]): RowCondition[][] {
  let groups: RowCondition[][] = [];
  for (const part of parts) {
    const shared = groups.filter((group) => haveJoinInCommon(group, [part]));
    groups = [...groups.filter((group) => !shared.includes(group)), [...shared.flat(), part]];
  }
  return groups;
}

function haveJoinInCommon(parts: readonly RowCondition[], others: readonly RowCondition[]): boolean {
  const paths = new Set(parts.flatMap(joinedBy).map(({ join }) => join.path));
  return others.flatMap(joinedBy).some(({ join }) => paths.has(join.path));
}

function joinedBy(row: RowCondition): Joined[] {
  if (row.kind === 'row') return [];
  return row.kind === 'joined' ? [row] : row.parts.flatMap(joinedBy);
}

/** Finds the single join that all parts use. Undefined if there is another join, or a part without one. */
function onlyJoin(parts: readonly RowCondition[]): Join | undefined {
  const [first, ...others] = parts.flatMap(joinedBy);
  const isOnly = others.every(({ join }) => join.path === first?.join.path) && parts.every(isOnlyJoined);
  return isOnly ? first?.join : undefined;
}

function isOnlyJoined(row: RowCondition): boolean {
  if (row.kind === 'row') return false;
  return row.kind === 'joined' || row.parts.every(isOnlyJoined);
}

/** Moves a condition on a joined record to that record. */
function ofRecord(row: RowCondition): RowCondition {
  if (row.kind === 'joined') return row.inner;
  return row.kind === 'row' ? row : { kind: row.kind, parts: row.parts.map(ofRecord) };
}
