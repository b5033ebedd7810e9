import type { Platform } from '@mikro-orm/core';
import type { Condition } from '@viewset/core';
import { keysetTerm, type KeysetTerms, type Place, placesOf } from '@viewset/core/backend';
import type { Document } from '../mikro/mongo-driver.ts';
import { NOTHING } from './comparison.ts';
import type { MongoScope } from './scope.ts';
import { comparedValue } from './stored-value.ts';

/** Makes the filter for the records after a place in an order. */
export function keysetFilter(scope: MongoScope, condition: Extract<Condition, { kind: 'after' }>): Document {
  const platform: Platform = scope.context.em.getPlatform();
  const places = placesOf(
    condition,
    ({ path }) => scope.value(path),
    ({ path }, value) => comparedValue(path, value, platform),
  );
  return keysetTerm(places, TERMS) ?? NOTHING;
}

const TERMS: KeysetTerms<Document> = {
  beyond: (place) => (place.key.descending ? below(place) : above(place)),
  from: (place) =>
    mayBeNaN(place) ? undefined : { [place.column]: { [place.key.descending ? '$lte' : '$gte']: place.value } },
  same: ({ column, value }) => ({ [column]: { $eq: value } }),
  isNull: ({ column }, isWanted) => ({ [column]: isWanted ? { $eq: null } : { $ne: null } }),
  both: (first, second) => ({ $and: [first, second] }),
  either: (first, second) => ({ $or: [first, second] }),
};

function above({ column, value }: Place): Document {
  return { [column]: Number.isNaN(value) ? { $gte: -Infinity } : { $gt: value } };
}

/** MongoDB sorts NaN before all other numbers, but `$lt` does not find it. */
function below(place: Place): Document | undefined {
  const { column, value } = place;
  if (Number.isNaN(value)) return undefined;
  const less = { [column]: { $lt: value } };
  return mayBeNaN(place) ? { $or: [less, { [column]: { $eq: NaN } }] } : less;
}

function mayBeNaN({ key }: Place): boolean {
  return key.path.type.kind === 'number';
}
