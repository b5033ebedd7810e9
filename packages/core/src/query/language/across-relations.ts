import { type EntityMetadata, type EntityProperty, isRaw, QueryOperator, ReferenceKind, Utils } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { fieldPath } from '../../fields/field-path.ts';
import { primaryKey } from '../../fields/primary-key.ts';
import { isPolymorphic, isReference, isToMany, ownsColumn } from '../../fields/property.ts';
import { compare } from './compare.ts';
import {
  always,
  and,
  inFilterScope,
  type Condition,
  isAlways,
  matchingColumn,
  never,
  not,
  or,
  some,
} from './condition.ts';
import { entryCondition } from './where-condition.ts';
import { type RowCondition, conditionOf, groupOf, onRow } from './joined-rows.ts';
import { getOrMake } from '../../support/get-or-make.ts';

type Matching = Extract<Condition, { kind: 'matching' }>;

/** Keyed by the condition, because the caller may change the `where` object for its next condition. */
const known = new WeakMap<Matching, Condition>();

/**
 * Converts a MikroORM condition that crosses relations to lookups, so that the filters of the related entities apply.
 * MikroORM's query builder does not apply them. Also converts conditions on lists, whose operators MikroORM has on
 * PostgreSQL only. Undefined if the condition has neither.
 *
 * @throws ImproperlyConfigured for `$size`
 */
export function acrossRelations(condition: Matching): Condition | undefined {
  const { isOfColumn, meta, where } = condition;
  return !isOfColumn && (crossesRelation(meta, where) || comparesLists(where)) ? inLookups(condition) : undefined;
}

/**
 * Converts a MikroORM condition to lookups with the meaning of `em.find` on SQL. A comparison that is unknown because
 * of a NULL stays unknown if it is negated. A condition on a column without lookups stays `matching`, one for each
 * column.
 *
 * @throws ImproperlyConfigured for `$size`
 */
export function inLookups(condition: Matching): Condition {
  if (condition.isOfColumn) return condition;
  const { meta, where, converted } = condition;
  const row: Place = { root: meta, entity: meta, steps: [], branch: '', converted };
  return getOrMake(known, condition, () => conditionOf(rowCondition(row, where, false)));
}

function crossesRelation(meta: EntityMetadata, where: unknown): boolean {
  if (Array.isArray(where)) return where.some((one) => crossesRelation(meta, one));
  if (!isPlainObject(where)) return false;
  return Object.entries(where).some(([name, value]) =>
    LOGICAL.has(name) ? crossesRelation(meta, value) : relationAt(meta, name, value) !== undefined,
  );
}

/** The operators on columns that hold lists. */
const OF_LISTS = new Set(['$contains', '$overlap']);

function comparesLists(where: unknown): boolean {
  if (Array.isArray(where)) return where.some(comparesLists);
  return (
    isPlainObject(where) && Object.entries(where).some(([name, value]) => OF_LISTS.has(name) || comparesLists(value))
  );
}

const LOGICAL = new Set(['$and', '$or', '$not']);

/** Returns the related entity that a value is about. Undefined if a column of the record itself decides. */
function relationAt(meta: EntityMetadata, name: string, value: unknown): EntityMetadata | undefined {
  const property = propertyOf(meta, name);
  if (property === undefined || !isReference(property) || isPolymorphic(property)) return undefined;
  return !ownsColumn(property) || comparesFields(value) ? property.targetMeta : undefined;
}

function comparesFields(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  // The keys of fragments of SQL are symbols.
  return Reflect.ownKeys(value).some((key) => typeof key === 'symbol' || !key.startsWith('$') || LOGICAL.has(key));
}

/** The to-one relations from a row to the record of a condition. */
interface Place {
  readonly root: EntityMetadata;
  readonly entity: EntityMetadata;
  readonly steps: readonly EntityProperty[];
  /** The direct part of an "and"; empty for none. As in MikroORM, each part has its own joins. */
  readonly branch: string;
  /** True if MikroORM has already converted the values to database values. */
  readonly converted: boolean;
}

/**
 * @param isNegated negates the condition down to the columns: `not (a and b)` becomes `not a or not b`, also for NULL
 */
function rowCondition(place: Place, where: unknown, isNegated: boolean): RowCondition {
  if (Array.isArray(where)) return groupOf('or', isNegated, where, (one) => rowCondition(place, one, isNegated));
  if (!isPlainObject(where)) throw unsayable(place);
  return groupOf('and', isNegated, Reflect.ownKeys(where), (name) =>
    typeof name === 'symbol'
      ? ofColumn(place, name, where[name as never], isNegated)
      : entry(place, name, where[name], isNegated),
  );
}

function entry(place: Place, name: string, value: unknown, isNegated: boolean): RowCondition {
  if (name === '$not') return rowCondition({ ...place, branch: '' }, value, !isNegated);
  if (name === '$and' || name === '$or') {
    const parts = [value].flat();
    return groupOf(name === '$and' ? 'and' : 'or', isNegated, parts, (one, index) => {
      const branch = name === '$and' && parts.length > 1 ? `[${index}]` : '';
      return rowCondition({ ...place, branch }, one, isNegated);
    });
  }
  const property = propertyOf(place.entity, name);
  const target = relationAt(place.entity, name, value);
  if (property !== undefined && target !== undefined) {
    if (isToMany(property)) return ofMany(place, property, value, isNegated);
    const related = { ...place, entity: target, steps: [...place.steps, property], branch: '' };
    return rowCondition(related, ofRecord(target, value), isNegated);
  }
  return isOfKey(name)
    ? ofColumn(place, keyOf(place.entity), { [name]: value }, isNegated)
    : ofColumn(place, name, value, isNegated);
}

/** True for an operator instead of a column, which applies to the key. Other operators are specific to MongoDB. */
function isOfKey(name: string): boolean {
  return Object.hasOwn(QueryOperator, name) && name !== '$fulltext';
}

function ofColumn(place: Place, name: string | symbol, value: unknown, isNegated: boolean): RowCondition {
  if (isPlainObject(value) && '$not' in value) {
    const parts = Object.entries(value);
    return groupOf('and', isNegated, parts, ([operator, operand]) =>
      operator === '$not'
        ? ofColumn(place, name, operand, !isNegated)
        : ofColumn(place, name, { [operator]: operand }, isNegated),
    );
  }
  if (!isNegated) return columnCondition(place, name, value);
  const ofList = typeof name === 'symbol' || !comparesLists(value) ? undefined : inOneLookup(place, name, value);
  // Of NULL, neither the condition nor its opposite is true.
  if (ofList !== undefined) return onRow(and(hasValue(place, name as string), not(ofList)));
  const opposites = typeof name === 'symbol' || isEmbedded(place, name) ? undefined : oppositesOf(value);
  if (opposites === undefined) return onRow(leaf(place, { $not: { [name]: value } }));
  return groupOf('or', false, opposites, (opposite) => columnCondition(place, name, opposite));
}

function columnCondition(place: Place, name: string | symbol, value: unknown): RowCondition {
  const condition = typeof name === 'symbol' ? undefined : inOneLookup(place, name, value);
  const isTrueOfNull = isNullTest(value);
  if (condition !== undefined) return onRow(condition, isTrueOfNull || isAlways(condition));
  const comparison = leaf(place, { [name]: value });
  // In MikroORM, a column of a missing record is NULL.
  return onRow(isTrueOfNull && place.steps.length > 0 ? or(comparison, not(isThere(place))) : comparison, isTrueOfNull);
}

function inOneLookup({ root, entity, steps }: Place, name: string, value: unknown): Condition | undefined {
  const property = propertyOf(entity, name);
  // In MikroORM, a related record without a key means that the foreign key is NULL.
  const isForeignKey = steps.length > 0 && property?.primary === true && ownsColumn(steps.at(-1) as EntityProperty);
  if (isForeignKey && isNullTest(value)) return entryCondition(root, pathOf(steps), value, steps.at(-1));
  return entryCondition(root, pathOf(steps, name), value, property);
}

function hasValue({ root, steps }: Pick<Place, 'root' | 'steps'>, name: string): Condition {
  return compare(fieldPath(root, pathOf(steps, name), '.'), 'isnull', false);
}

function leaf({ entity, steps, converted }: Place, where: object): Condition {
  return matchingColumn(entity, steps, where, converted);
}

function isThere({ root, entity, steps }: Place): Condition {
  if (steps.length === 0) return always;
  return hasValue({ root, steps }, primaryKey(entity).key);
}

const OPPOSITES: Readonly<Record<string, string>> = {
  $eq: '$ne',
  $ne: '$eq',
  $gt: '$lte',
  $lte: '$gt',
  $gte: '$lt',
  $lt: '$gte',
  $in: '$nin',
  $nin: '$in',
};

/**
 * Returns the opposites of a column's operators. The negation holds if at least one of them holds. Undefined if an
 * operator has no opposite.
 */
function oppositesOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return [{ $nin: value as unknown[] }];
  if (!isPlainObject(value)) return value instanceof RegExp || isRaw(value) ? undefined : [{ $ne: value }];
  const opposites = Object.entries(value).map(([operator, operand]) => {
    if (operator === '$exists') return { $exists: operand !== true };
    return Object.hasOwn(OPPOSITES, operator) ? { [OPPOSITES[operator] as string]: operand } : undefined;
  });
  return opposites.includes(undefined) ? undefined : opposites;
}

/** Reports whether a condition matches NULL. In SQL no other condition does, not even a list with NULL in it. */
function isNullTest(value: unknown): boolean {
  if (!isPlainObject(value)) return value === null;
  const operators = Object.entries(value);
  return (
    operators.length > 0 &&
    operators.every(([operator, operand]) =>
      operator === '$exists' ? operand !== true : operator === '$eq' && operand === null,
    )
  );
}

function ofMany(place: Place, step: EntityProperty, value: unknown, isNegated: boolean): RowCondition {
  const target = step.targetMeta as EntityMetadata;
  const steps = [...place.steps, step];
  const row: Place = { ...place, root: target, entity: target, steps: [], branch: '' };
  const ofRow = (where: unknown, isOpposite: boolean): RowCondition =>
    rowCondition(row, ofRecord(target, where), isOpposite);
  const joined = (where: unknown): RowCondition => {
    const join = { path: pathOf(steps) + place.branch, steps };
    return { kind: 'joined', join, inner: ofRow(where, isNegated) };
  };
  if (!isPlainObject(value)) return joined(value);
  /** Makes a condition on the related records. It is not true if the record itself is missing. */
  const related = (where: unknown, isOpposite: boolean, isWanted: boolean): RowCondition => {
    const found = some(steps, conditionOf(ofRow(where, isOpposite)));
    // As in MikroORM, hidden records count too if they may exclude the record.
    return onRow(isWanted === isNegated ? and(isThere(place), not(inFilterScope('unfiltered', found))) : found);
  };
  const { $some, $none, $every, $all, ...others } = value;
  if ('$size' in others) throw unsayable(place, step.name);
  const parts: RowCondition[] = [];
  if ($some !== undefined) parts.push(related($some, false, true));
  if ($none !== undefined) parts.push(related($none, false, false));
  if ($every !== undefined) parts.push(related($every, true, false));
  if ($all !== undefined) parts.push(...[$all].flat().map((one) => related(one, false, true)));
  if (Array.isArray($all) && $all.length === 0) parts.push(onRow(isNegated ? always : never));
  if (parts.length === 0 || Reflect.ownKeys(others).length > 0) parts.push(joined(others));
  return groupOf('and', isNegated, parts, (part) => part);
}

/** Converts a condition on a relation to a condition on its record. A value or a list applies to the key. */
function ofRecord(target: EntityMetadata, value: unknown): unknown {
  if (Array.isArray(value)) return { [keyOf(target)]: { $in: value } };
  return isPlainObject(value) ? value : { [keyOf(target)]: value };
}

function keyOf(meta: EntityMetadata): string {
  if (meta.primaryKeys.length === 1) return primaryKey(meta).key;
  throw new ImproperlyConfigured(
    `${meta.className}: matching() cannot ask for its key, which is not one field; name the fields`,
  );
}

function pathOf(steps: readonly EntityProperty[], ...names: readonly (string | undefined)[]): string {
  return [...steps.map(({ name }) => name), ...names].join('.');
}

function unsayable({ root, steps }: Place, name?: string): ImproperlyConfigured {
  const path = pathOf(steps, ...(name === undefined ? [] : [name]));
  return new ImproperlyConfigured(
    `${root.className}: what matching() asks of "${path}" cannot be asked across relations; say it by filter(), or by keys`,
  );
}

function propertyOf({ properties }: EntityMetadata, name: string): EntityProperty | undefined {
  return (properties as Partial<Record<string, EntityProperty>>)[name];
}

function isEmbedded({ entity }: Place, name: string): boolean {
  return propertyOf(entity, name)?.kind === ReferenceKind.EMBEDDED;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return Utils.isPlainObject(value);
}
