import { Reference, Utils } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { isBetweenMicroseconds, PreciseDate, roundToMicroseconds } from '../../fields/calendar.ts';
import { FIELD_KINDS } from '../../fields/field-kinds.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { customTypeOf } from '../../fields/field-type.ts';
import { valueProperty } from '../../fields/property.ts';
import { FieldValueError } from '../../fields/field-value-error.ts';
import { checkFieldValue } from '../../fields/field-value.ts';
import { comparableDecimal } from '../../mikro/exact-decimals.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { never, not, or, type Condition } from './condition.ts';
import { type ComparedLookup, lookupsFor, type Lookup } from './lookup.ts';

/**
 * Makes a condition that compares a field with a value of its type. `in` takes an array, `range` two values (both
 * inclusive), `isnull` and `isempty` a boolean, `date` a day in UTC. `contains` and `overlaps` of a list take a list: all or some of its
 * values are elements. `exact` and `ne` also take null. Text lookups have no wildcards. On a path through a
 * to-many relation, the condition is true if such a related record exists. `ne` is the opposite of `exact`, for NULL
 * too.
 *
 * A value outside the column's range is decided here, so no database gets an integer that it cannot hold.
 * @throws FieldValueError for a value of another type than the field's
 * @throws ImproperlyConfigured for a lookup that does not fit the field, and for undefined
 */
export function compare(path: FieldPath, lookup: Lookup, value: unknown): Condition {
  checkLookup(path, lookup, value);
  switch (lookup) {
    case 'isnull':
      return isNull(path, value);
    case 'ne':
      return value === null ? isNull(path, false) : negated(path, compare(path, 'exact', value));
    case 'in':
      return isOneOf(path, value);
    case 'range':
      return inRange(path, value);
    case 'date':
      return onDay(path, value);
    case 'isempty':
      return isEmptyText(path, value);
    case 'overlaps':
      return overlaps(path, value);
    case 'contains':
      if (path.type.element !== undefined) return containsAll(path, value);
      return compareValue(path, lookup, checked(path, value));
    case 'exact':
      return value === null ? isNull(path, true) : compareValue(path, lookup, checked(path, value));
    default:
      return compareValue(path, lookup, checked(path, value));
  }
}

function checkLookup(path: FieldPath, lookup: Lookup, value: unknown): void {
  if (value === undefined) {
    throw new ImproperlyConfigured(`"${path.key}" is compared with undefined; leave it out, or compare with null`);
  }
  const fitting = lookupsFor(path.type);
  if (!fitting.includes(lookup)) {
    throw new ImproperlyConfigured(
      `"${path.key}" is of type ${path.type.kind}, which has no "${lookup}"; it has: ${fitting.join(', ')}`,
    );
  }
}

function node(path: FieldPath, lookup: ComparedLookup, value: unknown): Condition {
  return { kind: 'compare', path, lookup, value };
}

function isNull(path: FieldPath, value: unknown): Condition {
  if (typeof value !== 'boolean') throw new FieldValueError('must be true or false');
  // On a to-many path, "is null" means that no related value exists, not that a related value is NULL.
  if (path.toMany && value) return not(node(path, 'isnull', false));
  return node(path, 'isnull', value);
}

/** `ne` is a single comparison if a column supports it. */
function negated(path: FieldPath, condition: Condition): Condition {
  const isPlain = condition.kind === 'compare' && condition.lookup === 'exact' && !path.toMany;
  return isPlain ? node(path, 'ne', condition.value) : not(condition);
}

function isOneOf(path: FieldPath, values: unknown): Condition {
  if (!Array.isArray(values)) throw new FieldValueError('must be a list');
  const possible = (values as unknown[])
    .filter((value) => value !== null)
    .map((value) => fit(path, 'exact', checked(path, value)))
    .filter((condition) => condition.kind === 'compare')
    .map((condition) => condition.value);
  const some = possible.length === 0 ? never : node(path, 'in', possible);
  return values.includes(null) ? or(isNull(path, true), some) : some;
}

/** Applies both bounds to the same value, which matters on a to-many path. */
function inRange(path: FieldPath, values: unknown): Condition {
  if (!Array.isArray(values) || values.length !== 2) throw new FieldValueError('must be two values');
  const [low, high] = values as [unknown, unknown];
  const from = fit(path, 'gte', checked(path, low));
  const to = fit(path, 'lte', checked(path, high));
  if (from.kind !== 'compare' || to.kind !== 'compare') return never;
  if (from.lookup === 'isnull') return to;
  return to.lookup === 'isnull' ? from : node(path, 'range', [from.value, to.value]);
}

/** Compares with the moments of a day in UTC. */
function onDay(path: FieldPath, value: unknown): Condition {
  const start = new Date(`${String(checkFieldValue({ kind: 'date' }, value))}T00:00:00Z`);
  return node(path, 'range', [start, new PreciseDate(start.getTime() + DAY_MS - 1, 999)]);
}

const DAY_MS = 24 * 60 * 60 * 1000;

const elements = new WeakMap<FieldPath, FieldPath>();

/** Returns the path of a list as if its column held one element. Undefined for a column that is not a list. */
export function elementPath(path: FieldPath): FieldPath | undefined {
  const { element } = path.type;
  if (element === undefined) return undefined;
  return getOrMake(elements, path, () => Object.freeze({ ...path, type: element }));
}

/** Compares the elements of a list with values. Undefined for a value that no element can have. */
function elementConditions(path: FieldPath, values: unknown): readonly Condition[] {
  if (!Array.isArray(values)) throw new FieldValueError('must be a list');
  const one = elementPath(path)!;
  return (values as unknown[]).map((value) => fit(one, 'exact', checked(one, value)));
}

const isPossible = (condition: Condition): condition is Extract<Condition, { kind: 'compare' }> =>
  condition.kind === 'compare';

function containsAll(path: FieldPath, values: unknown): Condition {
  const all = elementConditions(path, values);
  if (all.length === 0) return isNull(path, false);
  return all.every(isPossible)
    ? node(
        path,
        'contains',
        all.map(({ value }) => value),
      )
    : never;
}

function overlaps(path: FieldPath, values: unknown): Condition {
  const some = elementConditions(path, values).filter(isPossible);
  return some.length === 0
    ? never
    : node(
        path,
        'overlaps',
        some.map(({ value }) => value),
      );
}

function isEmptyText(path: FieldPath, value: unknown): Condition {
  if (typeof value !== 'boolean') throw new FieldValueError('must be true or false');
  return compare(path, value ? 'exact' : 'ne', '');
}

function compareValue(path: FieldPath, lookup: ComparedLookup, value: unknown): Condition {
  // Every text contains the empty text, but databases disagree on this.
  if (value === '' && /contains|startswith|endswith/.test(lookup)) return isNull(path, false);
  return fit(path, lookup, value);
}

/**
 * Rounds a value to one that the column can hold. If no stored value equals it, or all lie on one side, decides the
 * comparison.
 */
function fit(path: FieldPath, lookup: ComparedLookup, value: unknown): Condition {
  if (isBetweenMicroseconds(value)) {
    if (lookup === 'exact') return never;
    const isBelow = lookup === 'lt' || lookup === 'lte';
    return node(path, isBelow ? 'lte' : 'gte', roundToMicroseconds(value as Date, isBelow ? Math.floor : Math.ceil));
  }
  if (path.type.kind === 'decimal' && typeof value === 'string') {
    const isBelow = lookup === 'lt' || lookup === 'lte';
    const rounded = comparableDecimal(valueProperty(path.property).customType, value, !isBelow);
    if (rounded !== undefined) return lookup === 'exact' ? never : node(path, isBelow ? 'lte' : 'gte', rounded);
  }
  const { minimum, maximum, kind } = path.type;
  const { toInteger } = FIELD_KINDS[kind];
  if (
    toInteger === undefined ||
    minimum === undefined ||
    maximum === undefined ||
    customTypeOf(path.property) !== undefined
  ) {
    return node(path, lookup, value);
  }
  const number = value as number | bigint;
  const isBelow = lookup === 'lt' || lookup === 'lte';
  if (number > maximum) return isBelow ? isNull(path, false) : never;
  if (number < minimum) return lookup === 'gt' || lookup === 'gte' ? isNull(path, false) : never;
  if (typeof number === 'number' && !Number.isInteger(number)) {
    if (lookup === 'exact') return never;
    return node(path, isBelow ? 'lte' : 'gte', toInteger(isBelow ? Math.floor(number) : Math.ceil(number)));
  }
  return node(path, lookup, toInteger(number));
}

/** Validates a value. A related record is replaced by its key. */
function checked(path: FieldPath, value: unknown): unknown {
  if (value === null) throw new FieldValueError('must not be null');
  const plain = value instanceof Reference ? (value.unwrap() as unknown) : value;
  if (Utils.isEntity<Record<string, unknown>>(plain)) {
    const key = path.property.targetKey ?? valueProperty(path.property).name;
    return checked(path, plain[key]);
  }
  return customTypeOf(path.property) === undefined ? checkFieldValue(path.type, plain) : plain;
}
