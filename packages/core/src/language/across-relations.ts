import { Utils, type EntityMetadata, type EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import { fieldPath } from '../fields/field-path.ts';
import { isPolymorphic, isReference, isToMany } from '../fields/property.ts';
import { compare } from './compare.ts';
import { always, and, matchingAt, never, not, or, some, type Condition } from './condition.ts';
import { entryCondition } from './where-condition.ts';

type Matching = Extract<Condition, { kind: 'matching' }>;

/** By the condition, not by what it was made of: that is an object of the caller's, who may change it for the next one. */
const known = new WeakMap<Matching, { readonly said: Condition | undefined }>();

/**
 * Says a condition of MikroORM without its words for relations, as lookups ask across them, so that the filters of the related
 * entities hold; MikroORM's query builder does not apply them. What it asks of columns that lookups do not know stays `matching`.
 * Undefined if it asks nothing across relations.
 *
 * @throws ImproperlyConfigured for `$size`
 */
export function acrossRelations(condition: Matching): Condition | undefined {
  let found = known.get(condition);
  if (found === undefined) known.set(condition, (found = { said: sayable(condition) }));
  return found.said;
}

function sayable({ meta, where, converted }: Matching): Condition | undefined {
  if (!crossesRelation(meta, where)) return undefined;
  return crossing({ root: meta, entity: meta, steps: [], converted }, where);
}

function crossesRelation(meta: EntityMetadata, where: unknown): boolean {
  if (Array.isArray(where)) return where.some((one) => crossesRelation(meta, one));
  if (!Utils.isPlainObject<Record<string, unknown>>(where)) return false;
  return Object.entries(where).some(([name, value]) =>
    LOGICAL.has(name) ? crossesRelation(meta, value) : relationAt(meta, name, value) !== undefined,
  );
}

const LOGICAL = new Set(['$and', '$or', '$not']);

/** The entity whose fields a value asks about. A relation to many is asked for its records' key too. */
function relationAt(meta: EntityMetadata, name: string, value: unknown): EntityMetadata | undefined {
  const property = propertyOf(meta, name);
  if (property === undefined || !isReference(property) || isPolymorphic(property)) return undefined;
  // The keys of fragments of SQL are symbols.
  const asksFields =
    Utils.isPlainObject(value) && Reflect.ownKeys(value).some((key) => typeof key === 'symbol' || !key.startsWith('$'));
  const asksMany = isToMany(property) && value !== null;
  return asksFields || asksMany ? property.targetMeta : undefined;
}

/** The relations to one that lead from where paths begin to an entity. */
interface Place {
  readonly root: EntityMetadata;
  readonly entity: EntityMetadata;
  readonly steps: readonly EntityProperty[];
  /** True if MikroORM has made database values of the values already. */
  readonly converted: boolean;
}

function crossing(place: Place, where: unknown): Condition {
  if (Array.isArray(where)) return or(...where.map((one) => crossing(place, one)));
  if (!Utils.isPlainObject<Record<string, unknown>>(where)) throw unsayable(place);
  const fragments = Object.getOwnPropertySymbols(where).map((key) =>
    matchingAt(place.entity, place.steps, { [key]: where[key as unknown as string] }, place.converted),
  );
  return and(...fragments, ...Object.entries(where).map(([name, value]) => crossingEntry(place, name, value)));
}

function crossingEntry(place: Place, name: string, value: unknown): Condition {
  if (name === '$not') return not(crossing(place, value));
  if (name === '$and' || name === '$or') {
    const inner = (Array.isArray(value) ? value : [value]).map((one) => crossing(place, one));
    return name === '$and' ? and(...inner) : or(...inner);
  }
  const { entity, steps } = place;
  const property = propertyOf(entity, name);
  const target = relationAt(entity, name, value);
  if (property !== undefined && target !== undefined) {
    return isToMany(property)
      ? ofMany(place, property, target, value)
      : crossing({ ...place, entity: target, steps: [...steps, property] }, ofRecord(target, value));
  }
  const path = [...steps.map((step) => step.name), name].join('.');
  return entryCondition(place.root, path, value, property) ?? ofColumn(place, name, value);
}

/** Asks a column in MikroORM's words. In those, one that is not there is NULL. */
function ofColumn({ root, entity, steps, converted }: Place, name: string, value: unknown): Condition {
  const asked = matchingAt(entity, steps, { [name]: value }, converted);
  if (steps.length === 0 || !asksForNull(value)) return asked;
  const key = [...steps.map((step) => step.name), entity.primaryKeys[0]].join('.');
  return or(asked, compare(fieldPath(root, key, '.'), 'isnull', true));
}

function ofMany(place: Place, step: EntityProperty, target: EntityMetadata, value: unknown): Condition {
  const steps = [...place.steps, step];
  const inner = (asked: unknown): Condition =>
    crossing({ ...place, root: target, entity: target, steps: [] }, ofRecord(target, asked));
  const joined = (asked: unknown): Condition =>
    or(some(steps, inner(asked)), isTrueOfNothing(target, asked) ? not(some(steps, always)) : never);
  if (!Utils.isPlainObject<Record<string, unknown>>(value)) return joined(value);
  const { $some, $none, $every, ...others } = value;
  if ('$size' in others) throw unsayable(place, step.name);
  const conditions: Condition[] = [];
  if ($some !== undefined) conditions.push(some(steps, inner($some)));
  if ($none !== undefined) conditions.push(not(some(steps, inner($none))));
  if ($every !== undefined) conditions.push(not(some(steps, not(inner($every)))));
  if (conditions.length === 0 || Object.keys(others).length > 0) conditions.push(joined(others));
  return and(...conditions);
}

/**
 * Tells if a condition is true where there is no record: without `$some`, MikroORM asks a relation to many by a left join, whose
 * columns are NULL then.
 */
function isTrueOfNothing(meta: EntityMetadata, asked: unknown): boolean {
  const where = ofRecord(meta, asked);
  if (Array.isArray(where)) return where.some((one) => isTrueOfNothing(meta, one));
  const isPlain = Utils.isPlainObject<Record<string, unknown>>(where);
  if (!isPlain || Object.getOwnPropertySymbols(where).length > 0) return false;
  return Object.entries(where).every(([name, value]) => {
    if (name === '$and') return [value].flat().every((one) => isTrueOfNothing(meta, one));
    if (name === '$or') return [value].flat().some((one) => isTrueOfNothing(meta, one));
    // The opposite of what is unknown is unknown.
    if (name === '$not') return false;
    const target = relationAt(meta, name, value);
    if (target === undefined) return asksForNull(value);
    const {
      $some,
      $none: _none,
      $every: _every,
      ...others
    } = Utils.isPlainObject<Record<string, unknown>>(value) ? value : { [target.primaryKeys[0] as string]: value };
    return $some === undefined && (Object.keys(others).length === 0 || isTrueOfNothing(target, others));
  });
}

/** NULL is nothing else to SQL, not even one of a list with NULL in it. */
function asksForNull(value: unknown): boolean {
  if (!Utils.isPlainObject<Record<string, unknown>>(value)) return value === null;
  const operators = Object.entries(value);
  return operators.length > 0 && operators.every(([operator, operand]) => operator === '$eq' && operand === null);
}

/** Says a condition on a relation as one on its record: a value, a list, and operators are asked of the key. */
function ofRecord(target: EntityMetadata, value: unknown): unknown {
  const key = target.primaryKeys[0] as string;
  if (Array.isArray(value)) return { [key]: { $in: value } };
  if (!Utils.isPlainObject<Record<string, unknown>>(value)) return { [key]: value };
  const names = Object.keys(value);
  return names.length > 0 && names.every((name) => name.startsWith('$') && !LOGICAL.has(name))
    ? { [key]: value }
    : value;
}

function unsayable({ root, steps }: Place, name?: string): ImproperlyConfigured {
  const path = [...steps.map((step) => step.name), ...(name === undefined ? [] : [name])].join('.');
  return new ImproperlyConfigured(
    `${root.className}: what matching() asks of "${path}" cannot be asked across relations; say it by filter(), or by keys`,
  );
}

function propertyOf({ properties }: EntityMetadata, name: string): EntityProperty | undefined {
  return (properties as Partial<Record<string, EntityProperty>>)[name];
}
