import { Utils, type EntityMetadata, type EntityProperty, type FilterQuery } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import { isPolymorphic, isReference, isToMany } from '../fields/property.ts';
import { and, matching, not, or, some, type Condition } from './condition.ts';
import { entryCondition } from './where-condition.ts';

type Matching = Extract<Condition, { kind: 'matching' }>;

const known = new WeakMap<Matching, { readonly said: Condition | undefined }>();

/**
 * Says what `matching()` asks across relations as lookups ask it, so that the filters of the related entities hold; MikroORM's query
 * builder does not apply them. Undefined if a condition asks nothing across relations, or what only that builder can say.
 */
export function saidOf(condition: Matching): Condition | undefined {
  let found = known.get(condition);
  if (found === undefined) known.set(condition, (found = { said: sayable(condition) }));
  return found.said;
}

/** The condition of a filter stays in words of MikroORM, whose values it has converted. */
function sayable({ meta, where, converted = false }: Matching): Condition | undefined {
  if (converted) return undefined;
  try {
    return acrossRelations(meta, where);
  } catch (error) {
    if (error instanceof ImproperlyConfigured) return undefined;
    throw error;
  }
}

/**
 * Says a condition of MikroORM without its words for relations: what it asks of the entity's own columns stays `matching`. Undefined
 * if it asks nothing across relations.
 *
 * @throws ImproperlyConfigured if that cannot be said
 */
export function acrossRelations(meta: EntityMetadata, where: FilterQuery<object>): Condition | undefined {
  if (!crossesRelation(meta, where)) return undefined;
  return crossing({ root: meta, entity: meta, steps: [], isJoined: false }, where);
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
  const asksFields = Utils.isPlainObject(value) && Object.keys(value).some((key) => !key.startsWith('$'));
  const asksMany = isToMany(property) && value !== null;
  return asksFields || asksMany ? property.targetMeta : undefined;
}

/** The relations to one that lead from where paths begin to an entity. */
interface Place {
  readonly root: EntityMetadata;
  readonly entity: EntityMetadata;
  readonly steps: readonly EntityProperty[];
  /** True if a missing record has NULL in its columns, as to a left join: a relation to many without `$some` is one. */
  readonly isJoined: boolean;
}

function crossing(place: Place, where: unknown): Condition {
  if (Array.isArray(where)) return or(...where.map((one) => crossing(place, one)));
  if (!Utils.isPlainObject<Record<string, unknown>>(where)) throw unsayable(place);
  // The key of a fragment of SQL.
  if (Object.getOwnPropertySymbols(where).length > 0) throw unsayable(place);
  return and(...Object.entries(where).map(([name, value]) => crossingEntry(place, name, value)));
}

function crossingEntry(place: Place, name: string, value: unknown): Condition {
  if (name === '$not') return not(crossing(place, value));
  if (name === '$and' || name === '$or') {
    const inner = (Array.isArray(value) ? value : [value]).map((one) => crossing(place, one));
    return name === '$and' ? and(...inner) : or(...inner);
  }
  const { root, entity, steps, isJoined } = place;
  const property = propertyOf(entity, name);
  const target = relationAt(entity, name, value);
  if (property !== undefined && target !== undefined) {
    return isToMany(property)
      ? ofMany(place, property, target, value)
      : crossing({ root, entity: target, steps: [...steps, property], isJoined }, ofRecord(target, value));
  }
  // No lookup is true of a record that is not there.
  if (isJoined && asksForNull(value)) throw unsayable(place, name);
  const said = entryCondition(root, [...steps.map((step) => step.name), name].join('.'), value, property);
  if (said !== undefined) return said;
  if (steps.length > 0) throw unsayable(place, name);
  return matching(root, { [name]: value });
}

function ofMany(place: Place, step: EntityProperty, target: EntityMetadata, value: unknown): Condition {
  const steps = [...place.steps, step];
  const having = (asked: unknown, isJoined: boolean): Condition =>
    some(steps, crossing({ root: target, entity: target, steps: [], isJoined }, ofRecord(target, asked)));
  if (!Utils.isPlainObject<Record<string, unknown>>(value)) return having(value, false);
  const { $some, $none, ...others } = value;
  if ('$every' in others || '$size' in others) throw unsayable(place, step.name);
  const conditions: Condition[] = [];
  if ($some !== undefined) conditions.push(having($some, false));
  if ($none !== undefined) conditions.push(not(having($none, false)));
  if (conditions.length === 0 || Object.keys(others).length > 0) conditions.push(having(others, true));
  return and(...conditions);
}

function asksForNull(value: unknown): boolean {
  if (!Utils.isPlainObject<Record<string, unknown>>(value)) return [value].flat().includes(null);
  return Object.entries(value).some(([operator, operand]) => operator !== '$ne' && [operand].flat().includes(null));
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
    `${root.className}: what matching() asks of "${path}" cannot be asked across relations here; say it by filter(), or by keys`,
  );
}

function propertyOf({ properties }: EntityMetadata, name: string): EntityProperty | undefined {
  return (properties as Partial<Record<string, EntityProperty>>)[name];
}
