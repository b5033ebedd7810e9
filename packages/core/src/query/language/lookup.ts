import type { FieldKind, FieldType } from '../../fields/field-kind.ts';
import { type Comparability, FIELD_KINDS } from '../../fields/field-kinds.ts';

/** Every lookup, in the order in which error messages list them. */
export const LOOKUPS = [
  'exact',
  'iexact',
  'ne',
  'contains',
  'overlaps',
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
  'date',
  'isempty',
  'isnull',
] as const;

/** A way to compare a field with a value. */
export type Lookup = (typeof LOOKUPS)[number];

/** The lookups that databases compare with. `compare` expresses the others by these. */
export type ComparedLookup = Exclude<Lookup, 'date' | 'isempty'>;

/** The operands of lookups, for a field with values of the type `Value`. */
export interface Operands<Value> {
  readonly value: Value;
  readonly list: readonly Value[];
  readonly bounds: readonly [low: Value, high: Value];
  readonly boolean: boolean;
  /** A day of the calendar, `2026-01-31`. */
  readonly day: string;
}

/** The lookups with another operand than one value of the field. */
const OPERANDS = {
  in: 'list',
  range: 'bounds',
  date: 'day',
  isempty: 'boolean',
  isnull: 'boolean',
} as const satisfies Partial<Record<Lookup, keyof Operands<unknown>>>;

/** The operand of a lookup. */
export type OperandOf<L extends Lookup> = L extends keyof typeof OPERANDS ? (typeof OPERANDS)[L] : 'value';

/** The lookups with this operand. */
export type LookupWith<Operand extends keyof Operands<unknown>> = {
  [L in Lookup]: OperandOf<L> extends Operand ? L : never;
}[Lookup];

/** Returns the operand of a lookup. A list of a column is compared with a list. */
export function operandOf(lookup: Lookup, { element }: Pick<FieldType, 'element'>): keyof Operands<unknown> {
  if (element !== undefined && OF_LISTS.includes(lookup) && lookup !== 'isnull') return 'list';
  return (OPERANDS as Partial<Record<Lookup, keyof Operands<unknown>>>)[lookup] ?? 'value';
}

const BY_COMPARABILITY: Readonly<Record<Comparability, readonly Lookup[]>> = {
  'as text': LOOKUPS.filter((lookup) => lookup !== 'date' && lookup !== 'overlaps'),
  'by order': ['exact', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'range', 'isnull'],
  'by equality': ['exact', 'ne', 'in', 'isnull'],
  'not at all': ['isnull'],
};

const OF_MOMENTS = LOOKUPS.filter((lookup) => lookup === 'date' || BY_COMPARABILITY['by order'].includes(lookup));

const OF_LISTS: readonly Lookup[] = ['contains', 'overlaps', 'isnull'];

/** The kinds whose values have one form in every database, so that elements of a list can be compared. */
const COMPARED_ELEMENTS: ReadonlySet<FieldKind> = new Set([
  'string',
  'integer',
  'bigint',
  'number',
  'boolean',
  'uuid',
  'enum',
]);

/** The lookups of a text column without operators for order, or without any comparison operators. */
const WITHOUT_ORDER = allBut('by order', 'by equality');
const WITHOUT_EQUALITY = allBut('by order', 'not at all');

function allBut(lacking: Comparability, kept: Comparability): readonly Lookup[] {
  return LOOKUPS.filter(
    (lookup) => !BY_COMPARABILITY[lacking].includes(lookup) || BY_COMPARABILITY[kept].includes(lookup),
  );
}

/** Returns the lookups that fit the type of a field. */
export function lookupsFor({ kind, lacks, element }: Pick<FieldType, 'kind' | 'lacks' | 'element'>): readonly Lookup[] {
  if (element !== undefined && COMPARED_ELEMENTS.has(element.kind)) return OF_LISTS;
  if (kind === 'datetime') return OF_MOMENTS;
  if (lacks === undefined) return BY_COMPARABILITY[FIELD_KINDS[kind].comparability];
  return lacks === 'order' ? WITHOUT_ORDER : WITHOUT_EQUALITY;
}
