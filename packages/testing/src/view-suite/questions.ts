import { randomBytes, randomUUID } from 'node:crypto';
import type { Lookup } from '@viewset/core';
import type { Comparable, ComparedField } from './compared-field.ts';

/** A value of a query parameter, and the field values that it matches. */
export interface Question {
  /** One text, or the values of a list. */
  readonly texts: readonly string[];
  readonly holds: (value: Comparable) => boolean;
}

/** A text that no record has. */
export const UNUSED_TEXT = 'nobodyhasthis';

type Holds = (value: Comparable, wanted: Comparable) => boolean;

const lower = (value: Comparable): string => String(value).toLowerCase();

type OneValueLookup = Exclude<Lookup, 'in' | 'range' | 'isempty' | 'isnull'>;

/** The lookups that take one value. */
const ONE_VALUE: Readonly<Record<OneValueLookup, Holds>> = {
  exact: (value, wanted) => value === wanted,
  iexact: (value, wanted) => lower(value) === lower(wanted),
  ne: (value, wanted) => value !== wanted,
  gt: (value, wanted) => value! > wanted!,
  gte: (value, wanted) => value! >= wanted!,
  lt: (value, wanted) => value! < wanted!,
  lte: (value, wanted) => value! <= wanted!,
  overlaps: () => false,
  contains: (value, wanted) => String(value).includes(String(wanted)),
  icontains: (value, wanted) => lower(value).includes(lower(wanted)),
  startswith: (value, wanted) => String(value).startsWith(String(wanted)),
  istartswith: (value, wanted) => lower(value).startsWith(lower(wanted)),
  endswith: (value, wanted) => String(value).endsWith(String(wanted)),
  iendswith: (value, wanted) => lower(value).endsWith(lower(wanted)),
  date: (value, wanted) => dayOf(value) === dayOf(wanted),
};

const BY_ORDER: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte', 'range']);
/** For several related records, these lookups are ambiguous. */
const OF_ONE_ALONE: ReadonlySet<string> = new Set(['ne', 'isempty', 'isnull']);

/** The day in UTC of a moment. */
function dayOf(moment: Comparable): string {
  return new Date(moment as number).toISOString().slice(0, 10);
}

/**
 * Lists the questions for a field and lookup: with values that records have, and one that no record has. Empty if
 * JavaScript and databases may disagree.
 */
export function questions(field: ComparedField, lookup: string, values: readonly Comparable[]): readonly Question[] {
  if (BY_ORDER.has(lookup) && !field.isOrdered) return [];
  // The elements of lists are not compared.
  if (field.type.element !== undefined && lookup !== 'isnull') return [];
  if (field.toMany && OF_ONE_ALONE.has(lookup)) return [];
  if (lookup === 'isnull') {
    return [true, false].map((wanted) => ({ texts: [String(wanted)], holds: (value) => (value === null) === wanted }));
  }
  if (lookup === 'isempty') {
    return [true, false].map((wanted) => ({ texts: [String(wanted)], holds: (value) => (value === '') === wanted }));
  }
  const known = [...new Set(values)].filter((value) => value !== null && value !== '').slice(0, 3);
  const wanted = [...known, unusedValue(field, known)];
  if (lookup === 'in') return [known.slice(0, 2), wanted.slice(-1)].flatMap((list) => inList(field, list));
  if (lookup === 'range') return [known.slice(0, 2), wanted.slice(-1)].flatMap((ends) => between(field, ends));
  return wanted.map((value) => {
    const part = partOf(lookup, value);
    return {
      texts: [lookup === 'date' ? dayOf(part) : field.textOf(part)],
      holds: (other) => matches(lookup, other, part),
    };
  });
}

/** Tells if a one-value lookup matches a record's value. */
export function matches(lookup: string, value: Comparable, wanted: Comparable): boolean {
  return value !== null && ONE_VALUE[lookup as OneValueLookup](value, wanted);
}

/** Asks for any of several values. */
function inList(field: ComparedField, list: readonly Comparable[]): Question[] {
  if (list.length === 0) return [];
  return [{ texts: list.map((value) => field.textOf(value)), holds: (value) => list.includes(value) }];
}

/** Asks for the values between the smallest and the largest of several. */
function between(field: ComparedField, ends: readonly Comparable[]): Question[] {
  if (ends.length === 0) return [];
  const sorted = ends.toSorted((one, other) => (one! < other! ? -1 : 1));
  const [least, greatest] = [sorted[0]!, sorted.at(-1)!];
  const holds = (value: Comparable): boolean => value !== null && value >= least && value <= greatest;
  return [{ texts: [field.textOf(least), field.textOf(greatest)], holds }];
}

/** Cuts a text so that only its lookup finds it. Uses capitals if the lookup ignores case. */
function partOf(lookup: string, value: Comparable): Comparable {
  if (typeof value !== 'string') return value;
  const half = Math.ceil(value.length / 2);
  const text = lookup.endsWith('startswith')
    ? value.slice(0, half).trimEnd()
    : /contains|endswith/.test(lookup)
      ? value.slice(-half).trimStart()
      : value;
  return lookup.startsWith('i') ? text.toUpperCase() : text;
}

/** Returns a value that no record has; for enums and booleans, any of their values. */
function unusedValue({ type }: ComparedField, used: readonly Comparable[]): Comparable {
  const greatest = Math.max(0, ...used.map(Number).filter(Number.isFinite));
  switch (type.kind) {
    case 'boolean':
      return used[0] !== true;
    case 'enum':
      return (type.values ?? []).map(String).find((value) => !used.includes(value)) ?? String(type.values?.[0]);
    case 'uuid':
      return randomUUID();
    case 'objectId':
      return randomBytes(12).toString('hex');
    case 'date':
      return '2099-12-31';
    case 'time':
      return '23:59:58';
    case 'datetime':
      return greatest + 86_400_000;
    case 'string':
      return UNUSED_TEXT;
    default:
      return greatest + 1;
  }
}
