import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { isPromise } from '../../support/awaitable.ts';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { type FieldPath, findPlace } from '../../fields/field-path.ts';
import { FieldValueError } from '../../fields/field-value-error.ts';
import { isPolymorphic, isTablePerType, isToMany, targetOf } from '../../fields/property.ts';
import { isEmpty } from '../../support/json.ts';
import { computedPath } from './computed-path.ts';
import { always, type Condition, never } from './condition.ts';
import { lookupCondition } from './resolve-lookup.ts';

/** The value that related records give to a record: whether there are any, or how many. */
export type RelatedAggregate = 'exists' | 'count';

/**
 * The related records to count, as lookups. A function returns the lookups for a request. If it returns nothing, no
 * record counts.
 */
export type AnyRelatedConditions =
  | Readonly<Record<string, unknown>>
  | ((request: never) => Readonly<Record<string, unknown>> | null | undefined)
  | undefined;

/** The related records that determine a value of a record. */
export interface RelatedRecords {
  readonly aggregate: RelatedAggregate;
  /** The entity of the record. */
  readonly root: EntityMetadata;
  /** The relations to the counted records; only the last one is to-many. */
  readonly steps: readonly EntityProperty[];
  /** The condition for the counted records. Undefined until a request decides it. */
  readonly condition: Condition | undefined;
  /** Returns the condition for a request. Undefined if all requests have the same condition. */
  readonly conditionFor: ((request: object) => Condition) | undefined;
}

/** A path to a value that related records determine. It is read, compared and ordered by like a column. */
export interface RelatedPath extends FieldPath {
  readonly related: RelatedRecords;
}

/** Reports whether related records determine the value of a path. */
export function isRelatedPath(path: FieldPath): path is RelatedPath {
  return 'related' in path;
}

/**
 * Resolves a path like `author.followers`, through to-one relations to a to-many relation, as a value of its records.
 *
 * @throws ImproperlyConfigured for an unknown name, for a path without a to-many relation or with several, and for
 * lookups that do not fit
 */
export function relatedPath(
  root: EntityMetadata,
  way: string,
  aggregate: RelatedAggregate,
  conditions: AnyRelatedConditions,
): RelatedPath {
  const steps = stepsOf(root, way, aggregate);
  const target = targetOf(steps.at(-1)!) as EntityMetadata;
  const key = `${way}.${aggregate}`;
  const who = `${root.className}: ${aggregate}("${way}")`;
  const isFixed = typeof conditions !== 'function';
  return Object.freeze({
    ...computedPath(key, key, aggregate === 'count' ? 'integer' : 'boolean', 'related records'),
    related: {
      aggregate,
      root,
      steps,
      condition: isFixed ? requestedCondition(who, target, conditions ?? {}) : undefined,
      conditionFor: isFixed
        ? undefined
        : (request: object) => requestedCondition(who, target, conditions(request as never)),
    },
  });
}

/**
 * Returns the path with the condition for a request. If all requests have the same condition, returns the path
 * unchanged.
 */
export function pathFor(path: FieldPath, request: object | undefined): FieldPath {
  if (request === undefined || !dependsOnRequest(path)) return path;
  const { related } = path;
  return Object.freeze({
    ...path,
    related: { ...related, condition: related.conditionFor!(request), conditionFor: undefined },
  });
}

/** Reports whether the request decides which related records count. */
export function dependsOnRequest(path: FieldPath): path is RelatedPath {
  return isRelatedPath(path) && path.related.conditionFor !== undefined;
}

/**
 * Returns the condition for the counted records.
 *
 * @throws TypeError if the condition depends on the request, and the call did not pass the request
 */
export function countedRecords({ key, related: { root, condition } }: RelatedPath): Condition {
  if (condition !== undefined) return condition;
  throw new TypeError(`${root.className}: "${key}" needs the request, but the call did not pass it`);
}

function stepsOf(root: EntityMetadata, way: string, aggregate: RelatedAggregate): readonly EntityProperty[] {
  const place = findPlace(root, way, '.');
  if (typeof place === 'string') throw new ImproperlyConfigured(place);
  const { steps, property } = place;
  const problem = problemOf(steps, property);
  if (problem !== undefined) throw new ImproperlyConfigured(`${root.className}: ${aggregate}("${way}"): ${problem}`);
  return [...steps, property];
}

function problemOf(steps: readonly EntityProperty[], property: EntityProperty): string | undefined {
  const { name } = property;
  if (!isToMany(property)) return `"${name}" does not lead to many records`;
  const early = steps.find(isToMany);
  if (early !== undefined) {
    return `"${early.name}" is a to-many relation, and only the last relation of a path may be one`;
  }
  if (property.hidden === true) return `"${name}" is declared hidden, so it cannot be used here`;
  if (isPolymorphic(property)) return `"${name}" is polymorphic`;
  const target = targetOf(property);
  return target !== undefined && isTablePerType(target)
    ? `${target.className} is spread over several tables (table-per-type inheritance)`
    : undefined;
}

/**
 * Makes the condition from the lookups that a function of the request returned. If it returned nothing, no record
 * matches. The lookups come from the application, so a lookup that does not fit its field is not the client's fault.
 */
export function requestedCondition(who: string, target: EntityMetadata, lookups: object | null | undefined): Condition {
  if (lookups === undefined || lookups === null) return never;
  if (isPromise(lookups)) throw new ImproperlyConfigured(`${who}: the function of the request must be synchronous`);
  try {
    return isEmpty(lookups) ? always : lookupCondition(target, lookups as Record<string, unknown>);
  } catch (error) {
    if (!(error instanceof ImproperlyConfigured || error instanceof FieldValueError)) throw error;
    throw new ImproperlyConfigured(`${who}: ${error.message}`, { cause: error });
  }
}
