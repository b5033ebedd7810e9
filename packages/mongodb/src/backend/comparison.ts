import type { Platform } from '@mikro-orm/core';
import type { Condition, FieldPath } from '@viewset/core';
import { storedElement } from '@viewset/core/backend';
import type { Document } from '../mikro/mongo-driver.ts';
import { comparedValue, isBetween } from './stored-value.ts';
import { textFilter } from './text-pattern.ts';

/** The lookups of conditions. */
export type ComparedLookup = Extract<Condition, { readonly kind: 'compare' }>['lookup'];

/** A filter that matches no document. */
export const NOTHING: Document = Object.freeze({ $nor: [{}] });
/** A filter that matches every document. */
export const EVERYTHING: Document = Object.freeze({});

/**
 * The operators that compare with one value. NULL and missing fields are neither less than, equal to, nor greater than
 * any value.
 */
const OPERATORS = {
  exact: '$eq',
  ne: '$ne',
  gt: '$gt',
  gte: '$gte',
  lt: '$lt',
  lte: '$lte',
} as const;

/**
 * Makes the filter of a lookup on a field. Values always follow an operator, so that MongoDB does not mistake a value
 * for an operator.
 */
export function comparisonOf(
  field: string,
  path: FieldPath,
  lookup: ComparedLookup,
  value: unknown,
  platform: Platform,
): Document {
  switch (lookup) {
    case 'isnull':
      return isNull(field, path, value === true);
    case 'in': {
      const values = (value as unknown[]).filter((one) => !isBetween(path, one));
      return { [field]: { $in: values.map((one) => comparedValue(path, one, platform)) } };
    }
    case 'range': {
      const [low, high] = value as [unknown, unknown];
      return { [field]: { ...bound(path, 'gte', low, platform), ...bound(path, 'lte', high, platform) } };
    }
    case 'exact':
    case 'ne':
      if (isBetween(path, value)) return lookup === 'exact' ? NOTHING : EVERYTHING;
      return { [field]: bound(path, lookup, value, platform) };
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { [field]: bound(path, lookup, value, platform) };
    case 'overlaps':
      return { [field]: { $in: elementsOf(path, value) } };
    case 'contains':
      if (path.type.element !== undefined) return { [field]: { $all: elementsOf(path, value) } };
      return textFilter(field, lookup, value as string);
    case 'startswith':
    case 'endswith':
    case 'iexact':
    case 'icontains':
    case 'istartswith':
    case 'iendswith':
      return textFilter(field, lookup, value as string);
  }
}

/** Converts the values that are compared with the elements of a list. */
function elementsOf({ property }: FieldPath, values: unknown): unknown[] {
  return (values as unknown[]).map((value) => storedElement(property, value));
}

/** Compares with a value. If no column can hold the value exactly, compares with the next lower one that it can. */
function bound(path: FieldPath, lookup: keyof typeof OPERATORS, value: unknown, platform: Platform): Document {
  const operator = !isBetween(path, value) ? lookup : lookup === 'gt' || lookup === 'gte' ? 'gt' : 'lte';
  return { [OPERATORS[operator]]: comparedValue(path, value, platform) };
}

/** A plain filter looks inside arrays: it would treat a JSON array that contains null as NULL. */
function isNull(field: string, { type }: FieldPath, isWanted: boolean): Document {
  if (type.kind !== 'json') return { [field]: isWanted ? { $eq: null } : { $ne: null } };
  return { $expr: { [isWanted ? '$lte' : '$gt']: [`$${field}`, null] } };
}
