import type { EntityMetadata } from '@mikro-orm/core';
import type { LookupFor } from '../query/language/lookup-name.ts';
import type { Lookup } from '../query/language/lookup.ts';
import { fitting, type ResolvedLookup } from '../query/language/resolve-lookup.ts';
import { wrongOption } from '../errors/options.ts';
import { RelatedValue } from '../shapes/read/related-value.ts';
import { JsonValue } from './json-value.ts';

/**
 * A filter by a value that is no column: computed from related records, or in JSON. It compares by equality, or by another
 * lookup, `[count('comments'), 'gte']`.
 */
export type ValueLookup<Entity = never> =
  | RelatedValue<Entity, boolean | number>
  | JsonValue<Entity, string | number | boolean>
  | readonly [value: RelatedValue<Entity, boolean> | JsonValue<Entity, boolean>, lookup: LookupFor<boolean>]
  | readonly [value: RelatedValue<Entity, number> | JsonValue<Entity, number>, lookup: LookupFor<number>]
  | readonly [value: JsonValue<Entity, string>, lookup: LookupFor<string>];

/**
 * Resolves the filter by a value.
 *
 * @throws ImproperlyConfigured for a malformed filter, for a path that does not exist, and for a lookup that does not
 * fit
 */
export function lookupOf(meta: EntityMetadata, declared: ValueLookup): ResolvedLookup {
  const [value, lookup = 'exact']: readonly [unknown, Lookup?] = Array.isArray(declared)
    ? (declared as readonly [unknown, Lookup?])
    : [declared];
  if (!(value instanceof RelatedValue || value instanceof JsonValue)) {
    const expected = "a lookup, exists(), count(), inJson() or [count(…), 'gte']";
    throw wrongOption(meta.className, 'filterFields', expected, declared);
  }
  const path = value.pathFrom(meta);
  return fitting(meta, `${path.key}__${lookup}`, path, lookup);
}
