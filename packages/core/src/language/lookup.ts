import type { FieldKind, FieldType } from '../fields/field-type.ts';

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

const EQUALITY: readonly Lookup[] = ['exact', 'ne', 'in', 'isnull'];
const ORDERED: readonly Lookup[] = ['exact', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'range', 'isnull'];
const NULL_ONLY: readonly Lookup[] = ['isnull'];

const BY_KIND: Readonly<Record<FieldKind, readonly Lookup[]>> = {
  string: LOOKUPS,
  integer: ORDERED,
  bigint: ORDERED,
  number: ORDERED,
  decimal: ORDERED,
  boolean: EQUALITY,
  datetime: ORDERED,
  date: ORDERED,
  time: ORDERED,
  uuid: EQUALITY,
  objectId: EQUALITY,
  json: NULL_ONLY,
  binary: NULL_ONLY,
  enum: EQUALITY,
};

/** The lookups of a text whose column has no operator for an order, or none at all. */
const WITHOUT_ORDER = LOOKUPS.filter((lookup) => !ORDERED.includes(lookup) || EQUALITY.includes(lookup));
const WITHOUT_EQUALITY = LOOKUPS.filter((lookup) => !ORDERED.includes(lookup) || NULL_ONLY.includes(lookup));

/** The lookups that fit the type of a field. */
export function lookupsFor({ kind, lacks }: Pick<FieldType, 'kind' | 'lacks'>): readonly Lookup[] {
  if (lacks === undefined) return BY_KIND[kind];
  return lacks === 'order' ? WITHOUT_ORDER : WITHOUT_EQUALITY;
}
