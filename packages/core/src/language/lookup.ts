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

/** The lookups of a text that a database compares by an operator of the column's own type. */
const OF_ORDER: readonly Lookup[] = ['gt', 'gte', 'lt', 'lte', 'range'];
const OF_EQUALITY: readonly Lookup[] = [...OF_ORDER, 'exact', 'ne', 'in'];
const WITHOUT_ORDER = LOOKUPS.filter((lookup) => !OF_ORDER.includes(lookup));
const WITHOUT_EQUALITY = LOOKUPS.filter((lookup) => !OF_EQUALITY.includes(lookup));

/** The lookups that fit the type of a field. */
export function lookupsFor({ kind, lacks }: Pick<FieldType, 'kind' | 'lacks'>): readonly Lookup[] {
  if (lacks === undefined) return BY_KIND[kind];
  return lacks === 'order' ? WITHOUT_ORDER : WITHOUT_EQUALITY;
}
