import type { Platform } from '@mikro-orm/core';
import type { Condition, OrderKey } from '@viewset/core';
import type { Document } from '../mikro/mongo-driver.ts';
import { NOTHING } from './comparison.ts';
import { comparedValue } from './stored-value.ts';

/** A key with the field that it stands for, and the value of the record to go on from. */
interface Place {
  readonly key: OrderKey;
  readonly field: string;
  readonly value: unknown;
}

/**
 * Makes the filter of the records after a place in an order: `a > 1 or (a = 1 and …)`, with the first key's bound in front,
 * which an index serves.
 */
export function keysetFilter(
  { keys, values }: Extract<Condition, { kind: 'after' }>,
  fields: readonly string[],
  platform: Platform,
): Document {
  const places = keys.map((key, index): Place => {
    const value = comparedValue(key.path, values[index] ?? null, platform);
    return { key, field: fields[index] ?? '', value };
  });
  const [first] = places as [Place];
  const filter = after(places);
  const isBound = first.value !== null && (first.key.descending || !first.key.path.nullable) && !mayBeNaN(first);
  if (!isBound || places.length === 1) return filter;
  return { $and: [{ [first.field]: { [first.key.descending ? '$lte' : '$gte']: first.value } }, filter] };
}

function after([place, ...rest]: readonly Place[]): Document {
  if (place === undefined) return NOTHING;
  const beyond = beyondFilter(place);
  if (rest.length === 0) return beyond;
  const same = { $and: [{ [place.field]: { $eq: place.value } }, after(rest)] };
  return beyond === NOTHING ? same : { $or: [beyond, same] };
}

/** NULLs come last in ascending and first in descending order. */
function beyondFilter(place: Place): Document {
  const { key, field, value } = place;
  if (value === null) return key.descending ? { [field]: { $ne: null } } : NOTHING;
  const beyond = key.descending
    ? below(place)
    : { [field]: Number.isNaN(value) ? { $gte: -Infinity } : { $gt: value } };
  return !key.descending && key.path.nullable ? { $or: [beyond, { [field]: { $eq: null } }] } : beyond;
}

/** NaN is before all other numbers in MongoDB's order, but `$lt` does not find it. */
function below(place: Place): Document {
  const { field, value } = place;
  if (Number.isNaN(value)) return NOTHING;
  const less = { [field]: { $lt: value } };
  return mayBeNaN(place) ? { $or: [less, { [field]: { $eq: NaN } }] } : less;
}

function mayBeNaN({ key }: Place): boolean {
  return key.path.type.kind === 'number';
}
