import type { FieldType } from '../fields/field-kind.ts';
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

/** The values that a lookup can take, for a field whose values are of the type `Value`. */
export interface Operands<Value> {
  readonly value: Value;
  readonly list: readonly Value[];
  readonly bounds: readonly [low: Value, high: Value];
  readonly boolean: boolean;
}

/** The lookups that take something other than one value of the field. */
const OPERANDS = { in: 'list', range: 'bounds', isnull: 'boolean' } as const satisfies Partial<
  Record<Lookup, keyof Operands<unknown>>
>;

/** What a lookup takes. */
export type OperandOf<L extends Lookup> = L extends keyof typeof OPERANDS ? (typeof OPERANDS)[L] : 'value';

/** The lookups that take this operand. */
export type LookupTaking<Operand extends keyof Operands<unknown>> = {
  [L in Lookup]: OperandOf<L> extends Operand ? L : never;
}[Lookup];

/** Returns what a lookup takes. */
export function operandOf(lookup: Lookup): keyof Operands<unknown> {
  return (OPERANDS as Partial<Record<Lookup, keyof Operands<unknown>>>)[lookup] ?? 'value';
}

const BY_COMPARABILITY: Readonly<Record<Comparability, readonly Lookup[]>> = {
  'as text': LOOKUPS,
  'by order': ['exact', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'range', 'isnull'],
  'by equality': ['exact', 'ne', 'in', 'isnull'],
  'not at all': ['isnull'],
};

/** The lookups of a text whose column has no operator for an order, or none at all. */
const WITHOUT_ORDER = allBut('by order', 'by equality');
const WITHOUT_EQUALITY = allBut('by order', 'not at all');

function allBut(lacking: Comparability, kept: Comparability): readonly Lookup[] {
  return LOOKUPS.filter(
    (lookup) => !BY_COMPARABILITY[lacking].includes(lookup) || BY_COMPARABILITY[kept].includes(lookup),
  );
}

/** The lookups that fit the type of a field. */
export function lookupsFor({ kind, lacks }: Pick<FieldType, 'kind' | 'lacks'>): readonly Lookup[] {
  if (lacks === undefined) return BY_COMPARABILITY[FIELD_KINDS[kind].comparability];
  return lacks === 'order' ? WITHOUT_ORDER : WITHOUT_EQUALITY;
}
