import type { FieldKind } from '../fields/field-kind.ts';
import { type Comparability, FIELD_KINDS } from '../fields/field-kinds.ts';

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

/** A way to compare a field with a value. */
export type Lookup = (typeof LOOKUPS)[number];

const BY_COMPARABILITY: Readonly<Record<Comparability, readonly Lookup[]>> = {
  'as text': LOOKUPS,
  'by order': ['exact', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'range', 'isnull'],
  'by equality': ['exact', 'ne', 'in', 'isnull'],
  'not at all': ['isnull'],
};

/** The lookups that fit a kind of field. */
export function lookupsFor(kind: FieldKind): readonly Lookup[] {
  return BY_COMPARABILITY[FIELD_KINDS[kind].comparability];
}
