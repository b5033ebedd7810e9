import type { Platform } from '@mikro-orm/core';
import type { FieldPath, Lookup } from '@viewset/core';
import type { Document } from '../mikro/mongo-driver.ts';
import { comparedValue, isBetween } from './stored-value.ts';
import { textFilter } from './text-pattern.ts';

/** A filter that no document passes. */
export const NOTHING: Document = Object.freeze({ $nor: [{}] });
/** A filter that every document passes. */
export const EVERYTHING: Document = Object.freeze({});

/** The operators that compare with one value; NULL and a field that is missing are less than, equal to and greater than none. */
const OPERATORS = {
  exact: '$eq',
  ne: '$ne',
  gt: '$gt',
  gte: '$gte',
  lt: '$lt',
  lte: '$lte',
} as const;

/** Makes the filter of a lookup on a field. Values stand behind an operator, so that none is taken for one. */
export function comparisonOf(
  field: string,
  path: FieldPath,
  lookup: Lookup,
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
    case 'contains':
    case 'startswith':
    case 'endswith':
    case 'iexact':
    case 'icontains':
    case 'istartswith':
    case 'iendswith':
      return textFilter(field, lookup, value as string);
  }
}

/** Compares with a value; with the lower one of the two that columns hold if the value lies between them. */
function bound(path: FieldPath, lookup: keyof typeof OPERATORS, value: unknown, platform: Platform): Document {
  const asked = !isBetween(path, value) ? lookup : lookup === 'gt' || lookup === 'gte' ? 'gt' : 'lte';
  return { [OPERATORS[asked]]: comparedValue(path, value, platform) };
}

/** A filter looks into lists, so that it would take a JSON list with a null in it for NULL. */
function isNull(field: string, { type }: FieldPath, isWanted: boolean): Document {
  if (type.kind !== 'json') return { [field]: isWanted ? { $eq: null } : { $ne: null } };
  return { $expr: { [isWanted ? '$lte' : '$gt']: [`$${field}`, null] } };
}
