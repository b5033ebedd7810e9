import type { EntityMetadata } from '@mikro-orm/core';
import type { FieldPath } from '../fields/field-path.ts';
import type { Condition } from './condition.ts';
import type { Lookup } from './lookup.ts';

/** A lookup whose names are known to be right. */
export interface ResolvedLookup {
  readonly path: FieldPath;
  readonly lookup: Lookup;
}

/**
 * Resolves `role__name__icontains`; without a lookup at its end a name means `exact`.
 * @throws ImproperlyConfigured for an unknown name, and for a lookup that does not fit the field's type
 */
export function resolveLookup(meta: EntityMetadata, name: string): ResolvedLookup {
  throw new Error(`not written yet ${meta.className} ${name}`);
}

/**
 * The condition that the text of a query parameter asks for: `in` takes values separated by commas, `range` two of
 * them, `isnull` true or false.
 * @throws FieldValueError where the text does not fit
 */
export function parseLookupText(resolved: ResolvedLookup, text: string): Condition {
  throw new Error(`not written yet ${resolved.path.key} ${text}`);
}
