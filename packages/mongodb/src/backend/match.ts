import type { OrderKey } from '@viewset/core';
import { isAlways, type Question } from '@viewset/core/backend';
import type { Document } from '../mikro/mongo-driver.ts';
import { EVERYTHING } from './comparison.ts';
import { all, compileContext, conditionFilter, discriminatorFilter } from './condition.ts';
import { columnOf } from './column.ts';
import type { KeyedQuestion, Ranking } from './keyed-question.ts';
import { MongoScope } from './scope.ts';

/** Makes the scope of a question's whole collection. */
export function rootScope({ em, query, related, keys }: KeyedQuestion): MongoScope {
  return new MongoScope(compileContext(em, related), query.meta, '', { keys });
}

/** How to find a question's documents: first by their own fields, then with lookups. */
export interface Match {
  /** The filter on own fields. */
  readonly ofDocument: Document;
  /** The stages after it; empty if own fields are enough. */
  readonly rest: readonly Document[];
}

export function matchOf(scope: MongoScope, { condition }: Question): Match {
  const parts = condition.kind === 'and' ? condition.conditions : isAlways(condition) ? [] : [condition];
  const ofDocument = [discriminatorFilter(scope)];
  const looked: Document[] = [];
  for (const part of parts) {
    const before = scope.reads;
    const filter = conditionFilter(scope, part);
    (scope.reads === before ? ofDocument : looked).push(filter);
  }
  looked.push(...requiredFilters(scope));
  const rest = looked.length === 0 ? [] : [...scope.takeStages(), { $match: all(looked) }];
  return { ofDocument: all(ofDocument), rest };
}

/** Requires the related records without which a record is hidden. */
function requiredFilters(scope: MongoScope): Document[] {
  const filters: Document[] = [];
  for (const property of scope.required()) {
    const isSeen = { [scope.column([], property)]: { $ne: null } };
    filters.push(property.nullable === true ? { $or: [{ [columnOf(property)]: { $eq: null } }, isSeen] } : isSeen);
  }
  return filters;
}

/** The stages that sort documents. */
export interface Sorting {
  /** Fields to add before sorting, which distinguish NULL from values; undefined if none are needed. */
  readonly added: Document | undefined;
  readonly sort: Document;
}

/** MongoDB sorts NULL and missing fields first, unlike `OrderKey`. */
export function sortingOf(scope: MongoScope, order: readonly OrderKey[]): Sorting {
  const added: Document = {};
  const sort: Document = {};
  for (const { path, descending } of order) {
    const direction = descending ? -1 : 1;
    const ranking = scope.keys?.rankings.get(path);
    if (ranking !== undefined) {
      const rank = `~${scope.context.names.next++}`;
      added[rank] = rankOf(ranking);
      sort[rank] = direction;
      continue;
    }
    const field = scope.value(path);
    if (path.nullable && !Object.hasOwn(sort, field)) {
      const isNull = `~${scope.context.names.next++}`;
      added[isNull] = { $lte: [`$${field}`, null] };
      sort[isNull] = direction;
    }
    if (!Object.hasOwn(sort, field)) sort[field] = direction;
  }
  return { added: Object.keys(added).length === 0 ? undefined : added, sort };
}

/**
 * Returns a record's rank: the rank of the record it refers to. Without one it comes last, like NULL in ascending
 * order.
 */
function rankOf({ field, keys, ranks }: Ranking): Document {
  return {
    $let: {
      // The server builds a lookup table for a constant list.
      vars: { index: { $indexOfArray: [{ $literal: keys }, `$${field}`] } },
      in: { $cond: [{ $lt: ['$$index', 0] }, Infinity, { $arrayElemAt: [{ $literal: ranks }, '$$index'] }] },
    },
  };
}

/** True if a filter matches every document. */
export function saysNothing(filter: Document): boolean {
  return filter === EVERYTHING;
}
