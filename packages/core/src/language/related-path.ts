import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { isPromise } from '../awaitable.ts';
import { ImproperlyConfigured } from '../errors.ts';
import { type FieldPath, findPlace } from '../fields/field-path.ts';
import { FieldValueError } from '../fields/field-value-error.ts';
import { isPolymorphic, isTablePerType, isToMany, targetOf } from '../fields/property.ts';
import { isEmpty } from '../json.ts';
import { computedPath } from './computed-path.ts';
import { always, type Condition, never } from './condition.ts';
import { lookupCondition } from './resolve-lookup.ts';

/** What related records tell of a record: if there are any, or how many. */
export type Telling = 'exists' | 'count';

/** The related records that count, by lookups; of a function, those of a request, or none if it returns nothing. */
export type AnyRelatedConditions =
  | Readonly<Record<string, unknown>>
  | ((request: never) => Readonly<Record<string, unknown>> | null | undefined)
  | undefined;

/** Records that tell a value of the record that they are related to. */
export interface RelatedRecords {
  readonly tells: Telling;
  /** The entity of the record. */
  readonly root: EntityMetadata;
  /** The relations that lead to the records, only the last of them to many. */
  readonly steps: readonly EntityProperty[];
  /** True of the records that count; undefined as long as no request has said so. */
  readonly condition: Condition | undefined;
  /** Returns the condition of a request; undefined if it is the same for all. */
  readonly conditionFor: ((request: object) => Condition) | undefined;
}

/** A path to a value that no column holds: related records tell it. It is read, compared and ordered by like a column. */
export interface RelatedPath extends FieldPath {
  readonly related: RelatedRecords;
}

/** Tells if related records tell the value of a path. */
export function isRelatedPath(path: FieldPath): path is RelatedPath {
  return 'related' in path;
}

/**
 * Resolves a way through relations to one to a relation to many, `author.followers`, as a value of its records.
 *
 * @throws ImproperlyConfigured for an unknown name, for a way with none or several relations to many, and for lookups that do not fit
 */
export function relatedPath(
  root: EntityMetadata,
  way: string,
  tells: Telling,
  conditions: AnyRelatedConditions,
): RelatedPath {
  const steps = stepsOf(root, way, tells);
  const target = targetOf(steps.at(-1)!) as EntityMetadata;
  const key = `${way}.${tells}`;
  const who = `${root.className}: ${tells}("${way}")`;
  const isFixed = typeof conditions !== 'function';
  return Object.freeze({
    ...computedPath(key, key, tells === 'count' ? 'integer' : 'boolean', 'related records'),
    related: {
      tells,
      root,
      steps,
      condition: isFixed ? requestedCondition(who, target, conditions ?? {}) : undefined,
      conditionFor: isFixed
        ? undefined
        : (request: object) => requestedCondition(who, target, conditions(request as never)),
    },
  });
}

/** Returns the path with the records that count for a request; one that is the same for all requests as it is. */
export function pathFor(path: FieldPath, request: object | undefined): FieldPath {
  if (request === undefined || !asksRequest(path)) return path;
  const { related } = path;
  return Object.freeze({
    ...path,
    related: { ...related, condition: related.conditionFor!(request), conditionFor: undefined },
  });
}

/** Tells if the request decides which related records count. */
export function asksRequest(path: FieldPath): path is RelatedPath {
  return isRelatedPath(path) && path.related.conditionFor !== undefined;
}

/**
 * Returns the condition of the records that count.
 *
 * @throws TypeError if a request decides which they are, and the call has not passed it on
 */
export function countedRecords({ key, related: { root, condition } }: RelatedPath): Condition {
  if (condition !== undefined) return condition;
  throw new TypeError(`${root.className}: "${key}" needs the request, but the call did not pass it`);
}

function stepsOf(root: EntityMetadata, way: string, tells: Telling): readonly EntityProperty[] {
  const place = findPlace(root, way, '.');
  if (typeof place === 'string') throw new ImproperlyConfigured(place);
  const { steps, property } = place;
  const problem = problemOf(steps, property);
  if (problem !== undefined) throw new ImproperlyConfigured(`${root.className}: ${tells}("${way}"): ${problem}`);
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
 * Returns the condition of the lookups that a function of the request has returned; true of no record if it returned none. Lookups are the
 * program's own: one that does not fit its field is no fault of a client.
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
