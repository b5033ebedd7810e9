import type { FieldKind } from '../fields/field-type.ts';

/** Every lookup, in the order in which error messages list them. */
export const LOOKUPS = [
  'exact',
  'iexact',
  'ne',
  'contains',
  'icontains',
  'startswith',
  'istartswith',
  'endswith',
  'iendswith',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'range',
  'isnull',
] as const;

/** How a field is compared with a value. */
export type Lookup = (typeof LOOKUPS)[number];

/** The lookups that fit a kind of field. */
export function lookupsFor(kind: FieldKind): readonly Lookup[] {
  throw new Error(`not written yet ${kind}`);
}
