import type { EntityMetadata } from '@mikro-orm/core';
import { compare } from './compare.ts';
import { and, type Condition } from './condition.ts';
import { resolveLookup } from './resolve-lookup.ts';

/**
 * The records of which all of the lookups are true.
 * @throws ImproperlyConfigured for a name that is no lookup of the entity; FieldValueError for a value of another type
 */
export function lookupCondition(meta: EntityMetadata, lookups: Readonly<Record<string, unknown>>): Condition {
  const conditions = Object.entries(lookups).map(([name, value]) => {
    const { path, lookup } = resolveLookup(meta, name);
    return compare(path, lookup, value);
  });
  return and(...conditions);
}
