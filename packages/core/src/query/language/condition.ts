import type { EntityMetadata, EntityProperty, FilterQuery } from '@mikro-orm/core';
import { isDeepStrictEqual } from 'node:util';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { primaryKey } from '../../fields/primary-key.ts';
import { describe } from '../../errors/options.ts';
import type { ComparedLookup } from './lookup.ts';
import type { NativeTerm } from './native-term.ts';
import { reversed, type OrderKey } from './order.ts';

/**
 * A condition on a record, as an immutable tree. It is true or false for every record, never unknown: a comparison with
 * NULL is false, and its `not` is true.
 */
export type Condition =
  | { readonly kind: 'constant'; readonly value: boolean }
  | { readonly kind: 'compare'; readonly path: FieldPath; readonly lookup: ComparedLookup; readonly value: unknown }
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly Condition[] }
  | { readonly kind: 'not'; readonly condition: Condition }
  | { readonly kind: 'some'; readonly steps: readonly EntityProperty[]; readonly condition: Condition }
  | { readonly kind: 'filterScope'; readonly place: FilterScope; readonly condition: Condition }
  | { readonly kind: 'after'; readonly keys: readonly OrderKey[]; readonly values: readonly unknown[] }
  | {
      readonly kind: 'native';
      readonly meta: EntityMetadata;
      readonly term: NativeTerm;
      readonly values: readonly unknown[];
    }
  | {
      readonly kind: 'matching';
      /** The entity of the condition: the record's entity, or the entity at the end of `steps`. */
      readonly meta: EntityMetadata;
      /** To-one relations. */
      readonly steps: readonly EntityProperty[];
      readonly where: FilterQuery<object>;
      /** True if MikroORM has already converted the values to database values. */
      readonly converted: boolean;
      /**
       * True for a condition on one column that lookups cannot compare. Otherwise it may be about any part of the
       * record.
       */
      readonly isOfColumn: boolean;
    };

/**
 * The related records for a part of a condition, independent of the rest of the query. `filter`: the records for a
 * condition of a MikroORM filter. `unfiltered`: all records, including those that filters hide.
 */
export type FilterScope = 'filter' | 'unfiltered';

/** The condition that is true for every record. */
export const always: Condition = Object.freeze({ kind: 'constant', value: true });

/** The condition that is true for no record. */
export const never: Condition = Object.freeze({ kind: 'constant', value: false });

/** True for the condition that every record matches. */
export function isAlways(condition: Condition): boolean {
  return condition.kind === 'constant' && condition.value;
}

export function isNever(condition: Condition): boolean {
  return condition.kind === 'constant' && !condition.value;
}

/** Makes a condition that is true if all conditions are; without conditions it is `always`. */
export function and(...conditions: readonly Condition[]): Condition {
  return combine('and', conditions, always, never);
}

/** Makes a condition that is true if at least one condition is; without conditions it is `never`. */
export function or(...conditions: readonly Condition[]): Condition {
  return combine('or', conditions, never, always);
}

/** Makes a condition that is true if the given condition is false. */
export function not(condition: Condition): Condition {
  if (condition.kind === 'constant') return condition.value ? never : always;
  return condition.kind === 'not' ? condition.condition : { kind: 'not', condition };
}

/**
 * Reports whether a condition includes all parts of another condition, as the same objects. Then adding that condition
 * has no effect.
 */
export function includesAll(condition: Condition, part: Condition): boolean {
  if (condition === part || isAlways(part) || isNever(condition)) return true;
  if (part.kind === 'and') return part.conditions.every((each) => includesAll(condition, each));
  return condition.kind === 'and' && condition.conditions.includes(part);
}

/**
 * Makes a condition for records with a related record that matches.
 * @param steps the relations to the related record; only the last one is to-many
 * @param condition the condition on the related record; its paths start there
 */
export function some(steps: readonly EntityProperty[], condition: Condition): Condition {
  return isNever(condition) ? never : { kind: 'some', steps, condition };
}

/** Makes the same condition for another choice of related records. */
export function inFilterScope(place: FilterScope, condition: Condition): Condition {
  return condition.kind === 'constant' ? condition : { kind: 'filterScope', place, condition };
}

/**
 * Makes a condition from a MikroORM `where`, for conditions that lookups cannot express. Give the entity as the type
 * argument, so that misspelt names do not compile.
 *
 * @example
 * class OfOwnTitle extends Permission {
 *   override scope(request: FastifyRequest, view: PermissionView) {
 *     return matching<Book>(view.meta!, { author: { books: { $some: { title: 'Ash' } } } });
 *   }
 * }
 */
export function matching<Entity extends object = object>(
  meta: EntityMetadata,
  where: FilterQuery<NoInfer<Entity>>,
): Condition {
  return { kind: 'matching', meta, steps: [], where: ofKeys(meta, where), converted: false, isOfColumn: false };
}

/**
 * Makes a condition from a term and its values. Use it for database operators that have no lookup. Unlike `matching()`,
 * it has one statement for all values.
 *
 * @param meta the entity of the record
 * @example
 * const near = {
 *   name: 'near',
 *   sql: ({ alias, value }: TermRecord) => `${alias}."place" <@> point(${value}, ${value}) < 10`,
 * };
 * const nearby = (queryset: QuerySet<Book>) => queryset.where(nativeCondition(queryset.meta, near, [13.4, 52.5]));
 * // … where t0."place" <@> point($1, $2) < 10
 */
export function nativeCondition(meta: EntityMetadata, term: NativeTerm, values: readonly unknown[]): Condition {
  return { kind: 'native', meta, term, values };
}

/**
 * Makes a condition from a MikroORM `where` on one column, for conditions that lookups cannot express. The column
 * belongs to the record at the end of to-one relations. If that record is missing, the condition is false.
 *
 * @param where a condition on one column of `meta`, the entity at the end of `steps`, or its `$not`
 * @param converted true if MikroORM has already converted the values to database values
 */
export function matchingColumn(
  meta: EntityMetadata,
  steps: readonly EntityProperty[],
  where: FilterQuery<object>,
  converted: boolean,
): Condition {
  return { kind: 'matching', meta, steps, where, converted, isOfColumn: true };
}

/**
 * Rewrites primary keys as a condition on the key. MikroORM finds records by keys too, but its query builder reads a
 * text as SQL. Throws ImproperlyConfigured for a value that is not a condition, because the builder would select all
 * records for it.
 */
function ofKeys(meta: EntityMetadata, where: unknown): FilterQuery<object> {
  const { key } = primaryKey(meta);
  if (isKey(where)) return { [key]: where };
  if (Array.isArray(where) && where.every(isKey)) return { [key]: { $in: where } };
  const isCondition = typeof where === 'object' && where !== null;
  // For MikroORM, a list with an empty element selects all records too.
  if (isCondition && ![where].flat(Infinity).some((one) => one === null || one === undefined)) return where;
  throw new ImproperlyConfigured(`${meta.className}: matching() takes a condition of MikroORM, got ${describe(where)}`);
}

function isKey(value: unknown): boolean {
  return ['string', 'number', 'bigint'].includes(typeof value) || value instanceof Date;
}

/**
 * Makes a condition for the records after a given record in an order. The keys must make the order total
 * (`totalOrder()`).
 * @param values the values that `orderValues(keys)` read from the given record, one for each key
 */
export function after(keys: readonly OrderKey[], values: readonly unknown[]): Condition {
  if (keys.length === 0 || keys.length !== values.length) {
    throw new RangeError(
      `after() takes one value for each key of the order: ${keys.length} keys, ${values.length} values`,
    );
  }
  return { kind: 'after', keys, values };
}

/** Makes a condition for the records before a given record in an order. */
export function before(keys: readonly OrderKey[], values: readonly unknown[]): Condition {
  return after(reversed(keys), values);
}

/** True if a condition allows only one value of a column, such as the primary key of a record. */
export function comparesOneKey(condition: Condition, path: FieldPath): boolean {
  if (condition.kind === 'and') return condition.conditions.some((part) => comparesOneKey(part, path));
  return condition.kind === 'compare' && condition.path === path && condition.lookup === 'exact';
}

/**
 * Reports whether a condition reads only columns in the record's row that pass a test. After waiting for a locked row,
 * a database evaluates such a condition again. But a sub-select still reads an old version.
 */
export function readsOnlyColumns(condition: Condition, test: (column: FieldPath) => boolean = () => true): boolean {
  switch (condition.kind) {
    case 'constant':
      return true;
    case 'compare':
      return isRecordColumn(condition.path) && test(condition.path);
    case 'and':
    case 'or':
      return condition.conditions.every((part) => readsOnlyColumns(part, test));
    case 'not':
    case 'filterScope':
      return readsOnlyColumns(condition.condition, test);
    case 'after':
      return condition.keys.every(({ path }) => isRecordColumn(path) && test(path));
    case 'some':
    case 'native':
    case 'matching':
      return false;
  }
}

function isRecordColumn({ steps, property }: FieldPath): boolean {
  return steps.length === 0 && property.formula === undefined;
}

/**
 * Reports whether two conditions have the same form, part by part. Conditions of different forms may still mean the
 * same.
 */
export function isSameCondition(one: Condition, other: Condition): boolean {
  if (one === other) return true;
  switch (one.kind) {
    case 'constant':
      return other.kind === one.kind && other.value === one.value;
    case 'compare': {
      const isSameComparison = other.kind === one.kind && other.path === one.path && other.lookup === one.lookup;
      return isSameComparison && isSameValue(other.value, one.value);
    }
    case 'and':
    case 'or':
      return other.kind === one.kind && areAlike(one.conditions, other.conditions, isSameCondition);
    case 'not':
      return other.kind === one.kind && isSameCondition(one.condition, other.condition);
    case 'filterScope':
      return other.kind === one.kind && other.place === one.place && isSameCondition(one.condition, other.condition);
    case 'some':
      return (
        other.kind === one.kind &&
        areAlike(one.steps, other.steps, Object.is) &&
        isSameCondition(one.condition, other.condition)
      );
    case 'matching':
      return (
        other.kind === one.kind &&
        other.meta === one.meta &&
        other.converted === one.converted &&
        areAlike(one.steps, other.steps, Object.is) &&
        isSameValue(other.where, one.where)
      );
    case 'native':
      return other.kind === one.kind && other.term === one.term && isSameValue(other.values, one.values);
    case 'after':
      return false;
  }
}

/**
 * Reports whether two values are equal. Objects of a class may have private state. Two of them can be equal only if
 * they have a text form: keys, decimals, points in time.
 */
function isSameValue(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  const prototype: unknown = Object.getPrototypeOf(one);
  if (prototype !== Object.getPrototypeOf(other)) return false;
  if (!Array.isArray(one) && !isPlain(prototype)) {
    const text = textOf(one);
    return text !== undefined && text === textOf(other) && isDeepStrictEqual(one, other);
  }
  const names = Reflect.ownKeys(one);
  const isSameMember = (name: string | symbol): boolean =>
    Object.hasOwn(other, name) && isSameValue(one[name as never], other[name as never]);
  return names.length === Reflect.ownKeys(other).length && names.every(isSameMember);
}

/** Returns the text form of an object of a class. Undefined if it has none. */
function textOf(value: object): string | undefined {
  const { toString } = value as { readonly toString: (this: object) => string };
  return toString === Object.prototype.toString ? undefined : toString.call(value);
}

function isPlain(prototype: unknown): boolean {
  return prototype === Object.prototype || prototype === null;
}

/** Describes a condition in part. Conditions of the same form have the same text. */
export function hintOf(condition: Condition): string {
  switch (condition.kind) {
    case 'constant':
      return String(condition.value);
    case 'compare':
      return `${condition.path.key} ${condition.lookup} ${hintOfValue(condition.value)}`;
    case 'and':
    case 'or':
      return `${condition.kind}(${condition.conditions.map(hintOf).join()})`;
    case 'not':
    case 'filterScope':
    case 'some':
      return `${condition.kind}(${hintOf(condition.condition)})`;
    case 'native':
      return `${condition.term.name} ${hintOfValue(condition.values)}`;
    case 'after':
    case 'matching':
      return condition.kind;
  }
}

function hintOfValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(hintOfValue).join()}]`;
  if (value instanceof Date) return String(value.getTime());
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'bigint':
    case 'boolean':
      return `${value}`;
    default:
      return '';
  }
}

function areAlike<Part>(
  parts: readonly Part[],
  others: readonly Part[],
  isAlike: (one: Part, other: Part) => boolean,
): boolean {
  return parts.length === others.length && parts.every((part, index) => isAlike(part, others[index]!));
}

/** Flattens conditions. Drops `neutral` conditions and duplicates, and stops at a `deciding` one. */
function combine(kind: 'and' | 'or', given: readonly Condition[], neutral: Condition, deciding: Condition): Condition {
  let only: Condition = neutral;
  let conditions: Set<Condition> | undefined;
  for (const condition of given) {
    if (condition.kind === 'constant') {
      if (condition.value === (deciding === always)) return deciding;
    } else if (only === neutral) {
      only = condition;
    } else {
      conditions ??= new Set(partsOf(kind, only));
      for (const part of partsOf(kind, condition)) conditions.add(part);
    }
  }
  if (conditions === undefined) return only;
  const [first = neutral, ...others] = conditions;
  return others.length === 0 ? first : { kind, conditions: [first, ...others] };
}

function partsOf(kind: 'and' | 'or', condition: Condition): readonly Condition[] {
  return condition.kind === kind ? condition.conditions : [condition];
}
